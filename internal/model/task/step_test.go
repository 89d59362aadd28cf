package task_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	now   = task.Instant(1_700_000_000_000_000)
	later = now + task.Instant(30*time.Second/time.Microsecond)
)

// aStep has every field set, to expose unwanted changes.
func aStep(state task.StepState) task.Step {
	return task.Step{
		ID: task.MakeID(2, 9), TaskID: task.MakeID(1, 9), Ordinal: 1, DefID: 4, RouteID: 5, Priority: 50,
		State: state, OpenParents: 0, Queue: 5, Key: 77, Attempts: 2, MaxAttempts: 3, Timeout: time.Minute,
		Token: 7, WorkerNo: 3, ReadyAt: now - 40, AssignedAt: now - 30, StartedAt: now - 20, FinishedAt: now - 10,
		LeaseUntil: now + 10, Progress: 60, Note: "half way", Result: []byte(`{"a":1}`),
	}
}

// Every method in every state follows the table, and a refusal leaves the step unchanged.
func TestStepMethods(t *testing.T) {
	t.Parallel()
	for _, m := range []struct {
		name string
		call func(*task.Step) error
		to   task.StepState
		only []task.StepState
	}{
		{name: "Enqueue", call: func(s *task.Step) error { return s.Enqueue(now, task.Scheduling{}) }, to: task.StepEnqueued},
		{name: "Wait", call: func(s *task.Step) error { return s.Wait(later) }, to: task.StepWaitingForRetry},
		{name: "Assign", call: func(s *task.Step) error { return s.Assign(3, now, later) }, to: task.StepAssigned},
		{name: "Claim", call: func(s *task.Step) error {
			return s.Claim(3, now, later)
		}, to: task.StepInProgress, only: []task.StepState{task.StepEnqueued}},
		{name: "Begin", call: func(s *task.Step) error {
			return s.Begin(now, later)
		}, to: task.StepInProgress, only: []task.StepState{task.StepAssigned}},
		{name: "Succeed", call: func(s *task.Step) error { return s.Succeed(now, []byte(`1`)) }, to: task.StepComplete},
		{name: "Exhaust", call: func(s *task.Step) error { return s.Exhaust(now) }, to: task.StepErrored},
		{name: "Skip", call: func(s *task.Step) error { return s.Skip(now) }, to: task.StepSkipped},
		{name: "Await", call: func(s *task.Step) error { return s.Await(now, later) }, to: task.StepWaiting},
		{name: "Cancel", call: func(s *task.Step) error { return s.Cancel(now) }, to: task.StepCancelled},
		{name: "Resolve", call: func(s *task.Step) error { return s.Resolve(now) }, to: task.StepResolvedManually},
		{name: "PostponeUntil", call: func(s *task.Step) error {
			return s.Postpone(now, later, task.Scheduling{})
		}, to: task.StepWaitingForRetry},
		{name: "PostponeAtOnce", call: func(s *task.Step) error {
			return s.Postpone(now, 0, task.Scheduling{})
		}, to: task.StepEnqueued},
		{name: "Repeat", call: func(s *task.Step) error {
			return s.Repeat(now)
		}, to: task.StepPending, only: []task.StepState{task.StepErrored, task.StepWaitingForRetry}},
		{name: "Reset", call: func(s *task.Step) error {
			return s.Reset(now)
		}, to: task.StepPending, only: []task.StepState{task.StepErrored, task.StepWaitingForRetry}},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for _, from := range task.StepStates {
				allowed := slices.Contains(stepMoves[from], m.to) && (m.only == nil || slices.Contains(m.only, from))
				s := aStep(from)
				err := m.call(&s)
				switch {
				case allowed && err != nil:
					t.Errorf("from %s: %v", from, err)
				case allowed && s.State != m.to:
					t.Errorf("from %s: became %s, want %s", from, s.State, m.to)
				case !allowed && task.CodeOf(err) != task.WrongState:
					t.Errorf("from %s: error %v, want code %s", from, err, task.WrongState)
				case !allowed:
					if diff := cmp.Diff(aStep(from), s); diff != "" {
						t.Errorf("from %s: refused, but the step changed (-before +after):\n%s", from, diff)
					}
				}
			}
		})
	}
}

