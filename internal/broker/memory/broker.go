package memory

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

// Options configures a broker. The zero value is useful.
type Options struct {
	// MaxSize bounds a message, in bytes; a larger one is refused. Defaults to 64 MiB.
	MaxSize int
	// NoPositions leaves the positions of messages empty, like RabbitMQ and Redis lists.
	NoPositions bool
	// KeepLog keeps every message, as a log that can be read again.
	KeepLog bool
	Now     func() time.Time
}

// Broker is a broker in memory, safe for concurrent use: one lock guards everything, and nothing blocks under it.
type Broker struct {
	opts Options

	mu     sync.Mutex
	queues map[string]*queue
	conns  map[*conn]struct{}
	faults faults
}

// New returns a broker without queues. It needs no closing.
func New(o *Options) *Broker {
	b := &Broker{queues: map[string]*queue{}, conns: map[*conn]struct{}{}}
	if o != nil {
		b.opts = *o
	}
	if b.opts.MaxSize == 0 {
		b.opts.MaxSize = 64 << 20
	}
	if b.opts.Now == nil {
		b.opts.Now = time.Now
	}
	return b
}

// Declare creates missing queues. Nothing else does, as on a broker without that permission.
func (b *Broker) Declare(names ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range names {
		if b.queues[name] == nil {
			b.queues[name] = &queue{name: name, wake: make(chan struct{})}
		}
	}
}

// Open connects to the broker. It is a driver.OpenFunc, and ignores the URL.
func (b *Broker) Open(ctx context.Context, _ string) (driver.Driver, error) {
	if err := b.reach(ctx); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	c := &conn{broker: b, receivers: map[*receiver]struct{}{}}
	b.conns[c] = struct{}{}
	return c, nil
}

// conn is a connection. The broker's mu guards it.
type conn struct {
	broker    *Broker
	err       error // nil while it is open
	receivers map[*receiver]struct{}
}

// with calls fn with a queue, under the lock. doing is for the error.
func (c *conn) with(ctx context.Context, doing, name string, fn func(*queue)) error {
	b := c.broker
	if err := b.reach(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	q := b.queues[name]
	if q == nil {
		return fmt.Errorf("%s %q: %w", doing, name, driver.ErrNotFound)
	}
	fn(q)
	return nil
}

func (c *conn) Open(ctx context.Context, name string) (driver.Receiver, error) {
	var r *receiver
	err := c.with(ctx, "open", name, func(q *queue) {
		r = &receiver{conn: c, queue: q, held: map[*entry]struct{}{}}
		c.receivers[r] = struct{}{}
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Send implements driver.Driver. The errors are nil if all are sent.
func (c *conn) Send(ctx context.Context, target string, messages []driver.Message, limits driver.Limits) []error {
	if ctx.Err() != nil || limits.Over() {
		return driver.Fail(len(messages), driver.ErrUntried)
	}
	each, cancel := limits.Message(ctx)
	defer cancel()
	var errs []error // nil as long as all are sent
	err := c.with(each, "send to", target, func(q *queue) {
		behind := map[string]bool{}
		now := c.broker.opts.Now()
		for i := range messages {
			err := c.broker.accept(q, &messages[i], behind, now)
			if err != nil && errs == nil {
				errs = make([]error, len(messages))
			}
			if errs != nil {
				errs[i] = err
			}
		}
		q.signal()
	})
	switch {
	case err != nil && each.Err() != nil:
		return driver.Fail(len(messages), fmt.Errorf("%w: %w", driver.ErrUncertain, err))
	case err != nil:
		return driver.Fail(len(messages), err)
	}
	return errs
}

// accept adds a message, unless a fault forbids it. After a failure, messages of the same key stay behind, so that a
// later one never overtakes it. The caller holds mu.
func (b *Broker) accept(q *queue, m *driver.Message, behind map[string]bool, now time.Time) error {
	if n := m.Size(); n > b.opts.MaxSize {
		return fmt.Errorf("send to %q: %w: %d bytes, at most %d", q.name, driver.ErrTooLarge, n, b.opts.MaxSize)
	}
	if m.Key != nil && behind[string(m.Key)] {
		return driver.ErrBehind
	}
	if err := b.faults.sends.next(); err != nil {
		if m.Key != nil {
			behind[string(m.Key)] = true
		}
		return err
	}
	// A lost confirmation after the message is in the queue makes a send uncertain.
	e := q.push(m, now)
	if b.opts.KeepLog {
		q.log = append(q.log, e)
	}
	return b.faults.confirms.next()
}

// Stat implements driver.Driver. It does not count received messages.
func (c *conn) Stat(ctx context.Context, name string) (exists bool, depth int64, err error) {
	err = c.with(ctx, "look at", name, func(q *queue) { depth = int64(len(q.waiting)) })
	if errors.Is(err, driver.ErrNotFound) {
		return false, 0, nil
	}
	return err == nil, depth, err
}

// Lag implements driver.Driver: a queue has one part.
func (c *conn) Lag(ctx context.Context, name string) ([]driver.PartitionLag, error) {
	exists, waiting, err := c.Stat(ctx, name)
	if err != nil || !exists {
		return nil, err
	}
	return []driver.PartitionLag{{Committed: -1, End: -1, Lag: waiting}}, nil
}

// Peek implements driver.Driver. Its messages have no receipt and cannot be acknowledged.
func (c *conn) Peek(ctx context.Context, name string, max int) (out []driver.Message, err error) {
	err = c.with(ctx, "peek at", name, func(q *queue) {
		for _, e := range q.waiting[:min(max, len(q.waiting))] {
			m := c.broker.deliver(e)
			m.Receipt = nil
			out = append(out, m)
		}
	})
	return out, err
}

// Close implements driver.Driver. Its receivers give back their messages.
func (c *conn) Close() error {
	c.broker.mu.Lock()
	defer c.broker.mu.Unlock()
	c.end(driver.ErrClosed)
	return nil
}

// end closes a connection and its receivers. The caller holds mu.
func (c *conn) end(reason error) {
	if c.err == nil {
		c.err = reason
	}
	delete(c.broker.conns, c)
	for r := range c.receivers {
		r.end(c.err)
	}
}
