package scenario_test

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

type picture struct {
	Tasks   []taskPicture
	Cases   []*task.Case
	Workers []*task.Worker
	Limits  []engine.OperatorLimitView
	Outages []*task.Outage
	Signals []*task.Signal
}

type taskPicture struct {
	Task    *task.Task
	Steps   []*task.Step
	Records engine.Records
	Fans    []*task.FanOut
	Kids    []engine.Child
	Logs    [][]task.AttemptLog
	Waits   []task.StepWait
	Held    bool // its compensation waits for its children
}

func (w *world) picture() (*picture, error) {
	p := &picture{}
	f := engine.TaskFilter{Limit: 100}
	for {
		tasks, next, err := w.engine.Tasks(w.ctx, f)
		if err != nil {
			return nil, err
		}
		for _, t := range tasks {
			one, err := w.pictureOf(t)
			if err != nil {
				return nil, err
			}
			p.Tasks = append(p.Tasks, one)
		}
		if next.IsZero() {
			break
		}
		f.Below = next
	}
	var err error
	if p.Cases, err = w.cases(); err != nil {
		return nil, err
	}
	if p.Limits, err = w.operatorLimits(); err != nil {
		return nil, err
	}
	if p.Outages, err = w.outages(); err != nil {
		return nil, err
	}
	if err = w.checkPermits(p.Tasks, p.Limits); err != nil {
		return nil, err
	}
	p.Workers, err = w.engine.Workers(w.ctx, 365*24*time.Hour)
	return p, err
}

func (w *world) pictureOf(t *task.Task) (one taskPicture, err error) {
	one.Task, t.Context = t, withoutCiphers(t.Context)
	if _, one.Steps, err = w.engine.Steps(w.ctx, t.ID); err != nil {
		return one, err
	}
	if one.Records, err = w.engine.Records(w.ctx, t.ID); err != nil {
		return one, err
	}
	if err := w.addChildren(&one); err != nil {
		return one, err
	}
	if err := w.addWaits(&one); err != nil {
		return one, err
	}
	for _, s := range one.Steps {
		if !t.Meta.Logged {
			break
		}
		logs, err := w.engine.Logs(w.ctx, t.ID, s.ID)
		if err != nil {
			return one, err
		}
		one.Logs = append(one.Logs, logs)
	}
	slices.SortStableFunc(one.Records.Attempts, func(a, b task.Attempt) int {
		return cmp.Or(cmp.Compare(a.FinishedAt, b.FinishedAt), slices.Compare(a.StepID[:], b.StepID[:]),
			cmp.Compare(a.Token, b.Token))
	})
	for i := range one.Records.Acts {
		one.Records.Acts[i].No = 0 // a repeated transaction may use up numbers
	}
	return one, nil
}

func (m *model) compare() error {
	var first *picture
	for i, w := range m.worlds {
		p, err := w.picture()
		if err != nil {
			return err
		}
		if p.Signals, err = m.signalsStored(w); err != nil {
			return err
		}
		if i == 0 {
			first = p
			continue
		}
		// Diff is slow where there is no difference
		if reflect.DeepEqual(first, p) {
			continue
		}
		if diff := gocmp.Diff(first, p, decrypted(), cmpopts.EquateEmpty()); diff != "" {
			return fmt.Errorf("the stores differ (-memstore +other):\n%s", diff)
		}
	}
	return m.check(first)
}

// look checks one world alone.
func (m *model) look() error {
	p, err := m.worlds[0].picture()
	if err == nil {
		p.Signals, err = m.signalsStored(m.worlds[0])
	}
	if err != nil {
		return err
	}
	return m.check(p)
}

func (m *model) check(all *picture) error {
	found := map[task.ID]bool{}
	if err := errors.Join(checkTurns(all.Tasks, m.tasks), m.checkLimits(all.Tasks),
		m.checkCompensation(all.Tasks)); err != nil {
		return err
	}
	for _, p := range all.Tasks {
		found[p.Task.ID] = true
		if err := errors.Join(p.check(), p.checkCases(all.Cases), m.checkFamily(p, all), m.checkReturns(p)); err != nil {
			return fmt.Errorf("task %s: %w", p.Task.ID, err)
		}
	}
	kept := slices.DeleteFunc(slices.Clone(m.tasks), func(id task.ID) bool {
		age := m.worlds[0].now.Sub(time.UnixMilli(id.Seq() >> 12))
		return !found[id] && age > m.worlds[0].retained()
	})
	for _, id := range kept {
		if !found[id] {
			return fmt.Errorf("the task %s was accepted and is gone", id)
		}
	}
	m.deleted = m.deleted || len(found) < len(m.tasks)
	if err := m.checkSignals(all); err != nil {
		return err
	}
	if len(found) > len(m.tasks) {
		return fmt.Errorf("%d tasks are stored, %d were accepted", len(found), len(m.tasks))
	}
	return nil
}

func (w *world) retained() time.Duration { return w.engine.Config().Retention.Finished }

// checkLimits requires no more held steps than the limit of their template.
func (m *model) checkLimits(tasks []taskPicture) error {
	held := 0
	for _, p := range tasks {
		t, err := m.worlds[0].engine.TemplateOf(m.worlds[0].ctx, p.Task.DefID)
		if err != nil {
			return err
		}
		for _, s := range p.Steps {
			if t.Spec(s).Concurrency != nil && s.State.Leased() {
				held++
			}
		}
	}
	if held > modelPermits {
		return fmt.Errorf("%d steps are held under a limit of %d", held, modelPermits)
	}
	return nil
}

