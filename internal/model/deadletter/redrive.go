package deadletter

import (
	"math"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Selection selects items of the inbox. Zero fields do not restrict.
type Selection struct {
	Namespace string
	Kind      model.Kind // "" selects both
	IDs       []task.ID
	Groups    []GroupID
	Source    string
	Origin    string
	Template  string // of cases: name of the template
	// State selects letters in it, and cases that are pending for Open; "" selects all states.
	State model.LetterState
	Type  string // error type
	// Text is a literal part of an error message or a payload.
	Text string
	// HeaderName selects letters with that header, of that value if HeaderValue is set.
	HeaderName, HeaderValue string
	After                   task.Instant // died last at or after
	Before                  task.Instant // died last before
	FirstAfter              task.Instant // died first, or the case was opened, at or after
	FirstBefore             task.Instant // died first, or the case was opened, before
	MinReplays              int
	// Replayed selects what was sent back before, or was not; of cases, those whose tasks were replayed before, also
	// under an earlier case.
	Replayed  *bool
	Retryable *bool // whether a retry may help
	Parked    *bool
	// Reason is why a case was opened, and TaskState the state in which its task is now: both select cases only.
	Reason    task.CaseReason
	TaskState task.State
	// Masked leaves payloads and values of headers out of the search in letters of sources with sensitive fields: the
	// number of letters that a search finds would tell what is masked.
	Masked bool `json:",omitempty"`
}

// Plan says how many items a redrive takes, in which waves it sends them, and how it replays the tasks of cases.
type Plan struct {
	Canary  int           // size of the first wave
	Factor  float64       // each wave is that many times the size of the one before
	Largest int           // size of the largest wave
	Observe time.Duration // after each wave
	Rate    float64       // items per second; 0: no limit
	// Limit bounds the items: of more, those that died first are taken. 0: all, or none of more than MaxItems.
	Limit int
	// KeepAttempts leaves failed steps the attempts that they have left, at least one; otherwise they have all again.
	KeepAttempts bool
	// Priority is the name or number of the new level of tasks; "" keeps the level.
	Priority string
	// AtMostOnce leaves a letter open when the outcome of its send is not known, else it is sent again under its number.
	AtMostOnce bool `json:",omitempty"`
}

// StopRule says when a redrive halts. Zero fields do not.
type StopRule struct {
	// ReturnedShare is the share of a wave, above 0 to 1, that may come back.
	ReturnedShare float64
	// SamePrint is how many items of a wave may come back with one fingerprint.
	SamePrint int
	// Failed is how many sends of a wave may fail.
	Failed int
}

// Edit changes content before it is sent; the original is kept.
type Edit struct {
	// Patch is a JSON Patch (RFC 6902) or merge patch (RFC 7396) of the payload, or of a case's task's context. nil: none.
	Patch []byte
	// SetHeaders replaces the headers of those names; DropHeaders removes them.
	SetHeaders  []Header
	DropHeaders []string
	// Key replaces the key; nil keeps it.
	Key []byte
}

// Redrive is an operation on a frozen selection.
type Redrive struct {
	ID        task.ID
	Namespace string
	Operation model.Operation
	Selection Selection
	// Destination is where letters are sent; "" sends each to its origin.
	Destination string
	Edit        *Edit
	Plan        Plan
	Stop        StopRule
	// IncludeParked takes parked letters too.
	IncludeParked bool

	State   model.RedriveState
	StateAt task.Instant
	// Resume is the state to which a paused redrive returns.
	Resume model.RedriveState
	Halt   string // why it was halted, in a sentence

	FrozenAt  task.Instant
	StartedAt task.Instant
	EndedAt   task.Instant

	Total    int // items
	Counts   model.ItemCounts
	Wave     int // number of the wave under way, from 1; 0 before the first
	WaveSize int
	WaveSent int // items of the wave that are decided: sent, failed or skipped
	// Waves are the counts of the newest waves, where they were asked for.
	Waves     []model.RedriveWave
	WaveBegan task.Instant
	// Behind is the number of the last item that was decided.
	Behind int

	Actor, Key, Reason string
	CreatedAt          task.Instant
	Version            int64
}

// Item is one item of a redrive. Items are numbered in the order in which they are sent.
type Item struct {
	Redrive task.ID
	No      int // from 1
	Kind    model.Kind
	ID      task.ID // of the letter or the case
	State   model.ItemState
	Wave    int
	At      task.Instant // of the state
	Message string
	// Group is that with which it came back; 0 for none.
	Group GroupID
	// Uncertain: a try had no answer. What was sent may be there twice, under its number, and what failed once.
	Uncertain bool
}

// Outcome is how the items of one wave stand.
type Outcome struct {
	model.ItemCounts
	// ByGroup counts the items that came back, by the group that they came back in.
	ByGroup map[GroupID]int
}

// move changes the state, or refuses; act is the past participle for the refusal.
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