func change(t *testing.T, from task.StepState, call func(*task.Step) error) task.Step {
	t.Helper()
	s := aStep(from)
	if err := call(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStepQueues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		got        task.Step
		queue, key int64
		lease      task.Instant
	}{
		{"Enqueue", change(t, task.StepPending, func(s *task.Step) error {
			return s.Enqueue(now, task.Scheduling{})
		}), 5, task.StrictKey(50, now), 0},
		{"EnqueueFromLease", change(t, task.StepAssigned, func(s *task.Step) error {
			return s.Enqueue(now, task.Scheduling{})
		}), 5, task.StrictKey(50, now), 0},
		{"Wait", change(t, task.StepInProgress, func(s *task.Step) error {
			return s.Wait(later)
		}), task.Timers, int64(later), 0},
		{"Assign", change(t, task.StepEnqueued, func(s *task.Step) error {
			return s.Assign(1, now, later)
		}), task.Leases, int64(later), later},
		{"Claim", change(t, task.StepEnqueued, func(s *task.Step) error {
			return s.Claim(1, now, later)
		}), task.Leases, int64(later), later},
		{"ClaimBeyondTimeout", change(t, task.StepEnqueued, func(s *task.Step) error {
			return s.Claim(1, now, now.Add(time.Hour))
		}),
			task.Leases, int64(now.Add(time.Minute)), now.Add(time.Hour)},
		{"Succeed", change(t, task.StepInProgress, func(s *task.Step) error {
			return s.Succeed(now, nil)
		}), task.NoQueue, 0, 0},
		{"Exhaust", change(t, task.StepInProgress, func(s *task.Step) error { return s.Exhaust(now) }), task.NoQueue, 0, 0},
		{"Cancel", change(t, task.StepWaitingForRetry, func(s *task.Step) error {
			return s.Cancel(now)
		}), task.NoQueue, 0, 0},
		{"Postpone", change(t, task.StepInProgress, func(s *task.Step) error {
			return s.Postpone(now, later, task.Scheduling{})
		}), task.Timers, int64(later), 0},
		{"PostponeIntoThePast", change(t, task.StepInProgress, func(s *task.Step) error {
			return s.Postpone(now, now, task.Scheduling{})
		}), 5, task.StrictKey(50, now), 0},
		{"Reset", change(t, task.StepErrored, func(s *task.Step) error { return s.Reset(now) }), task.Timers, int64(now), 0},
		{"Schedule", change(t, task.StepPending, func(s *task.Step) error {
			s.Schedule(later)
			return nil
		}), task.Timers, int64(later), now + 10},
	} {
		if c.got.Queue != c.queue || c.got.Key != c.key || c.got.LeaseUntil != c.lease {
			t.Errorf("%s: queue %d key %d lease %d, want %d %d %d", c.name, c.got.Queue, c.got.Key, c.got.LeaseUntil, c.queue,
				c.key, c.lease)
		}
	}
}