// checkTurns: at most one task with an ordering key has its turn, and none before it waits; where some wait, one has
// the turn. The order is that of submission; IDs of one batch differ, because items with idempotency keys are taken
// first.
func checkTurns(tasks []taskPicture, submitted []task.ID) error {
	type queue struct{ heads, waits []task.ID }
	queues := map[string]*queue{}
	for _, p := range tasks {
		meta := p.Task.Meta
		if meta.OrderingKey == "" || p.Task.State.Terminal() {
			continue
		}
		if queues[meta.OrderingKey] == nil {
			queues[meta.OrderingKey] = &queue{}
		}
		if q := queues[meta.OrderingKey]; meta.Held {
			q.waits = append(q.waits, p.Task.ID)
		} else {
			q.heads = append(q.heads, p.Task.ID)
		}
	}
	for key, q := range queues {
		if len(q.heads) != 1 {
			return fmt.Errorf("%d tasks have the turn of %q, %d wait", len(q.heads), key, len(q.waits))
		}
		for _, id := range q.waits {
			if slices.Index(submitted, id) < slices.Index(submitted, q.heads[0]) {
				return fmt.Errorf("the task %s has the turn of %q before %s", q.heads[0], key, id)
			}
		}
	}
	return nil
}

func (p taskPicture) check() error {
	counts, due := task.Counts{ManualEnds: p.Task.Counts.ManualEnds}, p.Held
	for _, s := range p.Steps {
		counts.Add(s.State)
		due = due || s.Scheduled()
		if s.Attempts > s.MaxAttempts+p.Task.Meta.Replays { // a replay allows for one more
			return fmt.Errorf("step %d has begun %d attempts of %d", s.Ordinal, s.Attempts, s.MaxAttempts)
		}
	}
	if counts != p.Task.Counts {
		return fmt.Errorf("it counts %+v, its steps are %+v", p.Task.Counts, counts)
	}
	// the steps determine the state; only a time-out may override it with an error
	if want := counts.Evaluate(p.Task.State, due); want != p.Task.State {
		return fmt.Errorf("it is %s, by its steps it has to be %s", p.Task.State, want)
	}
	return p.checkEvents()
}

// checkEvents: each transition begins where the previous one ended. Event.Derivable defines which may be missing.
func (p taskPicture) checkEvents() error {
	at := task.State("")
	for _, e := range p.Records.Events {
		switch {
		case at != "" && e.From != at:
			return fmt.Errorf("an event leaves %s, where the task was not; it was %s", e.From, at)
		case !e.From.Reaches(e.To):
			return fmt.Errorf("an event goes from %s to %s", e.From, e.To)
		}
		at = e.To
	}
	derived := task.Event{From: at, To: p.Task.State}
	if at != "" && at != p.Task.State && !derived.Derivable() {
		return fmt.Errorf("the events end in %s, the task is %s", at, p.Task.State)
	}
	return nil
}

func (m *model) finish() error {
	if err := m.setKey(false); err != nil {
		return err
	}
	if err := m.register(task.Worker{Name: "last", Capacity: 100, Capabilities: []string{"gpu"}}); err != nil {
		return err
	}
	if err := m.widen(); err != nil {
		return err
	}
	worker := m.workers[len(m.workers)-1]
	for range 1000 {
		open, err := m.repair()
		if err != nil || open == 0 {
			return err
		}
		if err := m.do(op{kind: "upkeep"}); err != nil {
			return err
		}
		if err := m.sendAwaited(); err != nil {
			return err
		}
		leases, err := m.claim(worker, 100, true)
		if err != nil {
			return err
		}
		if len(leases) == 0 {
			if err := m.do(op{kind: "advance", n: [6]uint32{7, 1}}); err != nil {
				return err
			}
			if err := m.do(op{kind: "upkeep"}); err != nil {
				return err
			}
			continue
		}
		results := make([]engine.Result, len(leases))
		for i, l := range leases {
			results[i] = engine.Result{Step: l.Step.ID, Token: l.Step.Token, Status: engine.ResultCompleted}
		}
		if err := m.settle(results); err != nil {
			return err
		}
	}
	return fmt.Errorf("tasks are stuck:\n%s", m.stuck())
}

// repair resets every step in error and returns the number of open tasks.
func (m *model) repair() (int, error) {
	open := 0
	for _, id := range m.tasks {
		t, rows, err := m.worlds[0].steps(id)
		if task.CodeOf(err) == task.NotFound {
			continue
		}
		if err != nil {
			return 0, err
		}
		if t.State.Terminal() {
			continue
		}
		open++
		for _, r := range rows {
			kind := engine.ApproveStep
			switch {
			case r.State == task.StepWaiting && r.name == "approval":
			case r.State != task.StepErrored:
				continue
			default:
				if kind, err = m.repairOf(t, r.Step); err != nil {
					return 0, err
				}
			}
			if err := m.repairStep(id, r.ID, kind); err != nil {
				return 0, err
			}
		}
	}
	return open, nil
}

func (m *model) stuck() string {
	text := ""
	for _, id := range m.tasks {
		t, rows, err := m.worlds[0].steps(id)
		if err != nil || t.State.Terminal() {
			continue
		}
		text += fmt.Sprintf("%s %s\n", id, t.State)
		for _, r := range rows {
			text += fmt.Sprintf("  %s %s open_parents=%d\n", r.name, r.State, r.OpenParents)
		}
	}
	return text
}
