package queueapi_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/queueapi"
)

// fullQueue is a Backend that answers Enqueue with errors, then with a receipt.
type fullQueue struct {
	queueapi.Backend
	errs  []error
	asked []time.Time
}

func (q *fullQueue) EnqueueTasks(context.Context, queueapi.EnqueueRequest) ([]queueapi.QueueReceipt, error) {
	q.asked = append(q.asked, time.Now())
	if n := len(q.asked); n <= len(q.errs) {
		return nil, q.errs[n-1]
	}
	return []queueapi.QueueReceipt{{Status: queueapi.QueueQueued}}, nil
}

func TestEnqueueWait(t *testing.T) {
	t.Parallel()
	full := func(d time.Duration) error { return &tasker.Error{Code: tasker.CodeExhausted, RetryAfter: d} }
	for name, c := range map[string]struct {
		errs   []error
		limit  time.Duration
		took   time.Duration
		asked  int
		code   tasker.Code
		gaveUp bool
	}{
		"Room":       {nil, time.Hour, 0, 1, "", false},
		"WaitsTwice": {[]error{full(7 * time.Second), full(time.Minute)}, time.Hour, 67 * time.Second, 3, "", false},
		"GivesUp": {[]error{full(time.Minute), full(time.Minute)}, 90 * time.Second, 90 * time.Second, 2,
			tasker.CodeExhausted, true},
		"NoTime":  {[]error{full(0)}, time.Hour, 0, 1, tasker.CodeExhausted, false},
		"Invalid": {[]error{tasker.Errorf(tasker.CodeInvalid, "no")}, time.Hour, 0, 1, tasker.CodeInvalid, false},
		"Overloaded": {[]error{&tasker.Error{Code: tasker.CodeUnavailable, RetryAfter: time.Second}}, time.Hour, time.Second,
			2, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := &fullQueue{errs: c.errs}
				ctx, cancel := context.WithTimeout(t.Context(), c.limit)
				defer cancel()
				begun := time.Now()
				receipt, err := (&queueapi.Client{Backend: q}).EnqueueWait(ctx, queueapi.EnqueueTask{TaskType: "h"})
				if took := time.Since(begun); took != c.took || len(q.asked) != c.asked {
					t.Errorf("it took %s and %d questions, want %s and %d", took, len(q.asked), c.took, c.asked)
				}
				if c.code == "" && (err != nil || receipt.Status != queueapi.QueueQueued) ||
					c.code != "" && tasker.ErrorCode(err) != c.code || c.gaveUp != errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the answer is %+v, %v", receipt, err)
				}
			})
		})
	}
}

// both is a Backend with a queue beside what every Backend has.
type both struct {
	tasker.Backend
	queue
}

type queue = queueapi.Backend

// TestOf: the queue of a client is its Backend's where that has one, else the server's;
// a client without either says so.
func TestOf(t *testing.T) {
	t.Parallel()
	ask := func(c *tasker.Client) error {
		_, err := queueapi.Of(c).Enqueue(t.Context(), queueapi.EnqueueTask{TaskType: "h"})
		return err
	}
	q := &fullQueue{}
	if err := ask(tasker.NewClient(both{queue: q})); err != nil || len(q.asked) != 1 {
		t.Errorf("a Backend with a queue was asked %d times: %v", len(q.asked), err)
	}
	dialled, err := tasker.Dial("http://127.0.0.1:1", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dialled.Close()
	if err := ask(dialled); tasker.ErrorCode(err) != tasker.CodeUnavailable {
		t.Errorf("a client of a server that is away says %v", err)
	}
	if err := ask(tasker.NewClient(struct{ tasker.Backend }{})); tasker.ErrorCode(err) != tasker.CodeInvalid {
		t.Errorf("a client without a queue says %v", err)
	}
}
