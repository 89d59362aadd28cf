package tasktest

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// Client is a client that stores nothing and remembers its submissions, for a handler's Client field. Only Submit,
// SubmitTasks and Close work; the other methods panic, which fails the attempt of a handler. It is safe for concurrent
// use.
type Client struct {
	*tasker.Client

	store submissions
}

// NewClient returns a Client without submissions.
func NewClient() *Client {
	c := &Client{}
	c.store.keys = map[key]uuid.UUID{}
	c.Client = tasker.NewClient(&c.store)
	return c
}

// Submitted returns the accepted tasks in order, without repetitions under an idempotency key: their receipt names the
// first task, as with a server.
func (c *Client) Submitted() []tasker.TaskRequest {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	return slices.Clone(c.store.tasks)
}

// Refuse makes further submissions fail with err, and accepts them again after nil.
func (c *Client) Refuse(err error) {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	c.store.refusal = err
}

type submissions struct {
	tasker.Backend

	mu      sync.Mutex
	tasks   []tasker.TaskRequest
	keys    map[key]uuid.UUID
	refusal error
}

type key struct{ namespace, key string }

// SubmitTasks implements tasker.TaskBackend.
func (s *submissions) SubmitTasks(_ context.Context, req tasker.SubmitRequest) ([]tasker.TaskReceipt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusal != nil {
		return nil, s.refusal
	}
	for i := range req.Tasks {
		if t := &req.Tasks[i]; (t.Name == "") == (t.TaskType == "") {
			return nil, tasker.Errorf(tasker.CodeInvalid, "task %d: name a template or a handler", i)
		}
	}
	receipts := make([]tasker.TaskReceipt, len(req.Tasks))
	for i, t := range req.Tasks {
		k := key{cmp.Or(t.Namespace, "default"), t.IdempotencyKey}
		id, known := s.keys[k]
		if k.key == "" || !known {
			id, known = uuid.New(), false
			s.tasks = append(s.tasks, t)
			if k.key != "" {
				s.keys[k] = id
			}
		}
		receipts[i] = tasker.TaskReceipt{TaskUUID: id, State: tasker.TaskStepsInProcess, Created: !known}
	}
	return receipts, nil
}

// Close implements tasker.Backend.
func (s *submissions) Close() error { return nil }
