package inbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// The outbox: all that is sent is a row (deadletter.Send) before it is sent, and its outcome has three values. Redrives
// and policies (batch.go) and failures of tasks (failures.go) write rows, and record.go those of copies; deliver sends
// what is marked; due.go sends once more what has no known outcome.

// Outgoing is one message to send.
type Outgoing struct {
	// Letter is what a broker needs beyond the content, such as the message ID. Of a failure it has the ID only.
	Letter  *deadletter.Letter
	Content deadletter.Content // with the headers of its lineage
	// SendID identifies the send; one that is tried again has the same.
	SendID string
}

// Sender sends letters to destinations of one kind of broker. It is safe for concurrent use.
type Sender interface {
	// Exists reports whether a destination exists.
	Exists(ctx context.Context, source *deadletter.Source, destination string) (bool, error)
	// Send sends messages in order and returns an error for each. nil confirms that the broker has it, as does
	// ErrRepeated. ErrUnknown reports one that the broker may have, and ErrNotTried one that it was not asked to take. Any
	// other error is a refusal: the broker certainly does not have it; ErrForGood beside it says that another try cannot
	// succeed.
	//
	// No message is begun after the deadline of ctx; those that are begun have a time of their own. Send gives them up
	// when ctx is cancelled.
	Send(ctx context.Context, source *deadletter.Source, destination string, letters []Outgoing) []error
}

// The outcomes of a send. Test with errors.Is.
var (
	// ErrUnknown: the message was written, and no answer came. It may have arrived, or not.
	ErrUnknown = errors.New("the outcome of the send is not known")
	// ErrRepeated: it is confirmed, and a try before had no answer. It may be there twice.
	ErrRepeated = errors.New("it is confirmed after a try without an answer")
	// ErrNotTried: it was not begun, because its destination is down or slow. It says nothing against the message.
	ErrNotTried = errors.New("not tried")
)

const (
	// sendTurn is how long a batch begins messages. The time of each of them is the carrier's.
	sendTurn = 5 * time.Second
	// orphanAfter is when a mark without a record was left by a process that has ended: longer than sendTurn and the time
	// of a message. A turn that was taken over writes nothing in any case.
	orphanAfter = 25 * time.Second
	// untriedPause is how long a message waits at least that was not tried. It is longer than a circuit breaker is open.
	untriedPause = 15 * time.Second
	// sendLanes bounds the sources whose messages are sent at the same time.
	sendLanes = 8
)

// turn is the right of this process to send what a loop has to send. Each write of the loop checks it, so a process
// that has stalled cannot overwrite what its successor has done.
type turn struct {
	in   *Inbox
	loop string
	no   int64
}

// The loops that send.
const loopRedrives, loopDue, loopFailures = "redrives", "due", "failures"

// errTurnLost is why a process stops: another one has taken its turn.
var errTurnLost = errors.New("another process has the turn")

// takeTurn ends the turn of any other process in a loop.
func (in *Inbox) takeTurn(ctx context.Context, loop string) (turn, error) {
	t := turn{in: in, loop: loop, no: rand.Int64()} //nolint:gosec // a name, and no secret
	return t, in.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		return in.store.TakeTurn(ctx, tx, loop, t.no)
	})
}

// holds returns errTurnLost if another process has taken the turn; else none can until the transaction ends.
func (t turn) holds(ctx context.Context, tx engine.Tx) error {
	has, err := t.in.store.HasTurn(ctx, tx, t.loop, t.no)
	if err == nil && !has {
		err = errTurnLost
	}
	return err
}

// outgoing is a message that is marked, with the way it takes.
type outgoing struct {
	send   deadletter.Send
	item   deadletter.Item // of the redrive; zero for others
	source *deadletter.Source
	out    Outgoing
}

// newOutgoing returns a letter that is marked.
func newOutgoing(send deadletter.Send, i deadletter.Item, l *deadletter.Letter, s *deadletter.Source,
	now task.Instant,
) outgoing {
	return outgoing{send: send, item: i, source: s, out: Outgoing{Letter: l, SendID: sendID(&send),
		Content: lineage(l.Outgoing(), l, send.No, retryHeaders(s, l, send.No, now))}}
}

// sendID identifies a send for brokers that remember what was sent. A database that was restored gives out numbers
// again that were used; the time tells them apart.
func sendID(s *deadletter.Send) string {
	return fmt.Sprint(s.Kind, " ", s.Owner, " ", s.No, " ", int64(s.Began))
}

// outcome is what became of a message.
type outcome struct {
	outgoing
	err error
	// late: its turn did not come in time. It is sent next, whatever the state of its destination.
	late bool
}

// repeated reports whether the outcome is a confirmation after a try without an answer.
func (o *outcome) repeated() bool { return errors.Is(o.err, ErrRepeated) }

// delivered reports whether the outcome is a confirmation, or a proof that a try before has arrived.
func (o *outcome) delivered() bool {
	return o.err == nil || o.repeated() || errors.Is(o.err, errArrived)
}

// deliver sends what is marked, and returns the outcomes in any order. Messages of one source are sent in their order,
// and sources beside each other: one whose broker is slow takes no time from others.
func (in *Inbox) deliver(ctx context.Context, list []outgoing) []outcome {
	began := time.Now()
	defer func() { in.opts.Observer.Took(observedSend, time.Since(began)) }()
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
	return slices.Concat(atOnce(lanes, sendLanes, func(key deadletter.SourceKey) []outcome {
		return in.sendInOrder(ctx, bySource[key])
	})...)
}

// atOnce does something to the entries of a list, so many at a time, and returns the results in their order.
func atOnce[T, R any](list []T, many int, do func(T) R) []R {
	results, room := make([]R, len(list)), make(chan struct{}, many)
	var all sync.WaitGroup
	for i, entry := range list {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			results[i] = do(entry)
		})
	}
	all.Wait()
	return results
}

// sendInOrder sends messages of one source. Neighbours with the same destination go to the carrier together; the order
// is kept, which is why others are not grouped.
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

// settle records an outcome in the send. It reports whether the send is over: what is not sent once more by itself.
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
