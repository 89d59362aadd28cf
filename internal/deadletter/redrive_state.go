package deadletter

import (
	"math"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/failure"
	"github.com/taskerhq/tasker/internal/task"
)

// move changes the state, or refuses; act is the past participle for the refusal.
func (r *Redrive) move(to model.RedriveState, now task.Instant, act string) error {
	if !r.State.Can(to) {
		e := task.Errorf(task.WrongState, "the redrive %s is %s and cannot be %s", r.ID, r.State, act)
		switch r.State {
		case model.RedriveDraft:
			e.Hint = "start it first"
		case model.RedriveDone, model.RedriveCancelled:
			e.Hint = "it is over: freeze a new selection"
		}
		return e
	}
	r.State, r.StateAt = to, now
	r.Resume, r.Halt = "", ""
	if to.Ended() {
		r.EndedAt = now
	}
	r.Version++
	return nil
}

// Start starts a draft.
func (r *Redrive) Start(now task.Instant) error {
	if r.State != model.RedriveDraft {
		return r.refuse("started")
	}
	if err := r.move(model.RedriveRunning, now, "started"); err != nil {
		return err
	}
	r.StartedAt = now
	return nil
}

func (r *Redrive) refuse(act string) error {
	return task.Errorf(task.WrongState, "the redrive %s is %s and cannot be %s", r.ID, r.State, act)
}

// Pause stops sending until Continue. Items that are being sent are finished.
func (r *Redrive) Pause(now task.Instant) error {
	from := r.State
	if err := r.move(model.RedrivePaused, now, "paused"); err != nil {
		return err
	}
	r.Resume = from
	return nil
}

// Continue resumes a redrive that is paused or halted.
//
//   - A paused wave goes on at the rate of its plan; it does not catch up on what it did not send. A paused observation
//     begins again.
//   - After a halt an operator overrides the stop rule: the waves begin again with a canary of the items that are
//     left, and the stop rule looks at the new waves only.
func (r *Redrive) Continue(now task.Instant) error {
	to, halted := r.Resume, r.State == model.RedriveHalted
	if halted {
		to = model.RedriveRunning
	} else if r.State != model.RedrivePaused {
		return r.refuse("continued")
	}
	if err := r.move(to, now, "continued"); err != nil {
		return err
	}
	switch {
	case halted:
		r.WaveSize, r.WaveSent, r.WaveBegan = 0, 0, now
	case to == model.RedriveRunning:
		r.WaveBegan = now.Add(-r.span(r.WaveSent))
	}
	return nil
}

// Cancel ends a redrive early. What was sent stays sent.
func (r *Redrive) Cancel(now task.Instant) error {
	return r.move(model.RedriveCancelled, now, "cancelled")
}

// HaltFor stops a redrive until Continue; reason is a sentence.
func (r *Redrive) HaltFor(reason string, now task.Instant) error {
	if err := r.move(model.RedriveHalted, now, "halted"); err != nil {
		return err
	}
	r.Halt = failure.Cut(reason, MaxReason)
	return nil
}

// span is the time that the rate of the plan takes for items.
func (r *Redrive) span(items int) time.Duration {
	if r.Plan.Rate <= 0 {
		return 0
	}
	return time.Duration(math.Min(float64(items)/r.Plan.Rate*float64(time.Second), float64(math.MaxInt64/2)))
}
