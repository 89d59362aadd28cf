package memory

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

// receiver is guarded by the broker's mu.
type receiver struct {
	driver.BasicReceiver
	conn  *conn
	queue *queue
	err   error // nil while it is open
	held  map[*entry]struct{}
	again []driver.Message
	gone  []*entry // acknowledged, but back when the receiver closes
}

// Receive implements driver.Receiver. One lock covers the look at the queue and the channel to wait for.
func (r *receiver) Receive(ctx context.Context, max int) ([]driver.Message, error) {
	b := r.conn.broker
	for {
		if err := b.reach(ctx); err != nil {
			return nil, err
		}
		messages, wake, err := r.tryReceive(max)
		if err != nil || len(messages) > 0 {
			return messages, err
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (r *receiver) tryReceive(max int) ([]driver.Message, <-chan struct{}, error) {
	b := r.conn.broker
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.err != nil {
		return nil, nil, r.err
	}
	if len(r.again) == 0 && len(r.queue.waiting) == 0 {
		return nil, r.queue.wake, nil
	}
	// Only a call that would deliver counts as a failed receive.
	if err := b.faults.receives.next(); err != nil {
		return nil, nil, err
	}
	// Second deliveries come before new messages, as close to the first as possible.
	n := min(max, len(r.again))
	out := slices.Clone(r.again[:n])
	r.again = r.again[n:]
	for _, e := range r.queue.take(max - n) {
		// Before the mark: only the second delivery is a redelivery.
		m := b.deliver(e)
		e.delivered = true
		r.held[e] = struct{}{}
		out = append(out, m)
		if b.faults.duplicates > 0 {
			b.faults.duplicates--
			r.again = append(r.again, b.deliver(e))
		}
	}
	return out, nil, nil
}

func (r *receiver) Held() int64 {
	b := r.conn.broker
	b.mu.Lock()
	defer b.mu.Unlock()
	return int64(len(r.held))
}

func (r *receiver) Ack(ctx context.Context, messages []driver.Message) error {
	return r.settle(ctx, messages, func(entries []*entry) error {
		b := r.conn.broker
		// After a failed acknowledgement the messages stay held, and come back when the receiver closes.
		if err := b.faults.acks.next(); err != nil {
			return err
		}
		for _, e := range entries {
			delete(r.held, e)
		}
		if b.faults.forgotten > 0 {
			b.faults.forgotten--
			r.gone = append(r.gone, entries...)
		}
		return nil
	})
}

// Release implements driver.Receiver. It drops a pending second delivery (DeliverTwice).
func (r *receiver) Release(ctx context.Context, messages []driver.Message) error {
	return r.settle(ctx, messages, func(entries []*entry) error {
		for _, e := range entries {
			delete(r.held, e)
		}
		r.again = slices.DeleteFunc(r.again, func(m driver.Message) bool {
			return slices.Contains(entries, m.Receipt.(*entry))
		})
		r.queue.giveBack(entries)
		return nil
	})
}

// settle calls fn once with each held message. It ignores others: an acknowledgement may be repeated, and messages of
// an earlier receiver are back in the queue.
func (r *receiver) settle(ctx context.Context, messages []driver.Message, fn func([]*entry) error) error {
	b := r.conn.broker
	if err := b.reach(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	var entries []*entry
	seen := make(map[*entry]bool, len(messages))
	for i := range messages {
		e, ok := messages[i].Receipt.(*entry)
		if !ok || seen[e] {
			continue
		}
		if _, ok := r.held[e]; ok {
			seen[e] = true
			entries = append(entries, e)
		}
	}
	return fn(entries)
}

func (r *receiver) Close() error {
	b := r.conn.broker
	b.mu.Lock()
	defer b.mu.Unlock()
	r.end(driver.ErrClosed)
	return nil
}

// end closes the receiver and gives back its messages. The caller holds mu.
func (r *receiver) end(reason error) {
	if r.err != nil {
		return
	}
	r.err = reason
	delete(r.conn.receivers, r)
	// Forgotten acknowledgements come back as well.
	entries := r.gone
	for e := range r.held {
		entries = append(entries, e)
	}
	r.held, r.again, r.gone = nil, nil, nil
	r.queue.giveBack(entries)
}
