package scenario_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// The staleness detector dies half-way, fails on one task, or runs beside others.

type stalled struct {
	*world
	t      *testing.T
	worker task.ID
	before map[task.ID]taskPicture
}

func newStalled(t *testing.T, k kind) *stalled {
	t.Helper()
	store, reopen := k.open(t)
	w, err := newWorld(t, store, reopen, settings.Config{Cases: settings.Cases{WorkerUnavailableAfter: -1}})
	if err != nil {
		t.Fatal(err)
	}
	worker, err := w.engine.Register(w.ctx, task.Worker{})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	t.Cleanup(func() { t.Logf("took %s after set-up", time.Since(began)) })
	return &stalled{world: w, t: t, worker: worker.ID}
}

// stall lets n tasks become stale, the last third under leases that nobody renews.
func (s *stalled) stall(n int) []task.ID {
	s.t.Helper()
	subs := make([]engine.Submission, n)
	for i := range subs {
		subs[i] = job
	}
	receipts, err := s.engine.Submit(s.ctx, subs, false)
	s.must(err)
	leases, _, err := s.engine.Poll(s.ctx, s.worker, max(n/3, 1), 0, true)
	s.must(err)
	if len(leases) != max(n/3, 1) {
		s.t.Fatalf("the worker was given %d steps", len(leases))
	}
	s.set(s.now.Add(2 * time.Hour))
	ids := make([]task.ID, n)
	s.before = map[task.ID]taskPicture{}
	for i, r := range receipts {
		ids[i] = r.ID
		s.before[r.ID] = s.look(r.ID)
	}
	return ids
}

func (s *stalled) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stalled) look(id task.ID) taskPicture {
	s.t.Helper()
	k, err := s.engine.Task(s.ctx, id, 0)
	s.must(err)
	p, err := s.pictureOf(k)
	s.must(err)
	return p
}

// verdict returns "untouched", "moved", or the part that is done.
func (s *stalled) verdict(id task.ID) string {
	s.t.Helper()
	now := s.look(id)
	cases := s.casesOf(id)
	if len(cases) == 0 && reflect.DeepEqual(now, s.before[id]) {
		return "untouched"
	}
	attempts := 0
	if s.before[id].Steps[0].State == task.StepInProgress {
		attempts = 1
	}
	r := now.Records
	switch {
	case len(cases) != 1 || cases[0].Status != task.CasePending || cases[0].Reason != task.ReasonStaleness ||
		cases[0].OriginalState != task.StepsInProcess:
		return fmt.Sprintf("the cases are %+v", cases)
	case now.Task.State != task.Errored || now.Task.Meta.Case != task.HasPending || now.Task.FinishedAt == 0:
		return fmt.Sprintf("the task is %+v", now.Task)
	case now.Steps[0].State != task.StepErrored || now.Task.Counts != task.Counts{Failed: 1}:
		return fmt.Sprintf("the step is %+v", now.Steps[0])
	case len(r.Attempts) != attempts || attempts == 1 &&
		(r.Attempts[0].Outcome != task.TimedOut || r.Attempts[0].Token == 0):
		return fmt.Sprintf("the attempts are %+v", r.Attempts)
	case len(r.Acts) != 1 || r.Acts[0].Kind != task.ActGiveUp || r.Acts[0].Actor != engine.System:
		return fmt.Sprintf("the acts are %+v", r.Acts)
	case len(r.Events) != 1 || r.Events[0].To != task.Errored:
		return fmt.Sprintf("the events are %+v", r.Events)
	}
	return "moved"
}

func (s *stalled) casesOf(id task.ID) []*task.Case {
	s.t.Helper()
	all, err := s.engine.Cases(s.ctx, engine.CaseFilter{Limit: 1000})
	s.must(err)
	return slices.DeleteFunc(all, func(c *task.Case) bool { return c.TaskID != id })
}

// another returns the engine of another process on the same data and clock.
func (s *stalled) another(store engine.Database) *engine.Engine {
	s.t.Helper()
	e, err := engine.New(s.ctx, store, engine.Options{Config: s.cfg, Now: s.clock})
	s.must(err)
	return e
}

// mortal kills its process with one transaction: before it commits, or before the answer arrives.
type mortal struct {
	engine.Database
	left atomic.Int64 // transactions that it survives
	when string
}

func (m *mortal) Write(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	killed := task.Errorf(task.Unavailable, "the process was killed")
	left := m.left.Add(-1)
	switch {
	case left > 0:
		return m.Database.Write(ctx, fn)
	case left < 0:
		return killed
	case m.when == "BeforeItCommits":
		return m.Database.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
			if err := fn(ctx, tx); err != nil {
				return err
			}
			return killed
		})
	}
	if err := m.Database.Write(ctx, fn); err != nil {
		return err
	}
	return killed
}

// A detector killed in any of its transactions leaves no task half done; the next process's cycle does the rest.
func TestDetectorKilled(t *testing.T) {
	t.Parallel()
	for _, k := range bare {
		for _, when := range []string{"BeforeItCommits", "BeforeTheAnswer"} {
			t.Run(k.name+"/"+when, func(t *testing.T) {
				t.Parallel()
				s := newStalled(t, k)
				const tasks, batch = 3, 2
				for n := int64(1); ; n++ {
					ids := s.stall(tasks)
					m := &mortal{Database: s.store, when: when}
					m.left.Store(n)
					killed := s.killed(s.another(m), batch)
					moved := 0
					for _, id := range ids {
						switch v := s.verdict(id); v {
						case "moved":
							moved++
						case "untouched":
						default:
							t.Fatalf("killed with transaction %d: %s", n, v)
						}
					}
					if !killed && moved != tasks {
						t.Fatalf("nobody was killed, and %d of %d tasks were moved", moved, tasks)
					}
					s.engine = s.another(s.store)
					s.finish(ids, tasks-moved, batch)
					if !killed {
						if n < 4 {
							t.Errorf("a detection of %d tasks by %d is only %d transactions", tasks, batch, n-1)
						}
						break
					}
				}
				s.must(s.restart())
				for id := range s.before {
					if v := s.verdict(id); v != "moved" {
						t.Errorf("read anew: %s", v)
					}
				}
			})
		}
	}
}

