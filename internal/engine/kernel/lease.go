package kernel

import (
	"context"
	"slices"
	"strconv"

	"github.com/taskerhq/tasker/internal/engine/check"
	"github.com/taskerhq/tasker/internal/model/task"
)

// LeaseRef names a lease. The API decodes it from a token, which has all but the step; see token.go.
type LeaseRef struct {
	Step   task.ID
	Token  int64        // 0: no lease
	Worker int64        // of the worker that claims to hold it; 0: unknown
	At     task.Instant // when it was handed out; 0: unknown
}

// LeaseStatus is the state of a lease.
type LeaseStatus string

// The states of a lease.
const (
	Held      LeaseStatus = "held"
	Cancelled LeaseStatus = "cancelled" // the task was cancelled: stop
	Lost      LeaseStatus = "lost"      // settled or leased again: stop, do not report
)

// LeaseAnswer is the state of a lease after a verb. DeadlineAt is 0 without a time-out.
type LeaseAnswer struct {
	Step       task.ID
	Status     LeaseStatus
	LeaseUntil task.Instant
	DeadlineAt task.Instant
	Err        error // *task.Error when the lease is lost
}

type leaseCall struct {
	refs     []LeaseRef
	all      int64 // the worker's number: every lease of it
	progress *Progress
}

// Progress is the progress of a step. Checkpoint is JSON for the next attempt: nil keeps the last one, null deletes
// it. With a checkpoint alone, Percent and Note stay as they are.
type Progress struct {
	Percent    int
	Note       string
	Checkpoint []byte
}

// Start begins the attempts of assigned steps, and answers for each lease. It is idempotent. Invalid: no leases.
// TooLarge: more than Limits.BatchItems. A lost lease has StaleToken in its answer.
func (e *Kernel) Start(ctx context.Context, refs []LeaseRef) ([]LeaseAnswer, error) {
	if err := check.Batch("/steps", len(refs), e.Cfg.Limits.BatchItems); err != nil {
		return nil, err
	}
	return e.starts.Do(ctx, leaseCall{refs: refs})
}

// Report stores progress and checkpoint of a step, and renews its lease. Invalid: a percentage outside of 0 to 100, a
// too long note, or a checkpoint that is not JSON or too large. A lost lease is reported in the answer; nothing was
// stored then.
func (e *Kernel) Report(ctx context.Context, ref LeaseRef, p Progress) (LeaseAnswer, error) {
	if p.Percent < 0 || p.Percent > 100 {
		return LeaseAnswer{}, check.Refusal("the progress was not stored",
			[]task.Problem{{Location: "/progress_percent", Message: "must be 0 to 100, not " + strconv.Itoa(p.Percent)}})
	}
	if fault := task.TextFault(p.Note, MaxText); fault != "" {
		return LeaseAnswer{}, check.Refusal("the progress was not stored",
			[]task.Problem{{Location: "/status_message", Message: fault}})
	}
	if fault := task.JSONFault(p.Checkpoint, e.Cfg.Limits.CheckpointBytes); p.Checkpoint != nil && fault != "" {
		return LeaseAnswer{}, check.Refusal("the checkpoint was not stored",
			[]task.Problem{{Location: "/checkpoint", Message: fault}})
	}
	answers, err := e.heartbeats.Do(ctx, leaseCall{refs: []LeaseRef{ref}, progress: &p})
	if err != nil {
		return LeaseAnswer{}, err
	}
	return answers[0], nil
}

func (e *Kernel) renew(ctx context.Context, worker int64, refs []LeaseRef) ([]LeaseAnswer, error) {
	if refs == nil {
		return e.heartbeats.Do(ctx, leaseCall{all: worker})
	}
	if len(refs) == 0 {
		return nil, nil
	}
	own := slices.Clone(refs)
	for i := range own {
		own[i].Worker = worker
	}
	return e.heartbeats.Do(ctx, leaseCall{refs: own})
}

func (e *Kernel) runStarts(calls []leaseCall) ([][]LeaseAnswer, error) {
	return e.Queue.renew("start", calls, e.startStored)
}

func (e *Kernel) startStored(calls []leaseCall) ([][]LeaseAnswer, error) {
	return e.runLeases("start", calls, func(u *Unit, w Work, _ leaseCall) error {
		s := w.Step
		until := u.Now.Add(e.Cfg.Leases.Lease())
		if s.State == task.StepInProgress { // started twice
			s.Renew(until)
			return nil
		}
		u.Observed.started(s)
		return s.Begin(u.Now, until)
	})
}

