package queueapi

import (
	"context"
	"errors"
	"time"

	"github.com/taskerhq/tasker"
)

// Client is a Backend with conveniences. It is safe for concurrent use.
type Client struct{ Backend }

// Of returns the queue of a client: that of the server to which the client is
// connected, or that of the client's Backend, when it has one. A Backend in this
// process has one.
func Of(c *tasker.Client) *Client {
	if b, inProcess := c.Backend.(Backend); inProcess {
		return &Client{b}
	}
	return &Client{server{c}}
}

// Enqueue stores one task and says where it stands.
func (c *Client) Enqueue(ctx context.Context, t EnqueueTask) (QueueReceipt, error) {
	receipts, err := c.EnqueueTasks(ctx, EnqueueRequest{Tasks: []EnqueueTask{t}})
	if err != nil {
		return QueueReceipt{}, err
	}
	if receipts[0].Error != nil {
		return receipts[0], receipts[0].Error
	}
	return receipts[0], nil
}

// EnqueueWait is Enqueue that waits while the queue is full or the server overloaded:
// as long as the server says, again and again, until ctx ends. It comes back with any
// other error, and with one that does not say when to try again. With an idempotency
// key an answer that got lost on the way does no harm.
func (c *Client) EnqueueWait(ctx context.Context, t EnqueueTask) (QueueReceipt, error) {
	for {
		receipt, err := c.Enqueue(ctx, t)
		var refusal *tasker.Error
		if !errors.As(err, &refusal) || refusal.RetryAfter <= 0 ||
			refusal.Code != tasker.CodeExhausted && refusal.Code != tasker.CodeUnavailable {
			return receipt, err
		}
		pause := time.NewTimer(refusal.RetryAfter)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return QueueReceipt{}, errors.Join(ctx.Err(), err)
		}
	}
}
