package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/kit/clock"
)

const (
	takeAtOnce = 1000
	// waitTime bounds one wait on the server, to check for lost receivers. A shorter wait is done here, in steps of
	// waitStep.
	waitTime, waitStep = time.Second, 10 * time.Millisecond
)

// holder is a receiver's access to its list or stream. IDs are those of receipts.
type holder interface {
	// take takes messages, those of lost receivers first. With max 0 it is only a sign of life.
	take(ctx context.Context, max int) ([]driver.Message, error)
	// wait blocks until there may be something to take, for at most d.
	wait(ctx context.Context, d time.Duration) error
	ack(ctx context.Context, ids []string) error
	release(ctx context.Context, ids []string) error
	leave(ctx context.Context, ids []string) (again bool, err error)
	returns(ctx context.Context, most int) ([]driver.Left, error)
	// close gives back all but the messages of IDs, which are left to be taken over with the same positions.
	close(ctx context.Context, but []string) error
}

type receiver struct {
	driver.BasicReceiver
	conn   *conn
	holder holder
	name   string

	ended context.Context
	end   context.CancelFunc
	beats sync.WaitGroup

	mu     sync.Mutex
	lost   error // why nothing is received any more; may be nil
	closed bool
	// unsure are messages that may have been captured, by ID: given back, they would be taken for others. Their
	// acknowledgement had no answer, or their earlier holder is gone, or they are to be kept.
	unsure map[string]bool
}

func newID() string { return strings.ToLower(rand.Text()[:13]) }

func (c *conn) receive(name string, h holder) (driver.Receiver, error) {
	r := &receiver{conn: c, holder: h, name: name, unsure: map[string]bool{}}
	r.ended, r.end = context.WithCancel(context.Background())
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		r.end()
		return nil, driver.ErrClosed
	}
	c.receivers[r] = struct{}{}
	r.beats.Go(r.beat)
	return r, nil
}

// beat signals life until the receiver ends or has lost the connection. After a permanent error another receiver takes
// over, and acknowledgements do nothing.
func (r *receiver) beat() {
	for clock.Sleep(r.ended, r.conn.opts.gone/3) == nil {
		r.mu.Lock()
		if r.lost != nil {
			r.mu.Unlock()
			return
		}
		ctx, cancel := r.conn.callContext(r.ended)
		_, _ = r.holder.take(ctx, 0)
		cancel()
		r.mu.Unlock()
	}
}

// Receive implements driver.Receiver. The end of ctx does not cut off a script that takes messages, whose result is
// needed here. After a lost connection it is unknown, and nothing more is received.
func (r *receiver) Receive(ctx context.Context, max int) ([]driver.Message, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		messages, err := r.take(ctx, min(max, takeAtOnce))
		if err != nil || len(messages) > 0 {
			return messages, err
		}
		if err := r.wait(ctx); err != nil {
			return nil, err
		}
	}
}

func (r *receiver) take(ctx context.Context, max int) ([]driver.Message, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost != nil {
		return nil, r.lost
	}
	ctx, cancel := r.conn.callContext(ctx)
	defer cancel()
	messages, err := r.holder.take(ctx, max)
	if err != nil {
		err = fmt.Errorf("take from %q: %w", r.name, err)
		if errors.Is(err, driver.ErrLost) {
			r.lost = err
		}
	}
	for i := range messages {
		if messages[i].Redelivered {
			r.keep(&messages[i])
		}
	}
	return messages, err
}

func (r *receiver) Keep(messages []driver.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range messages {
		r.keep(&messages[i])
	}
}

func (r *receiver) keep(m *driver.Message) {
	if id, ok := m.Receipt.(string); ok {
		r.unsure[id] = true
	}
}

func (r *receiver) wait(ctx context.Context) error {
	bound := waitTime
	if deadline, ok := ctx.Deadline(); ok {
		bound = min(bound, time.Until(deadline))
	}
	if bound < waitTime { // cutting off a command would cost the waiting connection
		return clock.Sleep(ctx, waitStep)
	}
	both, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ended, cancel)()
	err := r.holder.wait(both, bound)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case r.ended.Err() != nil:
		return driver.ErrClosed
	case err != nil:
		return fmt.Errorf("wait for messages in %q: %w", r.name, err)
	}
	return nil
}

func (r *receiver) Ack(ctx context.Context, messages []driver.Message) error {
	return r.settle(messages, func(ids []string) error {
		err := r.holder.ack(ctx, ids)
		for _, id := range ids {
			if err != nil {
				r.unsure[id] = true
			} else {
				delete(r.unsure, id)
			}
		}
		return err
	})
}

func (r *receiver) Release(ctx context.Context, messages []driver.Message) error {
	return r.settle(messages, func(ids []string) error {
		ids = slices.DeleteFunc(ids, func(id string) bool { return r.unsure[id] })
		if len(ids) == 0 {
			return nil
		}
		return r.holder.release(ctx, ids)
	})
}

func (r *receiver) Leave(ctx context.Context, messages []driver.Message) (again bool, err error) {
	err = r.settle(messages, func(ids []string) error {
		if again, err = r.holder.leave(ctx, ids); err == nil {
			for _, id := range ids {
				delete(r.unsure, id)
			}
		}
		return err
	})
	return again, err
}

func (r *receiver) Return(ctx context.Context, most int) ([]driver.Left, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, driver.ErrClosed
	}
	return r.holder.returns(ctx, most)
}

func (r *receiver) settle(messages []driver.Message, fn func([]string) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return driver.ErrClosed
	}
	var ids []string
	for i := range messages {
		if id, ok := messages[i].Receipt.(string); ok {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return fn(ids)
}

func (r *receiver) Close() error {
	r.end()
	r.beats.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed, r.lost = true, driver.ErrClosed
	r.conn.mu.Lock()
	delete(r.conn.receivers, r)
	r.conn.mu.Unlock()
	ctx, cancel := r.conn.callContext(r.ended)
	defer cancel()
	if err := r.holder.close(ctx, slices.Collect(maps.Keys(r.unsure))); err != nil {
		return fmt.Errorf("give back to %q: %w", r.name, err)
	}
	return nil
}
