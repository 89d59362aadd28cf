package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/task"
)

// unservedNote is the key of the note that says up to which keys steps have been
// looked at that no worker serves: by route and band of the queue.
const unservedNote = "unserved"

type unservedMarks map[int64]map[int]int64

// FindUnserved opens cases of tasks that have a step ready on a route that no
// live worker has served for a while, up to limit, and returns how many steps it
// looked at. Each step is looked at once. The tasks are left as they are: they go
// on when a worker comes.
func (e *Engine) FindUnserved(ctx context.Context, limit int) (int, error) {
	after := e.cfg.Cases.WorkerUnavailableAfter
	if e.cfg.Cases.Enabled != On || after <= 0 {
		return 0, nil
	}
	now := e.instant()
	if now < e.grace() {
		return 0, nil // they could not be heard
	}
	routes, err := e.unservedRoutes(ctx, now.Add(-after))
	if err != nil {
		return 0, err
	}
	was, err := e.unservedMarks(ctx)
	if err != nil {
		return 0, err
	}
	marks := unservedMarks{}
	var found []*task.Step
	for _, r := range routes {
		steps, at, err := e.unservedSteps(ctx, r.ID, was[r.ID], now.Add(-after), limit-len(found))
		if err != nil {
			return 0, err
		}
		found = append(found, steps...)
		if len(at) > 0 {
			marks[r.ID] = at
		}
	}
	if len(found) == 0 && len(was) == 0 {
		return 0, nil
	}
	return len(found), e.openUnserved(ctx, found, marks)
}

// unservedRoutes returns the routes that no worker serves who gave a sign of life
// since a time.
func (e *Engine) unservedRoutes(ctx context.Context, since task.Instant) ([]*task.Route, error) {
	routes, err := e.store.Routes(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for routes that nobody serves: %w", err)
	}
	workers, err := e.store.Workers(ctx, since)
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

func (e *Engine) unservedMarks(ctx context.Context) (unservedMarks, error) {
	text, err := e.store.FindNote(ctx, unservedNote)
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

// unservedSteps returns steps on a route that became ready before a time and were
// not looked at before, and up to where it has looked now, by band of the queue. Keys are
// in the order of time within a band only, and not even there where steps age: then
// it comes no further than to the first that is younger.
func (e *Engine) unservedSteps(ctx context.Context, route int64, was map[int]int64, before task.Instant, limit int) ([]*task.Step, map[int]int64, error) {
	var found []*task.Step
	at := map[int]int64{}
	for from := int64(0); ; {
		head, err := e.store.First(ctx, route, from)
		if err != nil {
			return nil, nil, fmt.Errorf("look at ready steps: %w", err)
		}
		if head == nil {
			return found, at, nil
		}
		p := task.KeyLevel(head.Key)
		at[p] = was[p]
		if n := limit - len(found); n > 0 {
			steps, err := e.store.Queued(ctx, route, max(head.Key, was[p]+1), e.Order().LastKey(p, before), n)
			if err != nil {
				return nil, nil, fmt.Errorf("look at ready steps: %w", err)
			}
			if young := slices.IndexFunc(steps, func(s *task.Step) bool { return s.ReadyAt > before }); young >= 0 {
				steps = steps[:young]
			}
			if len(steps) > 0 {
				at[p] = steps[len(steps)-1].Key
				found = append(found, steps...)
			}
		}
		next := task.StrictKey(p-1, 0)
		if p <= 0 || next <= from {
			return found, at, nil
		}
		from = next
	}
}

// openUnserved opens the cases and notes how far the steps have been looked at.
func (e *Engine) openUnserved(ctx context.Context, found []*task.Step, marks unservedMarks) error {
	text, err := json.Marshal(marks)
	if err != nil {
		return fmt.Errorf("encode marks: %w", err)
	}
	ids := make([]task.ID, len(found))
	for i, s := range found {
		ids[i] = s.ID
	}
	return e.write(ctx, "unserved", func(u *unit) error {
		works, err := u.load(ids)
		if err != nil {
			return err
		}
		var list []*opening
		for _, w := range works {
			if w.Step == nil || w.Step.State != task.StepEnqueued {
				continue // somebody took it
			}
			detail, err := u.unserved(ctx, w)
			if err != nil {
				return err
			}
			list = append(list, &opening{task: w.Task, state: w.Task.State, since: w.Task.StateAt, reason: task.ReasonWorkerUnavailable, detail: detail})
		}
		if err := u.openCases(list); err != nil {
			return err
		}
		return u.tx.Note(unservedNote, string(text))
	})
}

// unserved says which step waits for whom.
func (u *unit) unserved(ctx context.Context, w Work) (string, error) {
	def, err := u.template(w.Step.DefID)
	if err != nil {
		return "", err
	}
	route := u.e.catalog.routeByID(w.Step.RouteID)
	if route == nil {
		return "step " + def.Steps[w.Step.Ordinal-1].Name + " is ready, and no live worker serves its route", ctx.Err()
	}
	needs := ""
	if len(route.Capabilities) > 0 {
		needs = " with " + strings.Join(route.Capabilities, ", ")
	}
	return fmt.Sprintf("step %s is ready since %s, and no live worker serves the handler %s in namespace %s%s",
		def.Steps[w.Step.Ordinal-1].Name, w.Step.ReadyAt.Time().Format("2006-01-02 15:04:05 MST"), route.Handler, route.Namespace, needs), nil
}