func (s *stalled) killed(e *engine.Engine, batch int) bool {
	s.t.Helper()
	for {
		found, err := e.DetectStaleness(s.ctx, batch, false)
		if task.CodeOf(err) == task.Unavailable {
			return true
		}
		s.must(err)
		if len(found) == 0 {
			return false
		}
	}
}

func (s *stalled) finish(ids []task.ID, rest, batch int) {
	s.t.Helper()
	got := 0
	for {
		found, err := s.engine.DetectStaleness(s.ctx, batch, false)
		s.must(err)
		if len(found) == 0 {
			break
		}
		for _, d := range found {
			if d.Action != engine.MovedAndErrored || d.Err != nil {
				s.t.Errorf("the next process did %s, %v", d.Action, d.Err)
			}
		}
		got += len(found)
	}
	if got != rest {
		s.t.Errorf("%d tasks were left, the next process moved %d", rest, got)
	}
	for _, id := range ids {
		if v := s.verdict(id); v != "moved" {
			s.t.Errorf("at the end: %s", v)
		}
	}
}

// poisoned refuses writes about one task: its steps, or the task too.
type poisoned struct {
	engine.Database
	id    task.ID
	tasks bool
	cured atomic.Bool
}

func (p *poisoned) Write(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	return p.Database.Write(ctx, func(ctx context.Context, tx engine.Tx) error { return fn(ctx, &poisonedTx{tx, p}) })
}

type poisonedTx struct {
	engine.Tx
	p *poisoned
}

func (tx *poisonedTx) refused(is bool) error {
	if is && !tx.p.cured.Load() {
		return task.Errorf(task.Internal, "a row is broken")
	}
	return nil
}

func (tx *poisonedTx) SaveSteps(ctx context.Context, steps []*task.Step) error {
	if err := tx.refused(slices.ContainsFunc(steps, func(s *task.Step) bool { return s.TaskID == tx.p.id })); err != nil {
		return err
	}
	return tx.Tx.SaveSteps(ctx, steps)
}

func (tx *poisonedTx) SaveTasks(ctx context.Context, tasks []*task.Task) error {
	if err := tx.refused(tx.p.tasks && slices.ContainsFunc(tasks, func(t *task.Task) bool {
		return t.ID == tx.p.id
	})); err != nil {
		return err
	}
	return tx.Tx.SaveTasks(ctx, tasks)
}

// A task that cannot be put in error holds up no other. It gets its case if possible, and the next cycle tries again.
func TestFailureOnOneTask(t *testing.T) {
	t.Parallel()
	for _, k := range bare {
		for name, c := range map[string]struct {
			tasks       bool
			first, then engine.DetectionAction
			untouched   bool
		}{
			"NothingCanBeWritten": {true, engine.TransitionFailed, engine.MovedAndErrored, true},
			"OnlyTheStepsCannot":  {false, engine.MovedOnly, engine.ErroredOnly, false},
		} {
			t.Run(k.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := newStalled(t, k)
				const batch = 3
				ids := s.stall(7)
				bad := ids[1]
				p := &poisoned{Database: s.store, id: bad, tasks: c.tasks}
				e := s.another(p)
				got := map[task.ID]engine.DetectionAction{}
				for range 3 {
					found, err := e.DetectStaleness(s.ctx, batch, false)
					s.must(err)
					for _, d := range found {
						if got[d.Task] != "" {
							t.Errorf("task %s is acted on twice: %s, %s", d.Task, got[d.Task], d.Action)
						}
						got[d.Task] = d.Action
						if (d.Err != nil) != (d.Task == bad) || d.Errored != (d.Task != bad) {
							t.Errorf("task %s: %s, errored %t, error %v", d.Task, d.Action, d.Errored, d.Err)
						}
					}
				}
				want := map[task.ID]engine.DetectionAction{}
				for _, id := range ids {
					want[id] = engine.MovedAndErrored
					if id != bad && s.verdict(id) != "moved" {
						t.Errorf("a neighbour: %s", s.verdict(id))
					}
				}
				want[bad] = c.first
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("what was done differs (-want +got):\n%s", diff)
				}
				if untouched := s.verdict(bad) == "untouched"; untouched != c.untouched {
					t.Errorf("the bad one: %s", s.verdict(bad))
				}
				p.cured.Store(true)
				again := func() []engine.Detected {
					t.Helper()
					found, err := e.DetectStaleness(s.ctx, batch, false)
					s.must(err)
					return found
				}
				if found := again(); len(found) != 0 {
					t.Errorf("tried again at once: %+v", found)
				}
				s.set(s.now.Add(e.Config().StalenessDetection.DetectionInterval))
				if found := again(); len(found) != 1 || found[0].Task != bad || found[0].Action != c.then || found[0].Err != nil {
					t.Errorf("a cycle later: %+v", found)
				}
				if v := s.verdict(bad); v != "moved" {
					t.Errorf("at the end: %s", v)
				}
			})
		}
	}
}
