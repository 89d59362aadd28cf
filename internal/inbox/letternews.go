package inbox

import (
	"maps"
	"slices"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/failure"
	"github.com/taskerhq/tasker/internal/task"
)

// letterNews collects what happened to letters in one transaction, for listeners: one event for each kind, source,
// origin and kind of cause, however many letters there are.
type letterNews map[letterNewsKey]*deadletter.Event

type letterNewsKey struct {
	kind                      deadletter.EventKind
	namespace, source, origin string
	to                        string
	because                   deadletter.DiscardKind
}

// maxLetterNews bounds the events of one transaction: letters claim their origins themselves. Beyond it, events name no
// origin.
const maxLetterNews = 50

// add counts a letter; cause is a reason or an error of this letter, and shown for the first one.
func (n letterNews) add(kind deadletter.EventKind, l *deadletter.Letter, cause string) {
	key := letterNewsKey{kind: kind, namespace: l.Namespace, source: l.Source, origin: l.Origin}
	switch kind {
	case deadletter.EventDiscarded:
		key.because = deadletter.KindOfDiscard(cause)
	case deadletter.EventRetried:
		key.to = deadletter.RetrySent
		if cause != "" {
			key.to = deadletter.RetryFailed
		}
	}
	if n[key] == nil && len(n) >= maxLetterNews {
		key.origin = ""
	}
	e := n[key]
	if e == nil {
		e = &deadletter.Event{Kind: kind, Namespace: key.namespace, Object: key.source, Where: failure.Cut(key.origin,
			deadletter.MaxEventOrigin), To: key.to, Title: string(key.because), Cause: failure.Cut(cause, deadletter.MaxCause)}
		n[key] = e
	}
	e.Total++
	if len(e.First) < deadletter.MaxEventLetters {
		e.First = append(e.First, deadletter.EventLetter{ID: l.ID.String(),
			MessageID: failure.Cut(l.MessageID, deadletter.MaxEventID)})
	}
}

// retried counts a letter whose send by a policy is over.
func (n letterNews) retried(o *outcome, over bool, l *deadletter.Letter) {
	switch {
	case o.delivered():
		n.add(deadletter.EventRetried, l, "")
	case over:
		n.add(deadletter.EventRetried, l, itemMessage(o.err))
	}
}

// discarded counts a letter that has changed, if it is discarded now.
func (n letterNews) discarded(l *deadletter.Letter) {
	if l.State == model.LetterDiscarded {
		n.add(deadletter.EventDiscarded, l, l.Reason)
	}
}

// events returns the events in a fixed order.
func (n letterNews) events(now task.Instant) []deadletter.Event {
	out := make([]deadletter.Event, 0, len(n))
	for _, key := range slices.SortedFunc(maps.Keys(n), func(a, b letterNewsKey) int {
		return slices.Compare(a.parts(), b.parts())
	}) {
		e := *n[key]
		e.At = now
		out = append(out, e)
	}
	return out
}

func (k letterNewsKey) parts() []string {
	return []string{k.namespace, k.source, k.origin, string(k.kind), k.to, string(k.because)}
}
