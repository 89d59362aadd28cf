package rabbitmq

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/rabbitmq/amqp091-go"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

// Bounds of the prefetch. It begins low: RabbitMQ counts messages, not bytes, so large messages would fill the memory.
const (
	firstPrefetch = 32
	leastPrefetch = 4
	mostPrefetch  = 65535
)

// receiver consumes from a queue. A goroutine reads from the server, so that Receive finds all that has come.
type receiver struct {
	driver.BasicReceiver
	conn  *conn
	queue string
	ch    *amqp091.Channel

	ended chan struct{} // closed when nothing more comes
	wake  chan struct{} // has a token when there may be something

	prefetch int
	tag      int
	held     []uint64 // delivered to the caller and unacknowledged, ascending
	left     int      // of held: they stay on the server, outside of the prefetch
	average  int      // bytes of a message

	here atomic.Int64 // unacknowledged messages from the server

	mu     sync.Mutex
	buffer []amqp091.Delivery // not yet received by the caller
	pumps  sync.WaitGroup
	err    error
}

// receipt is a delivery. Its tag is valid only on the channel of its receiver.
type receipt struct {
	receiver *receiver
	tag      uint64
}

// Open implements driver.Driver. It does not declare the queue, which belongs to others.
func (c *conn) Open(ctx context.Context, queue string) (driver.Receiver, error) {
	ch, err := c.channel(ctx)
	if err != nil {
		return nil, err
	}
	r := &receiver{conn: c, queue: queue, ch: ch, ended: make(chan struct{}), wake: make(chan struct{}, 1)}
	closed := ch.NotifyClose(make(chan *amqp091.Error, 1))
	cancelled := ch.NotifyCancel(make(chan string, 1))
	r.prefetch = firstPrefetch
	if c.prefetch > 0 {
		r.prefetch = c.prefetch
	}
	if err := c.Await(ctx, r.consume); err != nil {
		_ = c.Await(ctx, ch.Close)
		r.pumps.Wait()
		return nil, c.classify(err)
	}
	go r.watch(closed, cancelled)
	return r, nil
}

func (r *receiver) consume() error {
	if err := r.qos(); err != nil {
		return err
	}
	r.tag++
	deliveries, err := r.ch.Consume(r.queue, "tasker-"+strconv.Itoa(r.tag), false, false, false, false, nil)
	if err != nil {
		return err
	}
	r.pumps.Go(func() {
		for d := range deliveries {
			r.here.Add(1)
			r.mu.Lock()
			r.buffer = append(r.buffer, d)
			r.mu.Unlock()
			r.signal()
		}
	})
	return nil
}

// qos sets the prefetch, on top of left messages.
func (r *receiver) qos() error { return r.ch.Qos(min(r.prefetch+r.left, mostPrefetch), 0, false) }

func (r *receiver) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *receiver) watch(closed chan *amqp091.Error, cancelled chan string) {
	var err error
	select {
	case of, ok := <-closed:
		switch {
		case !ok:
			err = driver.ErrClosed
		case of.Code == amqp091.PreconditionFailed:
			err = fmt.Errorf("%w: %w", driver.ErrLost, of)
		default:
			err = fmt.Errorf("%w: the server has closed the channel: %w", driver.ErrLost, of)
		}
	case _, ok := <-cancelled:
		if err = driver.ErrClosed; ok {
			err = fmt.Errorf("%w: the queue was deleted, or its node has failed", driver.ErrLost)
		}
	}
	r.end(err)
}

func (r *receiver) end(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
		close(r.ended)
	}
}

func (r *receiver) Receive(ctx context.Context, max int) ([]driver.Message, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r.mu.Lock()
		err, waiting := r.err, len(r.buffer)
		r.mu.Unlock()
		switch {
		case err != nil:
			return nil, err
		case waiting > 0:
			return r.take(ctx, max), nil
		case len(r.held)-r.left >= r.prefetch && r.conn.prefetch == 0: // the caller wants more than the prefetch
			r.consumeAgain(ctx, min(2*(len(r.held)-r.left), mostPrefetch))
			continue
		}
		select {
		case <-r.wake:
		case <-r.ended:
		case <-ctx.Done():
		}
	}
}

