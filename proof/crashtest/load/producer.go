package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/proof/crashtest"
)

// namespace is that of every task. Workers name it, because older servers have no word for all namespaces.
const namespace = "crash"

// Diamond is the workflow that producers submit. It has to be registered first.
const Diamond = `
name: diamond
namespace_name: crash
version: 1.0.0
steps:
  - {name: split, handler: split, timeout_seconds: 20, retry: &r {max_attempts: 50, backoff: fixed, backoff_base_ms: 20}}
  - {name: left, handler: left, dependencies: [split], timeout_seconds: 20, retry: *r}
  - {name: right, handler: right, dependencies: [split], timeout_seconds: 20, retry: *r}
  - {name: join, handler: join, dependencies: [left, right], timeout_seconds: 20, retry: *r}
`

// Producer is a caller that submits tasks of all kinds, waits for them, cancels some, and repairs failures, in one
// goroutine. Set all fields before it runs.
type Producer struct {
	Name     string // unique
	Rand     *rand.Rand
	Client   *tasker.Client // with a recorder
	Retry    Retry
	Journal  *crashtest.Journal
	Handlers *Handlers // those of all workers
	Flows    bool      // Flows are registered
	Large    bool      // the server has a blob store

	n int
}

// Run produces until stop is closed, then finishes its current work.
func (p *Producer) Run(ctx context.Context, stop <-chan struct{}) error {
	// Common in production is common here; slow is rare.
	kinds := []struct {
		weight int
		do     func(context.Context) error
	}{
		{6, p.flow}, {6, p.deal}, // with Flows
		{8, p.burst}, {6, p.keyed}, {3, p.twins}, {4, p.batch}, {6, p.workflow}, {3, p.scheduled}, {4, p.cancel},
		{3, p.repair}, {1, p.lostCause}, {2, p.foreign}, {3, p.odd}, {2, p.flood}, {3, p.overtake},
	}
	if !p.Flows {
		kinds = kinds[2:]
	}
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		pick := p.Rand.IntN(total)
		for _, k := range kinds {
			if pick -= k.weight; pick < 0 {
				if err := k.do(ctx); err != nil {
					return fmt.Errorf("producer %s: %w", p.Name, err)
				}
				break
			}
		}
	}
}

func (p *Producer) ref() string {
	p.n++
	return fmt.Sprintf("%s-%d", p.Name, p.n)
}

// request is a task of one step or, with the name of the diamond, of four. Its Ref is new; it fails only by order,
// because it has many retries.
func (p *Producer) request(handler string, o order) tasker.TaskRequest {
	req := tasker.TaskRequest{Namespace: namespace, CorrelationID: p.ref(), Initiator: p.Name}
	p.fill(&req, o)
	if handler == "diamond" || handler == "flow" || handler == "deal" {
		req.Name = handler
		return req
	}
	retries := 50
	req.TaskType, req.MaxRetries, req.TimeoutSeconds = handler, &retries, 10
	req.Priority = []tasker.Priority{"", "high", "medium", "low"}[p.Rand.IntN(4)]
	return req
}

func (p *Producer) fill(req *tasker.TaskRequest, o order) {
	o.Ref = req.CorrelationID
	body, err := json.Marshal(o)
	if err != nil {
		panic(err) // an order can be marshalled
	}
	req.Context = body
}

// try submits once. After a lost answer it calls Retry and returns uuid.Nil.
func (p *Producer) try(ctx context.Context, req tasker.TaskRequest) (uuid.UUID, error) {
	receipt, err := p.Client.Submit(ctx, req)
	if Lost(err) {
		return uuid.Nil, p.Retry(ctx, err)
	}
	return receipt.TaskUUID, err
}

// insist submits under an idempotency key until there is an answer.
func (p *Producer) insist(ctx context.Context, req tasker.TaskRequest) (uuid.UUID, error) {
	for {
		id, err := p.try(ctx, req)
		if err != nil || id != uuid.Nil {
			return id, err
		}
	}
}

// One submits a small task of high priority, which zombies cannot hold, until it is accepted. Use a separate Producer
// for it.
func (p *Producer) One(ctx context.Context) (uuid.UUID, error) {
	req := p.request(calm, order{})
	req.IdempotencyKey, req.Priority = "key-"+req.CorrelationID, "high"
	id, err := p.insist(ctx, req)
	if err != nil {
		return id, fmt.Errorf("%s: %w", p.Name, err)
	}
	return id, nil
}

