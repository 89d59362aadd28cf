package desk

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Tell reports events: to listeners after the commit, and to webhooks by rows in the same transaction. It must be the
// last step of a transaction; see engine.Announce.
func (in *Desk) Tell(ctx context.Context, tx engine.Tx, events ...deadletter.Event) error {
	if len(events) == 0 {
		return nil
	}
	if err := in.Hooks.StoreEvents(ctx, tx, events...); err != nil {
		return err
	}
	in.observeDiscards(tx, events)
	in.Tasks.Announce(tx, events...)
	return nil
}

// observeDiscards must follow the commit of the discards.
func (in *Desk) observeDiscards(tx engine.Tx, events []deadletter.Event) {
	for _, e := range events {
		if e.Kind == deadletter.EventDiscarded {
			tx.Handle().AfterCommit(func() {
				in.Observer.Discarded(e.Namespace, e.Object, e.Where, e.Title, e.Total)
			})
		}
	}
}

// LetterNews collects events about letters of one transaction: one for each namespace, source, origin, kind, result and
// kind of cause, however many letters there are.
type LetterNews map[[6]string]*deadletter.Event

// maxLetterNews bounds the events of one transaction, since letters claim their origins themselves. Events beyond it
// name no origin.
const maxLetterNews = 50

// Add adds a letter to the event of its kind.
func (n LetterNews) Add(kind deadletter.EventKind, l *deadletter.Letter, cause string) {
	origin, to, because := l.Origin, "", ""
	switch kind {
	case deadletter.EventDiscarded:
		because = string(deadletter.KindOfDiscard(cause))
	case deadletter.EventRetried:
		to = deadletter.RetrySent
		if cause != "" {
			to = deadletter.RetryFailed
		}
	}
	key := [6]string{l.Namespace, l.Source, origin, string(kind), to, because}
	if n[key] == nil && len(n) >= maxLetterNews {
		origin, key[2] = "", ""
	}
	e := n[key]
	if e == nil {
		e = &deadletter.Event{Kind: kind, Namespace: l.Namespace, Object: l.Source, Where: failure.Cut(origin,
			deadletter.MaxEventOrigin), To: to, Title: because, Cause: failure.Cut(cause, deadletter.MaxCause)}
		n[key] = e
	}
	e.Total++
	if len(e.First) < deadletter.MaxEventLetters {
		e.First = append(e.First, deadletter.EventLetter{ID: l.ID.String(),
			MessageID: failure.Cut(l.MessageID, deadletter.MaxEventID)})
	}
}

// Discarded adds a letter that is discarded.
func (n LetterNews) Discarded(l *deadletter.Letter) {
	if l.State == model.LetterDiscarded {
		n.Add(deadletter.EventDiscarded, l, l.Reason)
	}
}

// Events returns the events, in the order of their keys.
func (n LetterNews) Events(now task.Instant) []deadletter.Event {
	out := make([]deadletter.Event, 0, len(n))
	for _, key := range slices.SortedFunc(maps.Keys(n), func(a, b [6]string) int { return slices.Compare(a[:], b[:]) }) {
		e := *n[key]
		e.At = now
		out = append(out, e)
	}
	return out
}

// Observer counts letters for metrics, by batch, after its commit. Methods are called concurrently and must not block.
type Observer interface {
	// Captured gets the age of each message's death; outcome is a CaptureStatus.
	Captured(namespace, source, origin, eventType, outcome string, ages []time.Duration)
	// Sent counts sends of policies and redrives. result is sent, unknown, failed or not_tried.
	Sent(namespace, source, origin, result string, letters int)
	Discarded(namespace, source, origin, reason string, letters int)
	// Replayed counts messages that replays stored. result is letter, task, known or gone.
	Replayed(namespace, source, result string, messages int64)
	ReplayEntered(namespace, source, state string)
	Took(operation string, d time.Duration)
	// Failed counts batches that could not be stored: a capture, or the mark or record of sends.
	Failed(operation string, code task.Code)
}

type unobserved struct{}

func (unobserved) Captured(string, string, string, string, string, []time.Duration) {}
func (unobserved) Sent(string, string, string, string, int)                         {}
func (unobserved) Discarded(string, string, string, string, int)                    {}
func (unobserved) Replayed(string, string, string, int64)                           {}
func (unobserved) ReplayEntered(string, string, string)                             {}
func (unobserved) Took(string, time.Duration)                                       {}
func (unobserved) Failed(string, task.Code)                                         {}

// ObservedCapture and ObservedSend are the operations that an Observer hears of.
const (
	ObservedCapture = "capture"
	ObservedSend    = "send"
)

// Observed tells the Observer how long an operation took, and whether it failed.
func (in *Desk) Observed(operation string, began time.Time, err error) {
	in.Observer.Took(operation, time.Since(began))
	in.ObserveFailure(operation, err)
}

// ObserveFailure tells the Observer of a failed operation.
func (in *Desk) ObserveFailure(operation string, err error) {
	if err != nil {
		in.Observer.Failed(operation, task.CodeOf(err))
	}
}
