package broker

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/kit/clock"
)

// CaptureFunc decodes a batch, and returns a function that stores it durably, all or nothing. After an error that is
// called again, or the messages come again in other batches: a broker delivers at least once. A batch may be decoded
// while the one before is stored.
type CaptureFunc func(batch []driver.Message) (store func(ctx context.Context) error)

// ErrNotStored is wrapped by an error of the store function after which certainly nothing is stored. After others the
// batch may be: the answer to the commit may have been lost.
var ErrNotStored = errors.New("nothing was stored")

// SourceOptions configures a source. Zero fields have defaults.
type SourceOptions struct {
	// Batch bounds the messages of a batch; driver.BatchBytes bounds its bytes. Defaults to 500.
	Batch int
	// MaxBytes bounds a captured message; 0 is no bound. Left records larger ones: once it returns nil the source moves
	// on, and they stay on their broker. Some come again, after Hold at the latest.
	MaxBytes int
	Left     func(ctx context.Context, messages []driver.Left) error
	// Linger is how long a batch waits for more messages. Defaults to 50 ms.
	Linger time.Duration
	// Hold is how long a batch that cannot be captured is kept before the broker gets it back: a quorum queue of
	// RabbitMQ drops a message after too many deliveries. Defaults to 20 minutes; RabbitMQ takes it back after 30.
	Hold time.Duration
	// Connect bounds one try to connect. Defaults to 30 s.
	Connect time.Duration
	// Drain bounds a capture after the end of Run's context. Defaults to 10 s.
	Drain time.Duration
	Now   func() time.Time
}

// Source receives from one queue. See Run.
type Source struct {
	dial    Dial
	queue   string
	opts    SourceOptions
	monitor *monitor
	holder  atomic.Pointer[driver.Receiver] // of the session
}

// NewSource returns a source. It does nothing before Run.
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

// Held counts unacknowledged messages from the broker. ok is false where the broker counts them itself, and without a
// connection. It may be called at any time.
func (s *Source) Held() (n int64, ok bool) {
	if h := s.holder.Load(); h != nil {
		n = (*h).Held()
		return max(n, 0), n >= 0
	}
	return 0, false
}

// Status may be called at any time.
func (s *Source) Status() Status { return s.monitor.get() }

// Run receives batches and captures them in order until ctx ends; then it returns nil. It stores one batch at a time,
// and receives the next one meanwhile if that one is full. It acknowledges a batch only after it is stored. If the
// capture fails, the connection is lost or the queue does not exist, Run stops receiving, and retries with growing
// pauses. The status counts messages that the broker deleted before they were received.
//
// When ctx ends, a capture under way may end and is acknowledged, and all else goes back to the broker. Concurrent
// calls are not allowed.
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
		if errors.Is(err, errAgain) {
			continue
		}
		failures++
		state := Lost
		if errors.Is(err, errCapture) {
			state = Blocked
		}
		if n := driver.Lost(err); n > 0 {
			s.monitor.gone(n, err)
		}
		s.monitor.fail(state, err)
		if pause(ctx, failures, maxPause) != nil {
			break
		}
	}
	return nil
}

// errCapture marks the end of a session whose batch could not be captured; errUnsure that it may have been stored.
var (
	errCapture = errors.New("capture")
	errUnsure  = fmt.Errorf("%w", errCapture)
)

