package tasker_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/taskerhq/tasker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// store is a Backend with one task, which reaches its last state at a time.
type store struct {
	tasker.Backend
	submitted tasker.SubmitRequest
	receipt   tasker.TaskReceipt
	settledAt time.Time
	last      tasker.TaskState
	steps     []tasker.Step
	hold      bool // a waiting call blocks until the task is settled
	asked     int
	// between these, calls fail, and the one that waits when it begins
	awayFrom, awayTo time.Time
}

func (s *store) SubmitTasks(_ context.Context, req tasker.SubmitRequest) ([]tasker.TaskReceipt, error) {
	s.submitted = req
	return []tasker.TaskReceipt{s.receipt}, nil
}

func (s *store) Task(_ context.Context, id uuid.UUID, wait time.Duration) (*tasker.Task, error) {
	s.asked++
	if s.hold {
		wait = min(wait, time.Until(s.settledAt))
		if ahead := time.Until(s.awayFrom); ahead > 0 {
			wait = min(wait, ahead)
		}
		if time.Now().Before(s.awayFrom) || !time.Now().Before(s.awayTo) {
			time.Sleep(wait)
		}
	}
	if now := time.Now(); !now.Before(s.awayFrom) && now.Before(s.awayTo) {
		return nil, tasker.Errorf(tasker.CodeUnavailable, "away")
	}
	t := &tasker.Task{TaskUUID: id, State: tasker.TaskStepsInProcess}
	if !time.Now().Before(s.settledAt) {
		t.State = s.last
	}
	return t, nil
}

func (s *store) Steps(context.Context, uuid.UUID) ([]tasker.Step, error) { return s.steps, nil }

func TestClientWait(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		hold bool
		most int // calls in 100 s
	}{
		"LongPolls":          {true, 4},
		"BackendDoesNotHold": {false, 250},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &store{settledAt: time.Now().Add(100 * time.Second), last: tasker.TaskError, hold: tc.hold}
				task, err := tasker.NewClient(s).Wait(t.Context(), uuid.New())
				if err != nil || task.State != tasker.TaskError || s.asked > tc.most {
					t.Errorf("Wait = %+v, %v after %d calls; want at most %d", task, err, s.asked, tc.most)
				}
			})
		})
	}
	for name, tc := range map[string]struct {
		from, to, within time.Duration // the outage; how long Wait bears it
		survives         bool
	}{
		"ShortOutage":        {20 * time.Second, 60 * time.Second, 101 * time.Second, true},
		"ShortOutageLater":   {50 * time.Second, 90 * time.Second, 115 * time.Second, true}, // the longest pause is 22.5 s
		"LongOutage":         {20 * time.Second, time.Hour, 110 * time.Second, false},
		"AwayFromTheStart":   {0, 5 * time.Second, 0, false},
		"OutageAtTheVeryEnd": {99 * time.Second, 110 * time.Second, 130 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				s := &store{settledAt: begun.Add(100 * time.Second), last: tasker.TaskComplete, hold: true,
					awayFrom: begun.Add(tc.from), awayTo: begun.Add(tc.to)}
				got, err := tasker.NewClient(s).Wait(t.Context(), uuid.New())
				if took := time.Since(begun); took > tc.within {
					t.Errorf("Wait took %v, want at most %v", took, tc.within)
				}
				switch {
				case tc.survives && (err != nil || got.State != tasker.TaskComplete):
					t.Errorf("Wait = %+v, %v; want the task", got, err)
				case !tc.survives && tasker.ErrorCode(err) != tasker.CodeUnavailable:
					t.Errorf("Wait = %v, want CodeUnavailable", err)
				}
				if s.asked > 30 {
					t.Errorf("%d calls", s.asked)
				}
			})
		})
	}
	t.Run("ContextEnds", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			s := &store{settledAt: time.Now().Add(time.Hour)}
			if _, err := tasker.NewClient(s).Wait(ctx, uuid.New()); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Wait = %v, want the end of its context", err)
			}
		})
	})
}

func TestPriorityJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]tasker.Priority{`"high"`: tasker.High, `80`: tasker.Level(80), `"80"`: "80"} {
		var p tasker.Priority
		if err := json.Unmarshal([]byte(text), &p); err != nil || p != want {
			t.Errorf("%s = %q, %v; want %q", text, p, err, want)
		}
	}
	for _, text := range []string{`1.5`, `true`, `{}`} {
		var p tasker.Priority
		if err := json.Unmarshal([]byte(text), &p); err == nil {
			t.Errorf("%s was taken for the priority %q", text, p)
		}
	}
}
