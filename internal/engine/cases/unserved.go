package cases

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// unservedNote has the checked positions by route and band of the queue.
const unservedNote = "unserved_places"

// unservedMark is key and ID, because steps of one submission share their key.
type unservedMark struct {
	Key int64  `json:"key,string"`
	ID  string `json:"id,omitempty"` // default: before all steps of the key
}

func (m unservedMark) place() (kernel.Position, error) {
	if m.ID == "" {
		return kernel.Position{Key: m.Key}, nil
	}
	id, err := task.ParseID(m.ID)
	return kernel.Position{Key: m.Key, ID: id}, err
}

type dueCases struct {
	unserved *due.Rows[*task.Step, task.ID]
	left     []*task.Step // the failed ones of unserved
}

// A served route loses its marks, so its steps are checked again when it is abandoned.
type unservedMarks map[int64]map[int]unservedMark

// FindUnserved opens cases for tasks with a step ready on a route that no live worker has served for some time, up to
// limit, and returns the number of steps; limit means that there may be more. The tasks continue when a worker comes.
// A note makes it find each step once, also after a restart. One process at a time should call it.
func (e *Room) FindUnserved(ctx context.Context, limit int) (int, error) {
	after := e.Cfg.Cases.WorkerUnavailableAfter
	if e.Cfg.Cases.Enabled != settings.On || after <= 0 {
		return 0, nil
	}
	now := e.Now()
	if now < e.Grace() {
		return 0, nil // heartbeats could not arrive
	}
	routes, err := e.unservedRoutes(ctx, now.Add(-after))
	if err != nil {
		return 0, err
	}
	was, err := e.unservedMarks(ctx)
	if err != nil {
		return 0, err
	}
	l := &unservedScan{e: e.Kernel, now: now, before: now.Add(-after), limit: limit}
	marks := unservedMarks{}
	for _, r := range routes {
		if c := e.Catalog.Closures.Load(); c.Shut(r) || c.OpenSince(r) > now.Add(-after) {
			if at := was[r.ID]; len(at) > 0 {
				marks[r.ID] = at // earlier steps have their cases
			}
			continue // no worker is expected, or not for long enough
		}
		at, err := l.route(ctx, r.ID, was[r.ID])
		if err != nil {
			return 0, fmt.Errorf("look at ready steps: %w", err)
		}
		if len(at) > 0 {
			marks[r.ID] = at
		}
	}
	again, err := e.dueCases.unserved.Read(now, limit, func(int) ([]*task.Step, error) { return e.dueCases.left, nil })
	found := append(again, l.found...)
	if err != nil || len(found) == 0 && len(was) == 0 {
		return 0, err
	}
	if len(e.dueCases.left) == 0 {
		if err := e.openUnserved(ctx, found, marks); err == nil || ctx.Err() != nil || len(found) == 0 {
			return len(found), err
		}
	}
	return len(found), e.openUnservedApart(ctx, found, marks)
}

// openUnservedApart uses several transactions because some fail; those are repeated later, as long as this process
// runs.
func (e *Room) openUnservedApart(ctx context.Context, found []*task.Step, marks unservedMarks) error {
	stepped := e.dueCases.unserved.Try(ctx, e.Now(), found, func(ctx context.Context, some []*task.Step) error {
		err := e.openUnserved(ctx, some, nil)
		if err == nil {
			e.openedUnserved(some...)
		}
		return err
	})
	if stepped != nil && !due.OnlyRows(stepped) {
		return stepped
	}
	return cmp.Or(e.openUnserved(ctx, nil, marks), stepped)
}

func (e *Room) openedUnserved(some ...*task.Step) {
	e.dueCases.left = slices.DeleteFunc(e.dueCases.left, func(s *task.Step) bool {
		return slices.ContainsFunc(some, func(o *task.Step) bool { return o.ID == s.ID })
	})
}

func (e *Room) leaveUnserved(ctx context.Context, s *task.Step, _ task.Instant, why error) error {
	if err := kernel.Storable(ctx, e.Store, why); err != nil {
		return err
	}
	e.openedUnserved(s)
	if len(e.dueCases.left) < due.MaxResting {
		e.dueCases.left = append(e.dueCases.left, s)
	}
	return nil
}

// A recently dead worker counts as serving: it may be restarting.
func (e *Room) unservedRoutes(ctx context.Context, since task.Instant) ([]*task.Route, error) {
	routes, err := e.Store.Routes(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for routes that nobody serves: %w", err)
	}
	workers, err := e.Store.Workers(ctx, since)
	if err != nil {
		return nil, fmt.Errorf("look for workers: %w", err)
	}
	var unserved []*task.Route
	for _, r := range routes {
		served := false
		for _, w := range workers {
			served = served || w.Serves(*r)
		}
		if !served {
			unserved = append(unserved, r)
		}
	}
	return unserved, nil
}

func (e *Room) unservedMarks(ctx context.Context) (unservedMarks, error) {
	text, err := e.NoteStore.FindNote(ctx, unservedNote)
	if err != nil {
		return nil, fmt.Errorf("find out which steps were looked at: %w", err)
	}
	marks := unservedMarks{}
	if text != "" {
		if err := json.Unmarshal([]byte(text), &marks); err != nil {
			return nil, fmt.Errorf("read which steps were looked at: %w", err)
		}
	}
	return marks, nil
}

type unservedScan struct {
	e      *kernel.Kernel
	now    task.Instant
	before task.Instant // latest time of becoming ready
	limit  int
	found  []*task.Step
}

