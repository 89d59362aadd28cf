package queueapi

import (
	"context"
	"errors"
	"time"

	"github.com/taskerhq/tasker"
)

// Client is a Backend with convenience methods. It is safe for concurrent use.
type Client struct{ Backend }

// Of returns the queue of a client: that of its server, or that of the client's own Backend if it implements one. A
// Backend in this process does.
func Of(c *tasker.Client) *Client {
	if b, inProcess := c.Backend.(Backend); inProcess {
		return &Client{b}
	}
	return &Client{server{c}}
}

// Enqueue stores one task and returns its place.
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

// EnqueueWait is Enqueue that waits while the queue is full or the server overloaded: it repeats after the server's
// retry time until ctx ends. It returns any other error, and one without a retry time. With an idempotency key a lost
// answer does no harm.
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
