// Package outbox sends what leaves the inbox: letters of redrives and policies, their copies, and failures of tasks
// that intakes made. A send is a row before it leaves, and its outcome has three values.
package outbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/letters"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/inbox/sources"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Outbox sends messages and records the outcomes.
type Outbox struct {
	*desk.Desk
	store    Store
	carriers seam.Carriers
	sources  *sources.Registry
	letters  *letters.Keeper

	dueLetters  *due.Rows[task.ID, task.ID]
	dueSends    *due.Rows[deadletter.Send, task.ID]
	dueFailures *due.Rows[deadletter.Send, task.ID]
}

// New returns an Outbox.
func New(d *desk.Desk, store Store, carriers seam.Carriers, sources *sources.Registry, letters *letters.Keeper,
) *Outbox {
	owner := func(s deadletter.Send) task.ID { return s.Owner }
	return &Outbox{d, store, carriers, sources, letters,
		desk.RowsOf(d.DB, "the letter", func(id task.ID) task.ID { return id }),
		desk.RowsOf(d.DB, "the send of letter", owner), desk.RowsOf(d.DB, "the failure of task", owner)}
}

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

// Turn is this process's right to send for a loop. Each write of the loop checks it, so a stalled process cannot
// overwrite its successor's work.
type Turn struct {
	in   *Outbox
	loop string
	no   int64
}

// LoopRedrives is the loop that advances redrives.
const LoopRedrives, loopDue, loopFailures = "redrives", "due", "failures"

// TakeTurn begins a turn of a loop.
func (in *Outbox) TakeTurn(ctx context.Context, loop string) (Turn, error) {
	t := Turn{in: in, loop: loop, no: rand.Int64()} //nolint:gosec // a name, and no secret
	return t, in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		return in.store.TakeTurn(ctx, tx, loop, t.no)
	})
}

// Holds returns desk.ErrTurnLost if another process has the turn; otherwise none can take it until the transaction
// ends.
func (t Turn) Holds(ctx context.Context, tx engine.Tx) error {
	has, err := t.in.store.HasTurn(ctx, tx, t.loop, t.no)
	if err == nil && !has {
		err = desk.ErrTurnLost
	}
	return err
}

type outgoing struct {
	Send   deadletter.Send
	Item   deadletter.Item // zero without a redrive
	source *deadletter.Source
	out    seam.Outgoing
}

func newOutgoing(send deadletter.Send, i deadletter.Item, l *deadletter.Letter, s *deadletter.Source,
	now task.Instant,
) outgoing {
	return outgoing{Send: send, Item: i, source: s, out: seam.Outgoing{Letter: l, SendID: sendID(&send),
		Content: lineage(l.Outgoing(), l, send.No, retryHeaders(s, l, send.No, now))}}
}

// sendID identifies a send for brokers that remember identifiers. The time distinguishes numbers that a restored
// database assigns again.
func sendID(s *deadletter.Send) string {
	return fmt.Sprint(s.Kind, " ", s.Owner, " ", s.No, " ", int64(s.Began))
}

// Outcome is a send with what became of it.
type Outcome struct {
	outgoing
	Err error
	// late: its turn came too late. It is sent next, whatever the state of its destination.
	late bool
}

func (o *Outcome) repeated() bool { return errors.Is(o.Err, seam.ErrRepeated) }

func (o *Outcome) delivered() bool {
	return o.Err == nil || o.repeated() || errors.Is(o.Err, errArrived)
}

// SendMarked sends marked messages and returns the outcomes in any order. A source sends in order; sources send
// concurrently, so a slow broker delays only its own.
func (in *Outbox) SendMarked(ctx context.Context, list []outgoing) []Outcome {
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
	return slices.Concat(desk.AtOnce(lanes, sendLanes, func(key deadletter.SourceKey) []Outcome {
		return in.sendInOrder(ctx, bySource[key])
	})...)
}

