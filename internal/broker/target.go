package broker

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Outcome is the result of sending a message.
type Outcome string

// The outcomes.
const (
	Sent        Outcome = "sent"        // confirmed by the broker
	Failed      Outcome = "failed"      // permanently: no such destination, too large, refused
	Unavailable Outcome = "unavailable" // not sent; a later try may succeed
	Untried     Outcome = "untried"     // not begun; the message is not at fault
	Uncertain   Outcome = "uncertain"   // written, without an answer
)

// Result is the result for one message. Err is nil only for Sent.
type Result struct {
	Outcome Outcome
	Err     error
	// Repeated: an earlier try of a Sent message had no answer. Its broker remembers sends; if it has lost that
	// meanwhile, the message was added twice.
	Repeated bool
}

// ErrOpen means: the circuit breaker of a target is open.
var ErrOpen = errors.New("the circuit breaker is open")

// TargetOptions configures a target. Zero fields have defaults.
type TargetOptions struct {
	// Batch bounds the messages of a driver's call; driver.BatchBytes bounds its bytes. Defaults to 500.
	Batch int
	// Tries bounds the tries of a message with transient failures, with the first. Defaults to 4.
	Tries int
	// Each bounds one try of one message; see driver.Limits. Defaults to driver.MessageTime.
	Each time.Duration
	// After BreakAfter failures of whole tries in a row the circuit breaker opens for BreakFor. Default: 5, 10 s.
	BreakAfter int
	BreakFor   time.Duration
	// MaxPause bounds the pause between tries. Defaults to 5 s.
	MaxPause time.Duration
	Now      func() time.Time
}

// Target sends messages to the queues of one broker. It is safe for concurrent use.
type Target struct {
	link    *link
	opts    TargetOptions
	breaker *breaker
	monitor *monitor
}

// NewTarget returns a target, which connects on first use.
func NewTarget(dial Dial, o *TargetOptions) *Target {
	t := &Target{link: newLink(dial)}
	if o != nil {
		t.opts = *o
	}
	t.opts.Batch = cmp.Or(t.opts.Batch, 500)
	t.opts.Tries = cmp.Or(t.opts.Tries, 4)
	t.opts.Each = cmp.Or(t.opts.Each, driver.MessageTime)
	t.opts.MaxPause = cmp.Or(t.opts.MaxPause, 5*time.Second)
	if t.opts.Now == nil {
		t.opts.Now = time.Now
	}
	t.breaker = &breaker{limit: cmp.Or(t.opts.BreakAfter, 5), open: cmp.Or(t.opts.BreakFor, 10*time.Second)}
	t.monitor = newMonitor(t.opts.Now, Connecting)
	return t
}

// Status is Blocked while the circuit breaker is open.
func (t *Target) Status() Status { return t.monitor.get() }

// Breaker returns the state of the circuit breaker of sends.
func (t *Target) Breaker() task.BreakerState { return t.breaker.state(t.opts.Now()) }

// Close closes the connection. Sends under way fail.
func (t *Target) Close() error { return t.link.close() }

func ask[T any](ctx context.Context, t *Target, question func(driver.Driver) (T, error)) (answer T, err error) {
	d, err := t.link.get(ctx)
	if err != nil {
		return answer, err
	}
	if answer, err = question(d); errors.Is(err, driver.ErrLost) {
		t.link.drop(d)
	}
	return answer, err
}

// Stat reports whether a destination exists, and how many messages wait in it; -1 where the broker does not say.
func (t *Target) Stat(ctx context.Context, destination string) (exists bool, depth int64, err error) {
	exists, err = ask(ctx, t, func(d driver.Driver) (exists bool, err error) {
		exists, depth, err = d.Stat(ctx, destination)
		return exists, err
	})
	return exists, depth, err
}

// Lag returns how far readers are behind in each part of a queue; nil without parts.
func (t *Target) Lag(ctx context.Context, queue string) ([]driver.PartitionLag, error) {
	return ask(ctx, t, func(d driver.Driver) ([]driver.PartitionLag, error) { return d.Lag(ctx, queue) })
}

// LogParts returns the parts of a queue's log; see driver.Driver.
func (t *Target) LogParts(ctx context.Context, queue string, since, before time.Time) ([]driver.LogPart, error) {
	return ask(ctx, t, func(d driver.Driver) ([]driver.LogPart, error) {
		return d.LogParts(ctx, queue, since, before)
	})
}

// ReadLog reads messages of a part of a queue; see driver.Driver.
func (t *Target) ReadLog(ctx context.Context, queue string, part driver.LogPart, max int) (entries []driver.Entry,
	next int64, err error,
) {
	next = part.From
	entries, err = ask(ctx, t, func(d driver.Driver) (entries []driver.Entry, err error) {
		entries, next, err = d.ReadLog(ctx, queue, part, max)
		return entries, err
	})
	return entries, next, err
}

// Send sends messages to a destination in order, retries transient failures, and returns a result for each once all are
// decided. After until, unless zero, it begins none: those are Untried. A begun message has the time of a message; when
// ctx ends it is Uncertain. To keep the order within a key, Send sends no message behind one that is Uncertain or
// failed transiently; those are Untried too.
func (t *Target) Send(ctx context.Context, destination string, messages []driver.Message, until time.Time) []Result {
	s := &sending{target: t, destination: destination, messages: messages, results: make([]Result, len(messages)),
		limits: driver.Limits{Until: until, Each: t.opts.Each}, turn: ctx, held: map[string]bool{},
		doubtful: map[int]bool{}}
	if !until.IsZero() {
		var cancel context.CancelFunc
		s.turn, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	for begin := 0; begin < len(messages); {
		end, size := begin, 0
		for end < len(messages) && end-begin < t.opts.Batch && (size == 0 || size < driver.BatchBytes) {
			size += messages[end].Size()
			end++
		}
		s.batch(ctx, begin, end)
		begin = end
	}
	return s.results
}

func (t *Target) record(ctx context.Context, sent int, err error) {
	if err != nil && ctx.Err() != nil {
		t.breaker.forget()
		return
	}
	t.breaker.record(err == nil, t.opts.Now())
	switch {
	case err == nil:
		t.monitor.done(sent)
	case t.breaker.closed():
		t.monitor.fail(Lost, err)
	default:
		t.monitor.fail(Blocked, err)
	}
}
