package inbox

import (
	"errors"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

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

// observeSends must follow the commit of the record.
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

// observeDiscards must follow the commit of the discards.
func (in *Inbox) observeDiscards(tx engine.Tx, events []deadletter.Event) {
	for _, e := range events {
		if e.Kind == deadletter.EventDiscarded {
			tx.Handle().AfterCommit(func() {
				in.opts.Observer.Discarded(e.Namespace, e.Object, e.Where, e.Title, e.Total)
			})
		}
	}
}