// sendInOrder sends messages of one source. Only neighbours with the same destination go together, to keep the order.
func (in *Outbox) sendInOrder(ctx context.Context, list []outgoing) (outcomes []Outcome) {
	for from := 0; from < len(list); {
		to, first := from+1, &list[from]
		for to < len(list) && list[to].Send.Destination == first.Send.Destination {
			to++
		}
		run := make([]seam.Outgoing, 0, to-from)
		for _, o := range list[from:to] {
			run = append(run, o.out)
		}
		errs := in.carriers[first.source.Driver].Send(ctx, first.source, first.Send.Destination, run)
		over := errors.Is(ctx.Err(), context.DeadlineExceeded)
		for k, o := range list[from:to] {
			outcomes = append(outcomes, Outcome{outgoing: o, Err: errs[k], late: over && errors.Is(errs[k], seam.ErrNotTried)})
		}
		from = to
	}
	return outcomes
}

// settle records an outcome in the send, and reports whether the send is over: no repetition follows.
func (o *Outcome) settle(s *deadletter.Send, atMostOnce bool, now task.Instant) (over bool) {
	switch {
	case errors.Is(o.Err, errArrived):
		s.Arrived(o.Send.Copies)
		return true
	case o.delivered():
		s.Delivered(o.repeated())
		return true
	case errors.Is(o.Err, seam.ErrUnknown) && atMostOnce:
		s.NoAnswer(o.Err.Error(), now)
		s.GiveUp(o.Err.Error())
		return true
	case errors.Is(o.Err, seam.ErrUnknown):
		return !s.NoAnswer(o.Err.Error(), now)
	case errors.Is(o.Err, seam.ErrNotTried):
		until := now
		if !o.late {
			until = now.Add(untriedPause)
		}
		s.NotTried(o.Err.Error(), until)
		return s.Copies == 0
	}
	return !s.Failed(o.Err.Error(), errors.Is(o.Err, seam.ErrForGood), now)
}

// observeSends must follow the commit of the record.
func (in *Outbox) observeSends(tx engine.Tx, outcomes []Outcome) {
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

func resultOf(o *Outcome) string {
	switch {
	case errors.Is(o.Err, seam.ErrNotTried):
		return "not_tried"
	case errors.Is(o.Err, seam.ErrUnknown):
		return "unknown"
	case o.delivered():
		return "sent"
	}
	return "failed"
}

func retried(n desk.LetterNews, o *Outcome, over bool, l *deadletter.Letter) {
	switch {
	case o.delivered():
		n.Add(deadletter.EventRetried, l, "")
	case over:
		n.Add(deadletter.EventRetried, l, desk.ItemMessage(o.Err))
	}
}

// orphans is the time before which an unrecorded mark belongs to a process that has ended.
func (in *Outbox) orphans() task.Instant {
	before := in.Now().Add(-orphanAfter)
	if in.Alone {
		before = max(before, in.Begun-1)
	}
	return before
}

// SendBatch bounds the items marked, sent and recorded together; after a batch without a failure, twice as many.
const SendBatch = 500

// sendKey distinguishes sends of one kind: a letter may have two that are due.
type sendKey struct {
	owner task.ID
	no    int
}

func keyOf(s *deadletter.Send) sendKey { return sendKey{s.Owner, s.No} }

// recording records outcomes together, and in ever smaller parts if that fails. One that cannot be stored stays in
// flight and rests, so it does not keep others from being recorded.
func (in *Outbox) recording(ctx context.Context, rows *due.Rows[deadletter.Send, task.ID], outcomes []Outcome,
	record func(context.Context, []Outcome) error,
) error {
	of, sends := make(map[sendKey]Outcome, len(outcomes)), make([]deadletter.Send, len(outcomes))
	for i, o := range outcomes {
		of[keyOf(&o.Send)], sends[i] = o, o.Send
	}
	err := rows.Try(ctx, in.Now(), sends, func(ctx context.Context, some []deadletter.Send) error {
		part := make([]Outcome, len(some))
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
