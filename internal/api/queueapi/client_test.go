package queueapi_test

import (
	"context"
	"testing"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/remote"
)

type countingQueue struct {
	queueapi.Backend
	asked int
}

func (q *countingQueue) EnqueueTasks(context.Context, queueapi.EnqueueRequest) ([]queueapi.QueueReceipt, error) {
	q.asked++
	return []queueapi.QueueReceipt{{Status: queueapi.QueueQueued}}, nil
}

type both struct {
	tasker.Backend
	queue
}

type queue = queueapi.Backend

func TestOf(t *testing.T) {
	t.Parallel()
	ask := func(c *tasker.Client) error {
		_, err := queueapi.Of(c).EnqueueTasks(t.Context(),
			queueapi.EnqueueRequest{Tasks: []queueapi.EnqueueTask{{TaskType: "h"}}})
		return err
	}
	q := &countingQueue{}
	if err := ask(tasker.NewClient(both{queue: q})); err != nil || q.asked != 1 {
		t.Errorf("a Backend with a queue was asked %d times: %v", q.asked, err)
	}
	dialled, err := remote.Dial("http://127.0.0.1:1", nil)
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