// runHeartbeats stores a lease of the dispatcher with its checkpoint: one transaction checks the lease and stores
// both.
func (e *Kernel) runHeartbeats(calls []leaseCall) ([][]LeaseAnswer, error) {
	keeps := func(c leaseCall) bool { return c.progress != nil && c.progress.Checkpoint != nil }
	if !slices.ContainsFunc(calls, keeps) || !e.Queue.leasesElsewhere() {
		return e.Queue.renew("heartbeat", calls, e.renewStored)
	}
	var kept, rest []leaseCall
	for _, c := range calls {
		if keeps(c) {
			kept = append(kept, c)
		} else {
			rest = append(rest, c)
		}
	}
	stored, err := e.renewStored(kept)
	if err != nil {
		return nil, err
	}
	var others [][]LeaseAnswer
	if len(rest) > 0 {
		if others, err = e.Queue.renew("heartbeat", rest, e.renewStored); err != nil {
			return nil, err
		}
	}
	out := make([][]LeaseAnswer, len(calls))
	for i, c := range calls {
		from := &others
		if keeps(c) {
			from = &stored
		}
		out[i], *from = (*from)[0], (*from)[1:]
	}
	return out, nil
}

// renewStored renews leases in the store from now.
func (e *Kernel) renewStored(calls []leaseCall) ([][]LeaseAnswer, error) {
	return e.runLeases("heartbeat", calls, func(u *Unit, w Work, c leaseCall) error {
		if c.progress != nil {
			recordProgress(u, w, c.progress)
		}
		if w.Step.State == task.StepInProgress { // an assigned step must still start in time
			w.Step.Renew(u.Now.Add(e.Cfg.Leases.Lease()))
		}
		return nil
	})
}

func (e *Kernel) runLeases(verb string, calls []leaseCall,
	fn func(*Unit, Work, leaseCall) error,
) ([][]LeaseAnswer, error) {
	out := make([][]LeaseAnswer, len(calls))
	err := e.Write(context.Background(), verb, func(u *Unit) error {
		for i, c := range calls {
			works, refs, err := u.Rows.loadHeld(c)
			if err != nil {
				return err
			}
			out[i] = make([]LeaseAnswer, len(refs))
			for j, w := range works {
				held := w.Step != nil && u.leases.inForce(w.Step, refs[j])
				if held {
					from := w.Step.State
					if err := fn(u, w, c); err != nil {
						return err
					}
					u.Moved(w, from)
				} else {
					u.Observed.refused()
				}
				out[i][j] = u.leaseAnswer(w, refs[j], held)
			}
		}
		return nil
	})
	return out, err
}

// maxHeld bounds the leases of one heartbeat without a list.
const maxHeld = 10_000

// leaseAnswer reports a cancellation, not an error, even if the dispatcher granted the lease later with a newer token
// than the row's.
func (u *Unit) leaseAnswer(w Work, ref LeaseRef, held bool) LeaseAnswer {
	a := LeaseAnswer{Step: ref.Step, Status: Lost}
	switch {
	case held:
		a.Status, a.LeaseUntil, a.DeadlineAt = Held, w.Step.LeaseUntil, w.Step.Deadline()
	case ref.Token != 0 && w.Step != nil && w.Step.State == task.StepCancelled &&
		(w.Step.Token == ref.Token || u.E.Queue.leasesElsewhere() && w.Step.Token < ref.Token):
		a.Status = Cancelled
	default:
		a.Err = notInForce(w.Step, ref)
	}
	return a
}

// notInForce reveals nothing about a step under another token, not even whether it exists.
func notInForce(s *task.Step, ref LeaseRef) error {
	lease := "lease " + strconv.FormatInt(ref.Token, 10)
	e := &task.Error{Code: task.StaleToken,
		Message: "step " + ref.Step.String() + " is not in the hands of this worker under this token",
		Hint:    "stop working on it and do not report again: the step was settled, cancelled, or handed to another worker"}
	switch {
	case ref.Token == 0:
	case s == nil:
		e.Message = lease + " is not in force: there is no step " + ref.Step.String() + " any more"
	default:
		e.Message = lease + " on step " + ref.Step.String() + " is not in force: the step is " + string(s.State)
	}
	return e
}
