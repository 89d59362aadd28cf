package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/clock"
)

// CaptureFunc stores a batch of messages, all or nothing, and returns once that is durable. A message may come again: a
// broker delivers at least once. An error stores nothing; the batch, or its messages in other batches, come again.
type CaptureFunc func(ctx context.Context, batch []driver.Message) error

// SourceOptions configures a source. Zero fields have defaults.
type SourceOptions struct {
	// Batch bounds a batch, in messages; driver.BatchBytes bounds its bytes. Defaults to 500.
	Batch int
	// Linger is how long a batch waits for more messages after its first. Defaults to 50 ms.
	Linger time.Duration
	// Hold is how long a batch that cannot be captured is kept before the broker gets it back. Giving back is not free:
	// a quorum queue of RabbitMQ drops a message that was delivered too often. Defaults to 20 minutes, below the 30 after
	// which RabbitMQ takes back what nobody acknowledges.
	Hold time.Duration
	// Connect bounds one try to connect. Defaults to 30 s.
	Connect time.Duration
	// Drain is how long a capture may go on after the end of Run's context. Defaults to 10 s.
	Drain time.Duration
	// Now is the clock of the status. Defaults to time.Now.
	Now func() time.Time
}

// Source receives from one queue. See Run.
type Source struct {
	dial    Dial
	queue   string
	opts    SourceOptions
	monitor *monitor
}

// NewSource returns a source that connects with dial. It does nothing before Run.
func NewSource(dial Dial, queue string, o *SourceOptions) *Source {
	s := &Source{dial: dial, queue: queue}
	if o != nil {
		s.opts = *o
	}
	s.opts.Batch = cmp.Or(s.opts.Batch, 500)
	s.opts.Linger = cmp.Or(s.opts.Linger, 50*time.Millisecond)
	s.opts.Hold = cmp.Or(s.opts.Hold, 20*time.Minute)
	s.opts.Connect = cmp.Or(s.opts.Connect, 30*time.Second)
	s.opts.Drain = cmp.Or(s.opts.Drain, 10*time.Second)
	if s.opts.Now == nil {
		s.opts.Now = time.Now
	}
	s.monitor = newMonitor(s.opts.Now, Stopped)
	return s
}

// Status returns how the source is doing. It may be called at any time.
func (s *Source) Status() Status { return s.monitor.get() }

// Run receives batches and gives them to capture, one at a time, until ctx ends; then it returns nil. A batch is
// acknowledged after its capture, and never without. When a capture fails Run receives nothing more, and tries again
// with growing pauses. When the connection is lost, or the queue does not exist, Run connects again with growing
// pauses.
//
// When ctx ends, a capture that is under way may end, its batch is acknowledged, and all else goes back to the broker.
// Run is not called twice at a time.
func (s *Source) Run(ctx context.Context, capture CaptureFunc) error {
	s.monitor.enter(Connecting)
	defer s.monitor.enter(Stopped)
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		_ = clock.Sleep(work, s.opts.Drain)
		cancel()
	})()
	failures := 0
	for ctx.Err() == nil {
		before := s.monitor.get().Messages
		err := s.session(ctx, work, capture)
		if ctx.Err() != nil {
			break
		}
		if s.monitor.get().Messages > before {
			failures = 0
		}
		failures++
		state := Lost
		if errors.Is(err, errCapture) {
			state = Blocked
		}
		s.monitor.fail(state, err)
		if pause(ctx, failures, maxPause) != nil {
			break
		}
	}
	return nil
}

// errCapture marks the end of a session whose batch could not be captured.
var errCapture = errors.New("capture")

// session connects and receives until something fails or ctx ends. Work goes on a little longer than ctx.
func (s *Source) session(ctx, work context.Context, capture CaptureFunc) error {
	bounded, cancel := context.WithTimeout(ctx, s.opts.Connect)
	defer cancel()
	d, err := s.dial(bounded)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // what it fails with was not needed any more
	r, err := d.Open(bounded, s.queue)
	if err != nil {
		return fmt.Errorf("receive from %q: %w", s.queue, err)
	}
	defer func() { _ = r.Close() }()
	s.monitor.enter(Connected)
	for {
		batch, err := s.receive(ctx, r)
		if err != nil {
			return fmt.Errorf("receive from %q: %w", s.queue, err)
		}
		if err := s.capture(ctx, work, capture, batch); err != nil {
			_ = r.Release(work, batch) // if it fails, closing gives back as well
			return err
		}
		if err := r.Ack(work, batch); err != nil {
			return fmt.Errorf("acknowledge %d messages from %q: %w", len(batch), s.queue, err)
		}
		s.monitor.done(len(batch))
	}
}

// receive returns the next batch: it waits for a first message, and then a moment for more.
func (s *Source) receive(ctx context.Context, r driver.Receiver) ([]driver.Message, error) {
	batch, err := r.Receive(ctx, s.opts.Batch)
	if err != nil {
		return nil, err
	}
	if len(batch) == 0 {
		return nil, errors.New("the driver returned neither a message nor an error")
	}
	linger, cancel := context.WithTimeout(ctx, s.opts.Linger)
	defer cancel()
	for len(batch) < s.opts.Batch && sizeOf(batch) < driver.BatchBytes {
		more, err := r.Receive(linger, s.opts.Batch-len(batch))
		if err != nil || len(more) == 0 {
			break // if it is more than the end of the moment, the next call says so again
		}
		batch = append(batch, more...)
	}
	return batch, nil
}

// capture captures a batch, and tries again until it succeeds, ctx ends or the batch was held long enough.
func (s *Source) capture(ctx, work context.Context, capture CaptureFunc, batch []driver.Message) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	held, cancel := context.WithTimeout(ctx, s.opts.Hold)
	defer cancel()
	for failures := 1; ; failures++ {
		err := capture(work, batch)
		if err == nil {
			return nil
		}
		err = fmt.Errorf("%w %d messages from %q: %w", errCapture, len(batch), s.queue, err)
		s.monitor.fail(Blocked, err)
		if pause(held, failures, maxPause) != nil {
			return err
		}
	}
}

// sizeOf returns about how many bytes messages have.
func sizeOf(messages []driver.Message) int {
	n := 0
	for i := range messages {
		n += messages[i].Size()
	}
	return n
}