// session connects and receives until something fails or ctx ends. Work ends a little later.
func (s *Source) session(ctx, work context.Context, capture CaptureFunc) error {
	bounded, cancel := context.WithTimeout(ctx, s.opts.Connect)
	defer cancel()
	d, err := s.dial(bounded)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	r, err := d.Open(bounded, s.queue)
	if err != nil {
		return fmt.Errorf("receive from %q: %w", s.queue, err)
	}
	defer func() { _ = r.Close() }()
	holds, err := s.takeBack(work, r)
	if err != nil {
		return err
	}
	s.holder.Store(&r)
	defer s.holder.Store(nil)
	s.monitor.enter(Connected)
	until, end := context.WithCancel(ctx)
	defer end()
	hold := time.AfterFunc(never, end)
	defer hold.Stop()
	if holds {
		hold.Reset(s.opts.Hold)
	}
	receiver, decode := rand.Text(), capture
	capture = func(batch []driver.Message) func(context.Context) error {
		for i := range batch {
			batch[i].Receiver = receiver
		}
		return decode(batch)
	}
	var next decoded
	for {
		if next.size() == 0 {
			if next, err = s.receive(until, r, capture); err != nil {
				if until.Err() != nil && ctx.Err() == nil {
					return errAgain
				}
				return fmt.Errorf("receive from %q: %w", s.queue, err)
			}
		}
		var again bool
		if next, again, err = s.settle(ctx, work, r, next, capture); err != nil {
			return err
		}
		if again && !holds {
			holds = true
			hold.Reset(s.opts.Hold)
		}
	}
}

const never = 1 << 62

// settle captures and acknowledges a batch. It returns the next one, if there is one already, and whether a left
// message comes again.
func (s *Source) settle(ctx, work context.Context, r driver.Receiver, now decoded, capture CaptureFunc) (
	next decoded, again bool, err error,
) {
	if next, err = s.captureAhead(ctx, work, r, now, capture); err != nil {
		if errors.Is(err, errUnsure) {
			r.Keep(now.batch)
		}
		// If it fails, closing gives back as well.
		_ = r.Release(work, slices.Concat(now.batch, now.large, next.batch, next.large))
		return next, false, err
	}
	if len(now.batch) > 0 {
		if err := r.Ack(work, now.batch); err != nil {
			return next, false, fmt.Errorf("acknowledge %d messages from %q: %w", len(now.batch), s.queue, err)
		}
	}
	if again, err = s.leave(work, r, now.large); err != nil {
		return next, false, err
	}
	s.monitor.done(len(now.batch))
	return next, again, nil
}

// captureAhead stores a batch. While it stores a full one, it receives and decodes the next, and returns that, also
// with an error. Only this goroutine uses the receiver.
func (s *Source) captureAhead(ctx, work context.Context, r driver.Receiver, now decoded, capture CaptureFunc) (
	next decoded, err error,
) {
	if now.size() < s.opts.Batch && sizeOf(now.batch)+sizeOf(now.large) < driver.BatchBytes {
		return next, s.capture(ctx, work, now)
	}
	ahead, enough := context.WithCancel(ctx)
	stored := make(chan error, 1)
	go func() {
		defer enough()
		stored <- s.capture(ctx, work, now)
	}()
	// The next call returns a lasting error again.
	next, _ = s.receive(ahead, r, capture)
	return next, <-stored
}

func (s *Source) receive(ctx context.Context, r driver.Receiver, capture CaptureFunc) (decoded, error) {
	batch, err := r.Receive(ctx, s.opts.Batch)
	if err != nil {
		return decoded{}, err
	}
	if len(batch) == 0 {
		return decoded{}, errors.New("the driver returned neither a message nor an error")
	}
	linger, cancel := context.WithTimeout(ctx, s.opts.Linger)
	defer cancel()
	for len(batch) < s.opts.Batch && sizeOf(batch) < driver.BatchBytes {
		more, err := r.Receive(linger, s.opts.Batch-len(batch))
		if err != nil || len(more) == 0 {
			break // the next call returns a lasting error again
		}
		batch = append(batch, more...)
	}
	return s.decode(batch, capture), nil
}

func (s *Source) capture(ctx, work context.Context, of decoded) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	held, cancel := context.WithTimeout(ctx, s.opts.Hold)
	defer cancel()
	kind := errCapture
	for failures := 1; ; failures++ {
		err := of.store(work)
		if err == nil {
			return nil
		}
		if !errors.Is(err, ErrNotStored) {
			kind = errUnsure
		}
		err = fmt.Errorf("%w %d messages from %q: %w", kind, of.size(), s.queue, err)
		s.monitor.fail(Blocked, err)
		if pause(held, failures, maxPause) != nil {
			return err
		}
	}
}

func sizeOf(messages []driver.Message) int {
	n := 0
	for i := range messages {
		n += messages[i].Size()
	}
	return n
}
