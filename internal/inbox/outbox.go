package inbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/inbox/desk"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// The outbox: a send is a row (deadletter.Send) before it leaves, and its outcome has three values. batch.go,
// failures.go and record.go (copies) write rows, deliver sends marked ones, and due.go repeats those without a known
// outcome.

const (
	// sendTurn is how long a batch begins messages. The carrier times each of them.
	sendTurn = 5 * time.Second
	// orphanAfter is when an unrecorded mark counts as abandoned: longer than sendTurn and the time of a message. A
	// turn that was taken over writes nothing anyway.
	orphanAfter = 25 * time.Second
	// untriedPause is the least delay of a message that was not tried. It is longer than a circuit breaker is open.
	untriedPause = 15 * time.Second
	sendLanes    = 8
)

// turn is this process's right to send for a loop. Each write of the loop checks it, so a stalled process cannot
// overwrite its successor's work.
type turn struct {
	in   *Inbox
	loop string
	no   int64
}

const loopRedrives, loopDue, loopFailures = "redrives", "due", "failures"

func (in *Inbox) takeTurn(ctx context.Context, loop string) (turn, error) {
	t := turn{in: in, loop: loop, no: rand.Int64()} //nolint:gosec // a name, and no secret
	return t, in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		return in.store.TakeTurn(ctx, tx, loop, t.no)
	})
}

// holds returns errTurnLost if another process has the turn; otherwise none can take it until the transaction ends.
func (t turn) holds(ctx context.Context, tx engine.Tx) error {
	has, err := t.in.store.HasTurn(ctx, tx, t.loop, t.no)
	if err == nil && !has {
		err = desk.ErrTurnLost
	}
	return err
}

type outgoing struct {
	send   deadletter.Send
	item   deadletter.Item // zero without a redrive
	source *deadletter.Source
	out    Outgoing
}

func newOutgoing(send deadletter.Send, i deadletter.Item, l *deadletter.Letter, s *deadletter.Source,
	now task.Instant,
) outgoing {
	return outgoing{send: send, item: i, source: s, out: Outgoing{Letter: l, SendID: sendID(&send),
		Content: lineage(l.Outgoing(), l, send.No, retryHeaders(s, l, send.No, now))}}
}

// sendID identifies a send for brokers that remember identifiers. The time distinguishes numbers that a restored
// database assigns again.
func sendID(s *deadletter.Send) string {
	return fmt.Sprint(s.Kind, " ", s.Owner, " ", s.No, " ", int64(s.Began))
}

type outcome struct {
	outgoing
	err error
	// late: its turn came too late. It is sent next, whatever the state of its destination.
	late bool
}

func (o *outcome) repeated() bool { return errors.Is(o.err, ErrRepeated) }

func (o *outcome) delivered() bool {
	return o.err == nil || o.repeated() || errors.Is(o.err, errArrived)
}

// deliver sends marked messages and returns the outcomes in any order. A source sends in order; sources send
// concurrently, so a slow broker delays only its own.
func (in *Inbox) deliver(ctx context.Context, list []outgoing) []outcome {
	began := time.Now()
	defer func() { in.Observer.Took(desk.ObservedSend, time.Since(began)) }()
	ctx, cancel := context.WithTimeout(ctx, sendTurn)
	defer cancel()
	var lanes []deadletter.SourceKey
	bySource := map[deadletter.SourceKey][]outgoing{}
	for _, o := range list {
		key := o.source.Key()
		if bySource[key] == nil {
			lanes = append(lanes, key)
		}
		bySource[key] = append(bySource[key], o)
	}
	return slices.Concat(desk.AtOnce(lanes, sendLanes, func(key deadletter.SourceKey) []outcome {
		return in.sendInOrder(ctx, bySource[key])
	})...)
}

// sendInOrder sends messages of one source. Only neighbours with the same destination go together, to keep the order.
func (in *Inbox) sendInOrder(ctx context.Context, list []outgoing) (outcomes []outcome) {
	for from := 0; from < len(list); {
		to, first := from+1, &list[from]
		for to < len(list) && list[to].send.Destination == first.send.Destination {
			to++
		}
		run := make([]Outgoing, 0, to-from)
		for _, o := range list[from:to] {
			run = append(run, o.out)
		}
		errs := in.opts.Carriers[first.source.Driver].Send(ctx, first.source, first.send.Destination, run)
		over := errors.Is(ctx.Err(), context.DeadlineExceeded)
		for k, o := range list[from:to] {
			outcomes = append(outcomes, outcome{outgoing: o, err: errs[k], late: over && errors.Is(errs[k], ErrNotTried)})
		}
		from = to
	}
	return outcomes
}

// settle records an outcome in the send, and reports whether the send is over: no repetition follows.
func (o *outcome) settle(s *deadletter.Send, atMostOnce bool, now task.Instant) (over bool) {
	switch {
	case errors.Is(o.err, errArrived):
		s.Arrived(o.send.Copies)
		return true
	case o.delivered():
		s.Delivered(o.repeated())
		return true
	case errors.Is(o.err, ErrUnknown) && atMostOnce:
		s.NoAnswer(o.err.Error(), now)
		s.GiveUp(o.err.Error())
		return true
	case errors.Is(o.err, ErrUnknown):
		return !s.NoAnswer(o.err.Error(), now)
	case errors.Is(o.err, ErrNotTried):
		until := now
		if !o.late {
			until = now.Add(untriedPause)
		}
		s.NotTried(o.err.Error(), until)
		return s.Copies == 0
	}
	return !s.Failed(o.err.Error(), errors.Is(o.err, ErrForGood), now)
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
			in.Observer.Sent(k.namespace, k.source, k.origin, k.result, n)
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

func retried(n desk.LetterNews, o *outcome, over bool, l *deadletter.Letter) {
	switch {
	case o.delivered():
		n.Add(deadletter.EventRetried, l, "")
	case over:
		n.Add(deadletter.EventRetried, l, desk.ItemMessage(o.err))
	}
}

// orphans is the time before which an unrecorded mark belongs to a process that has ended.
func (in *Inbox) orphans() task.Instant {
	before := in.Now().Add(-orphanAfter)
	if in.Alone {
		before = max(before, in.Begun-1)
	}
	return before
}

// sendBatch bounds the items marked, sent and recorded together; after a batch without a failure, twice as many.
const sendBatch = 500

// sendKey distinguishes sends of one kind: a letter may have two that are due.
type sendKey struct {
	owner task.ID
	no    int
}

func keyOf(s *deadletter.Send) sendKey { return sendKey{s.Owner, s.No} }

// recording records outcomes together, and in ever smaller parts if that fails. One that cannot be stored stays in
// flight and rests, so it does not keep others from being recorded.
func (in *Inbox) recording(ctx context.Context, rows *due.Rows[deadletter.Send, task.ID], outcomes []outcome,
	record func(context.Context, []outcome) error,
) error {
	of, sends := make(map[sendKey]outcome, len(outcomes)), make([]deadletter.Send, len(outcomes))
	for i, o := range outcomes {
		of[keyOf(&o.send)], sends[i] = o, o.send
	}
	err := rows.Try(ctx, in.Now(), sends, func(ctx context.Context, some []deadletter.Send) error {
		part := make([]outcome, len(some))
		for i := range some {
			part[i] = of[keyOf(&some[i])]
		}
		return record(ctx, part)
	})
	if due.OnlyRows(err) { // they rest, and the caller has handled its rows
		in.ObserveFailure(desk.ObservedSend, err)
		return nil
	}
	return err
}

// SentContent identifies messages by content alone: the hash of the payload, and the message ID or "".
type SentContent struct{ Content, MessageID string }
