package deadletter

import (
	"math"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Selection selects items of the inbox. Zero fields restrict nothing.
type Selection struct {
	Namespace string
	Kind      model.Kind
	IDs       []task.ID
	Groups    []GroupID
	Source    string
	Origin    string
	Template  string
	// State selects letters, and pending cases for Open; "" selects all states.
	State model.LetterState
	Type  string
	Text  string
	// HeaderName selects letters with that header, with that value if HeaderValue is set.
	HeaderName, HeaderValue string
	After                   task.Instant
	Before                  task.Instant
	FirstAfter              task.Instant
	FirstBefore             task.Instant
	MinReplays              int
	// Replayed selects by earlier replays; for cases, also under an earlier case.
	Replayed  *bool
	Retryable *bool
	Parked    *bool
	// Reason and the current TaskState select cases only.
	Reason    task.CaseReason
	TaskState task.State
	// Masked excludes payloads and header values of letters with sensitive fields from the text search: the number of
	// hits would reveal masked values.
	Masked bool `json:",omitempty"`
}

// Plan sets the items of a redrive, its waves, and the replays of tasks.
type Plan struct {
	Canary  int
	Factor  float64
	Largest int
	Observe time.Duration
	Rate    float64
	// Limit takes the items with the earliest first deaths. 0: all, but none if more than MaxItems match.
	Limit int
	// KeepAttempts leaves failed steps their remaining attempts, at least one.
	KeepAttempts bool
	Priority     string
	// AtMostOnce leaves a letter open after a send of unknown outcome; otherwise it is sent again under its number.
	AtMostOnce bool `json:",omitempty"`
}

// StopRule sets when a redrive halts. Zero fields never halt.
type StopRule struct {
	// ReturnedShare is the share of a wave, above 0 to 1, that may come back.
	ReturnedShare float64
	// SamePrint bounds the items of a wave that come back with one fingerprint.
	SamePrint int
	// Failed bounds the failed sends of a wave.
	Failed int
}

// Edit changes content before it is sent.
type Edit struct {
	// Patch is a JSON Patch (RFC 6902) or merge patch (RFC 7396) of the payload, or of the context of a case's task.
	// nil: none.
	Patch       []byte
	SetHeaders  []Header
	DropHeaders []string
	Key         []byte
}

// Redrive is an operation on a frozen selection.
type Redrive struct {
	ID            task.ID
	Namespace     string
	Operation     model.Operation
	Selection     Selection
	Destination   string
	Edit          *Edit
	Plan          Plan
	Stop          StopRule
	IncludeParked bool

	State   model.RedriveState
	StateAt task.Instant
	Resume  model.RedriveState
	Halt    string

	FrozenAt  task.Instant
	StartedAt task.Instant
	EndedAt   task.Instant

	Total     int
	Counts    model.ItemCounts
	Wave      int // number of the current wave, from 1; 0 before the first
	WaveSize  int
	WaveSent  int
	Waves     []model.RedriveWave
	WaveBegan task.Instant
	// Behind is the number of the last decided item.
	Behind int

	Actor, Key, Reason string
	CreatedAt          task.Instant
	Version            int64
}

// Item is one item of a redrive, numbered in the order of sending.
type Item struct {
	Redrive task.ID
	No      int
	Kind    model.Kind
	ID      task.ID
	State   model.ItemState
	Wave    int
	At      task.Instant
	Message string
	Group   GroupID
	// Uncertain means that a try had no answer. A sent item may exist twice under its number, a failed one once.
	Uncertain bool
}

// Outcome counts the items of one wave by result.
type Outcome struct {
	model.ItemCounts
	ByGroup map[GroupID]int
}

func (r *Redrive) move(to model.RedriveState, now task.Instant, act string) error {
	if !r.State.Can(to) {
		e := r.refuse(act)
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

func (r *Redrive) refuse(act string) *task.Error { return refused("redrive", r.ID, r.State, act) }

// Pause stops sending until Continue. Items under way are finished.
func (r *Redrive) Pause(now task.Instant) error {
	from := r.State
	if err := r.move(model.RedrivePaused, now, "paused"); err != nil {
		return err
	}
	r.Resume = from
	return nil
}

// Continue resumes a paused or halted redrive.
//
//   - A paused wave resumes at its rate and does not catch up. A paused observation starts over.
//   - After a halt an operator overrides the stop rule: waves restart with a canary of the remaining items, and
//     the stop rule counts the new waves only.
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

// Cancel ends a redrive early. Sent items stay sent.
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

func (r *Redrive) span(items int) time.Duration {
	if r.Plan.Rate <= 0 {
		return 0
	}
	return time.Duration(math.Min(float64(items)/r.Plan.Rate*float64(time.Second), float64(math.MaxInt64/2)))
}
