package deadletter

import (
	"slices"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Retention applies to a letter after it was sent back or discarded, and to a replay after its end.
const Retention = 30 * 24 * time.Hour

const (
	// RedriveRetention applies to a redrive and its items after its end.
	RedriveRetention = 90 * 24 * time.Hour
	// GroupRetention applies to a group without letters and cases after its last failure.
	GroupRetention = 400 * 24 * time.Hour
)

// MaxReason bounds a reason, in bytes.
const MaxReason = 2000

var hints = map[model.LetterState]string{
	model.LetterRedriving: "wait until it is sent, or until its send has failed",
	model.LetterRedriven:  "it opens again if it comes back; restore it to send it once more",
	model.LetterDiscarded: "restore it first",
}

func (l *Letter) refuse(act string) error {
	e := refused("letter", l.ID, l.State, act)
	e.Hint = hints[l.State]
	return e
}

func (l *Letter) move(to model.LetterState, now task.Instant, act string, from ...model.LetterState) error {
	if !slices.Contains(from, l.State) || !l.State.Can(to) {
		return l.refuse(act)
	}
	l.State = to
	l.Due, l.Reason, l.PurgeAt = 0, "", 0
	l.StateAt = now
	l.Version++
	return nil
}

// Schedule sets when a policy sends an open or scheduled letter back.
func (l *Letter) Schedule(due, now task.Instant) error {
	if err := l.move(model.LetterScheduled, now, "scheduled", model.LetterOpen, model.LetterScheduled); err != nil {
		return err
	}
	l.Due = due
	return nil
}

// Unschedule leaves a scheduled letter to an operator.
func (l *Letter) Unschedule(reason string, now task.Instant) error {
	if err := l.move(model.LetterOpen, now, "taken from its schedule", model.LetterScheduled); err != nil {
		return err
	}
	l.Reason = failure.Cut(reason, MaxReason)
	return nil
}

// Mark gives an open or scheduled letter to a redrive before the send. The zero ID is a policy.
func (l *Letter) Mark(redrive task.ID, now task.Instant) error {
	if err := l.move(model.LetterRedriving, now, "sent back", model.LetterOpen, model.LetterScheduled); err != nil {
		return err
	}
	l.Redrive = redrive
	return nil
}

// Sent confirms send no of a marked letter. WrongState: it came back meanwhile, and the return counted the send.
func (l *Letter) Sent(no int, now task.Instant, retention time.Duration) error {
	if err := l.move(model.LetterRedriven, now, "recorded as sent", model.LetterRedriving); err != nil {
		return err
	}
	l.Replays = max(l.Replays, no)
	l.FailedSends, l.Unknown = 0, false
	l.PurgeAt = now.Add(retention)
	return nil
}

// Unmark opens a marked letter after a failed send. unknown means that the send may have arrived.
func (l *Letter) Unmark(reason string, unknown bool, now task.Instant) error {
	if err := l.move(model.LetterOpen, now, "taken from its redrive", model.LetterRedriving); err != nil {
		return err
	}
	l.Reason = failure.Cut(reason, MaxReason)
	l.Unknown = unknown
	return nil
}

// Apart returns a letter for the content of an unconfirmed send of this one: the death that seemed its return may be
// that of an equal message.
func (l *Letter) Apart(id task.ID, s *Send, now task.Instant) *Letter {
	n := *l
	n.ID, n.Link, n.Lineage = id, Link{Kind: LinkContent, Letter: l.ID}, s.No+s.Lineage
	n.Position, n.Stack, n.Details = "", "", nil
	n.State, n.StateAt, n.Due, n.PurgeAt, n.Redrive = model.LetterOpen, now, 0, 0, task.ID{}
	n.Reason = failure.Cut("an equal message died while this one was sent without a confirmation: "+s.Error, MaxReason)
	n.Occurrences, n.Attempts, n.Replays, n.Unknown, n.FailedSends = 1, 0, 0, false, 0
	n.CapturedAt, n.Version = now, 1
	return &n
}

// Supersede abandons a send of unknown outcome before a new send, which gets the next number.
func (l *Letter) Supersede() {
	if l.Unknown {
		l.Unknown = false
		l.Replays++
	}
}

// Return records the death of send no: it opens the letter, and returns the occurrence with letter and number. After
// maxReplays sends the letter is parked; 0 parks none.
//
// Before its send is recorded, Return counts the send. After a return from an earlier send, an open letter stays open
// and a marked one stays marked.
func (l *Letter) Return(o Occurrence, no, maxReplays int, now task.Instant) Occurrence {
	if current := no > l.Replays; l.State != model.LetterRedriving || current {
		if l.State == model.LetterRedriven || l.State == model.LetterRedriving || l.State == model.LetterDiscarded {
			l.State, l.StateAt = model.LetterOpen, now
			l.Due, l.PurgeAt = 0, 0
		}
		l.Reason = ""
		l.Unknown = l.Unknown && !current
		l.FailedSends = 0
	}
	l.Version++
	l.Replays = max(l.Replays, no)
	l.Occurrences++
	o.Letter, o.No = l.ID, l.Occurrences
	l.Group, l.Failure, l.Stack = o.Group, o.Failure, o.Stack
	l.Handler, l.Details = o.Handler, o.Details
	l.Attempts += o.Attempts
	l.LastAt = o.At
	if o.Origin != "" {
		l.Origin = o.Origin
	}
	l.Position = o.Position
	l.Parked = maxReplays > 0 && l.Sends() >= maxReplays
	return o
}

// Identified records the identity of the delivery by which the letter returned, from any source of its namespace. It
// returns the alias to store, so that deliveries of all deaths stay known; ok is false for none. The letter keeps
// only identities of its own source, because a position is meaningful only in its queue.
func (l *Letter) Identified(source, identity string) (a Alias, ok bool) {
	if source != l.Source {
		return Alias{Namespace: l.Namespace, Source: source, Identity: identity, Letter: l.ID}, true
	}
	a = Alias{Namespace: l.Namespace, Source: source, Identity: l.Identity, Letter: l.ID}
	l.Identity = identity
	return a, a.Identity != identity
}

// Discard discards an open or scheduled letter until it is deleted or restored.
func (l *Letter) Discard(reason string, now task.Instant, retention time.Duration) error {
	if err := l.move(model.LetterDiscarded, now, "discarded", model.LetterOpen, model.LetterScheduled); err != nil {
		return err
	}
	l.Reason = failure.Cut(reason, MaxReason)
	l.PurgeAt = now.Add(retention)
	return nil
}

// Restore opens a discarded or sent letter. Its counts stay; an earlier send may still die.
func (l *Letter) Restore(now task.Instant) error {
	if err := l.move(model.LetterOpen, now, "restored", model.LetterRedriven, model.LetterDiscarded); err != nil {
		return err
	}
	l.FailedSends = 0
	return nil
}

// Edit sets the content to send; nil is the original.
func (l *Letter) Edit(to *Content) error {
	if l.State != model.LetterOpen && l.State != model.LetterScheduled {
		return l.refuse("edited")
	}
	l.Edited = to
	l.Canonical = Canonical(l.Outgoing())
	l.Version++
	return nil
}

// MaySend reports whether a redrive may send the letter, or why not.
func (l *Letter) MaySend(includeParked bool) (why string, ok bool) {
	switch {
	case l.State != model.LetterOpen && l.State != model.LetterScheduled:
		return "it is " + string(l.State), false
	case l.Cut && l.Edited == nil:
		return WhyCut, false
	case l.Parked && !includeParked:
		return "it is parked: it has been sent back too often", false
	}
	return "", true
}
