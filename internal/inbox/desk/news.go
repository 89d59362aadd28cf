package desk

import (
	"maps"
	"slices"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

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
