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

// The outbox: a send is a row (deadletter.Send) before it leaves, and its outcome has three values. batch.go,
// failures.go and record.go (copies) write rows, deliver sends marked ones, and due.go repeats those without a known
// outcome.

// Outgoing is one message to send.
type Outgoing struct {
	// Letter is for what a broker needs beyond the content, such as the message ID. For a failure it has only the ID.
	Letter  *deadletter.Letter
	Content deadletter.Content
	SendID  string
}

// Sender sends letters to destinations of one kind of broker. It is safe for concurrent use.
type Sender interface {
	Exists(ctx context.Context, source *deadletter.Source, destination string) (bool, error)
	// Send sends messages in order and returns an error for each. nil and ErrRepeated confirm that the broker has it.
	// ErrUnknown: the broker may have it. ErrNotTried: it was not begun. Any other error is a refusal: the broker
	// certainly does not have it; with ErrForGood another try cannot succeed.
	//
	// Send begins no message after the deadline of ctx; those begun have their own time-out. Send abandons them when
	// ctx is cancelled.
	Send(ctx context.Context, source *deadletter.Source, destination string, letters []Outgoing) []error
}

// The outcomes of a send. Test with errors.Is.
var (
	// ErrUnknown: the message was written without an answer, and may have arrived.
	ErrUnknown = errors.New("the outcome of the send is not known")
	// ErrRepeated: confirmed after a try without an answer; it may be there twice.
	ErrRepeated = errors.New("it is confirmed after a try without an answer")
	// ErrNotTried: not begun, because its destination is down or slow; the message is not at fault.
	ErrNotTried = errors.New("not tried")
)

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

var errTurnLost = errors.New("another process has the turn")

func (in *Inbox) takeTurn(ctx context.Context, loop string) (turn, error) {
	t := turn{in: in, loop: loop, no: rand.Int64()} //nolint:gosec // a name, and no secret
	return t, in.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		return in.store.TakeTurn(ctx, tx, loop, t.no)
	})
}

// holds returns errTurnLost if another process has the turn; otherwise none can take it until the transaction ends.
func (t turn) holds(ctx context.Context, tx engine.Tx) error {
	has, err := t.in.store.HasTurn(ctx, tx, t.loop, t.no)
	if err == nil && !has {
		err = errTurnLost
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