// route returns the positions reached by band, most urgent first.
func (l *unservedScan) route(ctx context.Context, route int64, was map[int]unservedMark) (map[int]unservedMark, error) {
	at := map[int]unservedMark{}
	for from := int64(0); ; {
		head, err := l.e.Places.First(ctx, route, from)
		if err != nil || head == nil {
			return at, err
		}
		p := task.KeyLevel(head.Key)
		if at[p], err = l.band(ctx, route, p, was[p]); err != nil {
			return at, err
		}
		next := task.StrictKey(p-1, 0)
		if p <= 0 || next <= from {
			return at, nil
		}
		from = next
	}
}

// unservedPages bounds the pages read after the position that can be stored.
const unservedPages = 20

// band returns the position up to which no step needs another check. Keys of a band are ordered by time, except under
// aging, where a later step may come before. So only past positions are stored; beyond them, a task's case shows that
// its step was checked.
func (l *unservedScan) band(ctx context.Context, route int64, level int, at unservedMark) (unservedMark, error) {
	at.Key = max(at.Key, task.StrictKey(level, 0))
	behind, err := at.place()
	if err != nil {
		return at, fmt.Errorf("read up to where steps were looked at: %w", err)
	}
	order := l.e.Order()
	last, aging := order.LastKey(level, l.before), order.Mode == task.Aging
	lasting := true // later steps before this one need no check
	for range unservedPages {
		n := l.limit - len(l.found)
		if n <= 0 {
			break
		}
		steps, err := l.e.Places.ReadyAfter(ctx, route, behind.Key, behind.ID, n)
		if err != nil {
			return at, err
		}
		known, err := l.known(ctx, steps, aging)
		if err != nil {
			return at, err
		}
		for _, s := range steps {
			if s.Key > last || !aging && s.ReadyAt > l.before {
				return at, nil
			}
			behind = kernel.Position{Key: s.Key, ID: s.ID}
			if s.ReadyAt <= l.before && !known[s.ID] {
				l.found = append(l.found, s)
			}
			lasting = lasting && (!aging || s.Key <= int64(l.now) && s.ReadyAt <= l.before)
			// A mark must not pass an unchecked step.
			if lasting {
				at = unservedMark{s.Key, s.ID.String()}
			}
		}
		if len(steps) < n {
			break
		}
	}
	return at, nil
}

// known returns the steps whose tasks got a case since they became ready. It queries only where positions do not
// decide: once for the page, and once per task with only closed cases.
func (l *unservedScan) known(ctx context.Context, steps []*task.Step, ask bool) (map[task.ID]bool, error) {
	if !ask || len(steps) == 0 {
		return nil, nil
	}
	ids := make([]task.ID, len(steps))
	for i, s := range steps {
		ids[i] = s.TaskID
	}
	tasks, err := l.e.Store.FindTasks(ctx, ids)
	if err != nil {
		return nil, err
	}
	marks := make(map[task.ID]task.CaseMark, len(tasks))
	for _, t := range tasks {
		marks[t.ID] = t.Meta.Case
	}
	known := make(map[task.ID]bool, len(steps))
	for _, s := range steps {
		switch marks[s.TaskID] {
		case task.HasPending:
			known[s.ID] = true
		case task.HasClosed: // perhaps of an earlier problem
			last, err := Of(l.e).CaseReader.LastCase(ctx, s.TaskID)
			if err != nil {
				return nil, err
			}
			known[s.ID] = last != nil && last.OpenedAt >= s.ReadyAt
		}
	}
	return known, nil
}

// One transaction stores cases and marks, so that no step is found twice or missed. nil marks: not yet.
func (e *Room) openUnserved(ctx context.Context, found []*task.Step, marks unservedMarks) error {
	text, err := json.Marshal(marks)
	if err != nil {
		return fmt.Errorf("encode marks: %w", err)
	}
	ids, routes := make([]task.ID, len(found)), map[int64]int{}
	for i, s := range found {
		ids[i] = s.ID
		routes[s.RouteID]++
	}
	e.RestoreRoutes(routes) // cases contain their names
	return e.Write(ctx, "unserved", func(u *kernel.Unit) error {
		works, err := u.Rows.Load(ids)
		if err != nil {
			return err
		}
		var list []*Opening
		for _, w := range works {
			if w.Step == nil || !w.Step.OnRoute() {
				continue // a worker took it
			}
			detail, err := unserved(ctx, u, w)
			if err != nil {
				return err
			}
			list = append(list, &Opening{Task: w.Task, State: w.Task.State, Since: w.Task.StateAt,
				Reason: task.ReasonWorkerUnavailable,
				Cause:  task.CauseNoWorker, Detail: detail})
		}
		if err := CaseSlot.Of(u).Open(list); err != nil || marks == nil {
			return err
		}
		return u.E.NoteStore.Note(u.Ctx, u.Tx, unservedNote, string(text))
	})
}

func unserved(ctx context.Context, u *kernel.Unit, w kernel.Work) (string, error) {
	def, err := u.Rows.Template(w.Step.DefID)
	if err != nil {
		return "", err
	}
	route := u.E.Catalog.RouteByID(w.Step.RouteID)
	if route == nil {
		return "step " + def.Spec(w.Step).Name + " is ready, and no live worker serves its route", ctx.Err()
	}
	needs := ""
	if len(route.Capabilities) > 0 {
		needs = " with " + strings.Join(route.Capabilities, ", ")
	}
	return fmt.Sprintf("step %s is ready since %s, and no live worker serves the handler %s in namespace %s%s",
		def.Spec(w.Step).Name, w.Step.ReadyAt.Time().Format("2006-01-02 15:04:05 MST"), route.Handler, route.Namespace,
		needs), nil
}
