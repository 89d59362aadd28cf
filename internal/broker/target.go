package broker

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Outcome is what became of a message that was to be sent.
type Outcome string

// The outcomes.
const (
	Sent        Outcome = "sent"        // the broker has confirmed it
	Failed      Outcome = "failed"      // it was not sent, and cannot be: no such destination, too large, refused
	Unavailable Outcome = "unavailable" // it was not sent; a later try may succeed
	Untried     Outcome = "untried"     // it was not begun; that says nothing against it
	Uncertain   Outcome = "uncertain"   // it was written, and the answer is missing
)

// Result is what became of one message. Err says why it was not sent; it is nil for Sent only.
type Result struct {
	Outcome Outcome
	Err     error
	// Repeated: an earlier try of a message that is Sent had no answer. Its broker remembers what was sent, unless it has
	// lost that in the meantime: then the message was added twice.
	Repeated bool
}

// ErrOpen is why nothing is sent while the circuit breaker of a target is open.
var ErrOpen = errors.New("the circuit breaker is open")

// TargetOptions configures a target. Zero fields have defaults.
type TargetOptions struct {
	// Batch bounds what the driver gets at a time, in messages; driver.BatchBytes bounds its bytes. Defaults to 500.
	Batch int
	// Tries bounds the tries of a message that fails for a moment, the first included. Defaults to 4.
	Tries int
	// Each bounds one try of one message; see driver.Limits. Defaults to driver.MessageTime.
	Each time.Duration
	// After BreakAfter tries in a row that failed as a whole the circuit breaker opens for BreakFor. Default: 5, 10 s.
	BreakAfter int
	BreakFor   time.Duration
	// MaxPause bounds the pause between tries. Defaults to 5 s.
	MaxPause time.Duration
	// Now is the clock of the breaker and the status. Defaults to time.Now.
	Now func() time.Time
}

// Target sends messages to the queues of one broker. It is safe for concurrent use.
type Target struct {
	link    *link
	opts    TargetOptions
	breaker *breaker
	monitor *monitor
}

// NewTarget returns a target that connects with dial when it first has something to send.
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

// Status returns how the target is doing; Blocked means that its circuit breaker is open.
func (t *Target) Status() Status { return t.monitor.get() }

// Breaker returns the state of the circuit breaker of sends.
func (t *Target) Breaker() task.BreakerState { return t.breaker.state(t.opts.Now()) }

// Close closes the connection. Sends that are under way fail.
func (t *Target) Close() error { return t.link.close() }

// ask asks the broker, and drops a connection that turns out to be lost.
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

// Lag returns how far its readers are behind in each part of a queue; nil where queues have no parts.
func (t *Target) Lag(ctx context.Context, queue string) ([]driver.PartitionLag, error) {
	return ask(ctx, t, func(d driver.Driver) ([]driver.PartitionLag, error) { return d.Lag(ctx, queue) })
}

// LogParts returns what the parts of a queue hold; see driver.Driver.
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

// Send sends messages to a destination in their order, tries again what fails for a moment, and returns a result for
// each once all are decided. It begins none after until, unless that is zero: those are Untried. What was begun has the
// time of a message; when ctx ends it is Uncertain. To keep the order within a key, Send sends no message behind one
// that is Uncertain or was not sent for a reason that may pass; those are Untried, too.
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

// record counts a try that was allowed by the breaker. err is why it failed as a whole, nil if it did not.
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