func TestStepLife(t *testing.T) {
	t.Parallel()
	s := task.Step{State: task.StepPending, RouteID: 1, MaxAttempts: 2}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	expect := func(attempts int, token int64, deadline task.Instant) {
		t.Helper()
		if s.Attempts != attempts || s.Token != token || s.Deadline() != deadline {
			t.Fatalf("attempts %d, token %d, deadline %d; want %d, %d, %d", s.Attempts, s.Token, s.Deadline(), attempts, token,
				deadline)
		}
	}
	must(s.Enqueue(now, task.Scheduling{}))
	expect(0, 0, 0)
	must(s.Assign(9, now, later))
	expect(0, 1, 0)
	must(s.Begin(now+1, later))
	expect(1, 1, 0)
	s.Timeout = time.Second
	expect(1, 1, (now + 1).Add(time.Second))
	s.Progress, s.Note = 30, "going"
	a := s.EndAttempt(now+2, task.Failed, &task.Failure{Message: "no"})
	if a.Number != 1 || a.Token != 1 || a.WorkerNo != 9 || a.StartedAt != now+1 || a.FinishedAt != now+2 ||
		a.Failure.Message != "no" {
		t.Fatalf("attempt %+v", a)
	}
	must(s.Postpone(now+2, later, task.Scheduling{}))
	must(s.Enqueue(later, task.Scheduling{}))
	must(s.Claim(8, later, later+50))
	expect(2, 2, later.Add(time.Second))
	if s.Progress != 0 || s.Note != "" || s.FinishedAt != 0 || s.WorkerNo != 8 || s.StartedAt != later {
		t.Fatalf("the new attempt has remains of the old one: %+v", s)
	}
	s.Uncharge()
	expect(1, 2, later.Add(time.Second))
	must(s.Exhaust(later + 1))
	expect(1, 2, 0)
	s.Uncharge()
	must(s.Reset(later + 2))
	must(s.Enqueue(later+2, task.Scheduling{}))
	expect(0, 2, 0) // the token is never reused
	must(s.Claim(8, later, later+50))
	expect(1, 3, later.Add(time.Second))
	must(s.Succeed(later+3, []byte(`{}`)))
	if s.FinishedAt != later+3 || string(s.Result) != `{}` {
		t.Fatalf("finished %d, result %s", s.FinishedAt, s.Result)
	}
}

func TestHeldUnder(t *testing.T) {
	t.Parallel()
	for _, state := range task.StepStates {
		s := aStep(state)
		if got, want := s.HeldUnder(7), state == task.StepAssigned || state == task.StepInProgress; got != want {
			t.Errorf("%s: held under its token is %v, want %v", state, got, want)
		}
		if s.HeldUnder(6) || s.HeldUnder(8) {
			t.Errorf("%s: held under another token", state)
		}
	}
}

func TestRenewLooksAtTheNearerEnd(t *testing.T) {
	t.Parallel()
	s := aStep(task.StepInProgress)
	s.Renew(now + 5)
	if s.LeaseUntil != now+5 || s.Key != int64(now+5) {
		t.Errorf("lease %d key %d, want both %d", s.LeaseUntil, s.Key, now+5)
	}
	s.Renew(now.Add(time.Hour))
	if want := int64((now - 20).Add(time.Minute)); s.Key != want {
		t.Errorf("key %d, want the time-out %d", s.Key, want)
	}
	s.Timeout = 0
	s.Renew(now.Add(time.Hour))
	if want := int64(now.Add(time.Hour)); s.Key != want {
		t.Errorf("key %d without a time-out, want %d", s.Key, want)
	}
}

// The numbers are stored in every database.
func TestQueuesThatAreStored(t *testing.T) {
	t.Parallel()
	if got := [...]int64{task.NoQueue, task.Timers, task.Leases}; got != [...]int64{0, -1, -2} {
		t.Errorf("the queues are %v, and rows hold 0, -1 and -2", got)
	}
}

// A reset hides neither the worker that had the step nor what it waited for.
func TestBegun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		step       task.Step
		had, begun bool
	}{
		{"fresh", task.Step{State: task.StepPending}, false, false},
		{"waits for its time", task.Step{State: task.StepPending, Queue: task.Timers}, false, false},
		{"ready", task.Step{State: task.StepEnqueued, ReadyAt: now}, false, false},
		{"came back", task.Step{State: task.StepEnqueued, ReadyAt: now, Token: 1}, true, true},
		{"reset", task.Step{State: task.StepPending, Queue: task.Timers, ReadyAt: now, Token: 1}, true, true},
		{"reset without a worker", task.Step{State: task.StepPending, Queue: task.Timers, ReadyAt: now}, false, true},
		{"waits", task.Step{State: task.StepWaiting, ReadyAt: now}, false, true},
		{"skipped", task.Step{State: task.StepSkipped}, false, true},
	} {
		if had, begun := c.step.Had(), c.step.Begun(); had != c.had || begun != c.begun {
			t.Errorf("%s: had %v, begun %v; want %v, %v", c.name, had, begun, c.had, c.begun)
		}
	}
}