// settled waits until the task is settled. An accepted task must be found, so not_found is an error.
func (p *Producer) settled(ctx context.Context, id uuid.UUID) (*tasker.Task, error) {
	for {
		t, err := p.Client.Task(ctx, id, 5*time.Second)
		switch {
		case Lost(err):
			if err := p.Retry(ctx, err); err != nil {
				return nil, fmt.Errorf("wait for task %s: %w", id, err)
			}
		case err != nil:
			return nil, fmt.Errorf("wait for task %s, which was accepted: %w", id, err)
		case t.State.Settled():
			return t, nil
		}
	}
}

func (p *Producer) burst(ctx context.Context) error {
	var last uuid.UUID
	for range 1 + p.Rand.IntN(8) {
		o := order{MS: p.Rand.IntN(3) * 10}
		if p.Rand.IntN(40) == 0 {
			o.MS = 2500 // longer than a lease
		}
		id, err := p.try(ctx, p.request("ok", o))
		if err != nil {
			return err
		}
		if id != uuid.Nil {
			last = id
		}
	}
	return p.follow(ctx, last)
}

// flood submits many tasks concurrently, one call each.
func (p *Producer) flood(ctx context.Context) error {
	reqs := make([]tasker.TaskRequest, 10+p.Rand.IntN(40))
	for i := range reqs {
		reqs[i] = p.request("ok", order{})
	}
	ids, errs := make([]uuid.UUID, len(reqs)), make([]error, len(reqs))
	var all sync.WaitGroup
	for i, req := range reqs {
		all.Go(func() { ids[i], errs[i] = p.try(ctx, req) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return p.follow(ctx, ids[p.Rand.IntN(len(ids))])
}

func (p *Producer) follow(ctx context.Context, id uuid.UUID) error {
	if id == uuid.Nil {
		return nil
	}
	_, err := p.settled(ctx, id)
	return err
}

// keyed submits under an idempotency key, and again afterwards.
func (p *Producer) keyed(ctx context.Context) error {
	req := p.request("ok", order{})
	if p.Rand.IntN(2) == 0 {
		req = p.request("diamond", order{})
	}
	req.IdempotencyKey = "key-" + req.CorrelationID
	id, err := p.insist(ctx, req)
	if err != nil {
		return err
	}
	if err := p.follow(ctx, id); err != nil {
		return err
	}
	_, err = p.insist(ctx, req)
	return err
}

// twins submit the same task concurrently under one key: both must get the same task.
func (p *Producer) twins(ctx context.Context) error {
	req := p.request("ok", order{})
	req.IdempotencyKey = "key-" + req.CorrelationID
	var ids [2]uuid.UUID
	var errs [2]error
	var both sync.WaitGroup
	for i := range ids {
		both.Go(func() { ids[i], errs[i] = p.insist(ctx, req) })
	}
	both.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	return p.follow(ctx, ids[0])
}

func (p *Producer) batch(ctx context.Context) error {
	var req tasker.SubmitRequest
	for range 2 + p.Rand.IntN(30) {
		handler := "ok"
		if p.Rand.IntN(8) == 0 {
			handler = "diamond"
		}
		req.Tasks = append(req.Tasks, p.request(handler, order{}))
	}
	receipts, err := p.Client.SubmitTasks(ctx, req)
	switch {
	case Lost(err):
		return p.Retry(ctx, err)
	case err != nil:
		return err
	}
	return p.follow(ctx, receipts[p.Rand.IntN(len(receipts))].TaskUUID)
}

func (p *Producer) workflow(ctx context.Context) error {
	o := order{Step: "left", MS: p.Rand.IntN(20)}
	if p.Rand.IntN(3) == 0 {
		o.Work = workFlaky
	} else if p.Large && p.Rand.IntN(2) == 0 {
		o.Work = workLarge
	}
	id, err := p.try(ctx, p.request("diamond", o))
	if err != nil {
		return err
	}
	return p.follow(ctx, id)
}

func (p *Producer) scheduled(ctx context.Context) error {
	req := p.request("ok", order{})
	at := time.Now().Add(time.Duration(p.Rand.IntN(1500)) * time.Millisecond)
	req.RunAt = &at
	_, err := p.try(ctx, req)
	return err
}

func (p *Producer) foreign(ctx context.Context) error {
	_, err := p.try(ctx, p.request("foreign", order{}))
	return err
}

func (p *Producer) odd(ctx context.Context) error {
	work := []string{workFlaky, workSnooze, workPanic}[p.Rand.IntN(3)]
	id, err := p.try(ctx, p.request("ok", order{Work: work}))
	if err != nil {
		return err
	}
	return p.follow(ctx, id)
}