func (r *receiver) take(ctx context.Context, most int) []driver.Message {
	r.mu.Lock()
	full := len(r.held)-r.left+len(r.buffer) >= r.prefetch
	n, size := 0, 0
	for n < min(most, len(r.buffer)) && (n == 0 || size < driver.BatchBytes) {
		size += len(r.buffer[n].Body)
		n++
	}
	out := make([]driver.Message, n)
	for i := range out {
		out[i] = Received(r.queue, &r.buffer[i])
		out[i].Receipt = receipt{r, r.buffer[i].DeliveryTag}
		r.held = append(r.held, r.buffer[i].DeliveryTag)
	}
	clear(r.buffer[:n]) // so that they can be freed
	if r.buffer = r.buffer[n:]; len(r.buffer) == 0 {
		r.buffer = nil
	} else {
		r.signal()
	}
	r.mu.Unlock()
	r.adapt(ctx, most, size/n, full)
	return out
}

// adapt changes the prefetch with the size of messages: to two batches in bytes, or four in messages.
func (r *receiver) adapt(ctx context.Context, most, size int, full bool) {
	if r.average == 0 {
		r.average = size
	}
	r.average = max((3*r.average+size)/4, 1)
	want := min(max(2*driver.BatchBytes/r.average, leastPrefetch), max(4*most, firstPrefetch), mostPrefetch)
	if r.conn.prefetch > 0 || want <= 2*r.prefetch && want >= r.prefetch/2 || want > r.prefetch && !full ||
		want < r.prefetch && len(r.held)-r.left > want {
		return
	}
	r.consumeAgain(ctx, want)
}

// consumeAgain changes the prefetch. The order stays, as the next consumer begins after the end of the last. If the
// server is slow to answer, the connection is lost, which the next call reports.
func (r *receiver) consumeAgain(ctx context.Context, prefetch int) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), polite)
	defer cancel()
	err := r.conn.Await(bounded, func() error {
		if err := r.ch.Cancel("tasker-"+strconv.Itoa(r.tag), false); err != nil {
			return err
		}
		r.pumps.Wait()
		r.prefetch = prefetch
		return r.consume()
	})
	if err != nil {
		r.end(fmt.Errorf("%w: %w", driver.ErrLost, err))
	}
}

// Ack implements driver.Receiver. It ends with a question that has an answer, since AMQP does not answer
// acknowledgements.
func (r *receiver) Ack(ctx context.Context, messages []driver.Message) error {
	settled := make([]uint64, 0, len(messages))
	for i := range messages {
		of, ok := messages[i].Receipt.(receipt)
		if _, holds := slices.BinarySearch(r.held, of.tag); ok && of.receiver == r && holds {
			settled = append(settled, of.tag)
		}
	}
	if len(settled) == 0 {
		return r.failed()
	}
	slices.Sort(settled)
	settled = slices.Compact(settled)
	n := 0 // the first held ones: one acknowledgement is for all of them
	for n < len(settled) && settled[n] == r.held[n] {
		n++
	}
	err := r.conn.Await(ctx, func() error {
		for i := max(n-1, 0); i < len(settled); i++ {
			if err := r.ch.Ack(settled[i], i < n); err != nil {
				return err
			}
		}
		return r.qos()
	})
	if err != nil {
		if failed := r.failed(); failed != nil {
			return failed
		}
		return fmt.Errorf("%w: %w", driver.ErrLost, err)
	}
	r.here.Add(-int64(len(settled)))
	r.held = slices.DeleteFunc(r.held, func(tag uint64) bool {
		_, ok := slices.BinarySearch(settled, tag)
		return ok
	})
	return nil
}

// Leave implements driver.Receiver: the server keeps unacknowledged messages, and sends as many more. Qos applies to
// the next consumer only, so it opens one.
func (r *receiver) Leave(ctx context.Context, messages []driver.Message) (again bool, err error) {
	r.left += len(messages)
	r.consumeAgain(ctx, r.prefetch)
	return true, r.failed()
}

// Held implements driver.Receiver. RabbitMQ counts only messages not sent to anybody.
func (r *receiver) Held() int64 { return r.here.Load() }

func (r *receiver) failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Release implements driver.Receiver. It does nothing: Close gives back.
func (r *receiver) Release(context.Context, []driver.Message) error { return nil }

func (r *receiver) Close() error {
	r.end(driver.ErrClosed)
	ctx, cancel := context.WithTimeout(context.Background(), polite)
	defer cancel()
	_ = r.conn.Await(ctx, r.ch.Close) // if it fails, it was closed, or the connection is cut: both give back
	r.pumps.Wait()
	return nil
}
