package inbox

import (
	"errors"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Observer is told of letters, for metrics. Numbers are those of one batch, after its commit. Methods are called
// concurrently, and must not block.
type Observer interface {
	// Captured is told how long before each message had died. outcome is a CaptureStatus.
	Captured(namespace, source, origin, eventType, outcome string, ages []time.Duration)
	// Sent is told of sends by policies and redrives. result is sent, unknown, failed or not_tried.
	Sent(namespace, source, origin, result string, letters int)
	// Discarded is told of discards by policies and operators; reason is a deadletter.DiscardKind.
	Discarded(namespace, source, origin, reason string, letters int)
	// Replayed is told of messages that replays have read and stored. result is letter, task, known or gone.
	Replayed(namespace, source, result string, messages int64)
	ReplayEntered(namespace, source, state string)
	// Took is told how long a batch took. operation is capture or send.
	Took(operation string, d time.Duration)
	// Failed is told of a batch that could not be stored: its capture, or the mark or record of its sends.
	Failed(operation string, code task.Code)
}

// unobserved is the Observer of an inbox without one.
type unobserved struct{}

func (unobserved) Captured(string, string, string, string, string, []time.Duration) {}
func (unobserved) Sent(string, string, string, string, int)                         {}
func (unobserved) Discarded(string, string, string, string, int)                    {}
func (unobserved) Replayed(string, string, string, int64)                           {}
func (unobserved) ReplayEntered(string, string, string)                             {}
func (unobserved) Took(string, time.Duration)                                       {}
func (unobserved) Failed(string, task.Code)                                         {}

// The operations of an Observer.
const observedCapture, observedSend = "capture", "send"

func (in *Inbox) observed(operation string, began time.Time, err error) {
	in.opts.Observer.Took(operation, time.Since(began))
	in.observeFailure(operation, err)
}

func (in *Inbox) observeFailure(operation string, err error) {
	if err != nil {
		in.opts.Observer.Failed(operation, task.CodeOf(err))
	}
}

func (in *Inbox) observeCaptured(of *deadletter.Source, arrivals []prepared, receipts []Receipt) {
	type key struct {
		origin, event string
		outcome       model.ReceiptStatus
	}
	now, ages := in.now(), map[key][]time.Duration{}
	for i := range arrivals {
		a := &arrivals[i]
		k := key{a.Origin, a.eventType, receipts[i].Status}
		died := now
		if a.FailedAt > 0 {
			died = min(now, a.FailedAt)
		}
		ages[k] = append(ages[k], now.Sub(died))
	}
	for k, list := range ages {
		in.opts.Observer.Captured(of.Namespace, of.Name, k.origin, k.event, string(k.outcome), list)
	}
}

// observeSends reports sends after the commit of the transaction that records them.
func (in *Inbox) observeSends(tx engine.Tx, outcomes []outcome) {
	type key struct{ namespace, source, origin, result string }
	counts := map[key]int{}
	for i := range outcomes {
		l := outcomes[i].out.Letter
		counts[key{l.Namespace, l.Source, l.Origin, resultOf(&outcomes[i])}]++
	}
	tx.Handle().AfterCommit(func() {
		for k, n := range counts {
			in.opts.Observer.Sent(k.namespace, k.source, k.origin, k.result, n)
		}
	})
}

func resultOf(o *outcome) string {
	switch {
	case errors.Is(o.err, ErrNotTried):
		return "not_tried"
	case errors.Is(o.err, ErrUnknown):
		return "unknown"
	case o.delivered():
		return "sent"
	}
	return "failed"
}

// observeDiscards reports the discards among events, after the commit of their transaction.
func (in *Inbox) observeDiscards(tx engine.Tx, events []deadletter.Event) {
	for _, e := range events {
		if e.Kind == deadletter.EventDiscarded {
			tx.Handle().AfterCommit(func() {
				in.opts.Observer.Discarded(e.Namespace, e.Object, e.Where, e.Title, e.Total)
			})
		}
	}
}
