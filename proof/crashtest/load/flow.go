package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// Flows are the workflows of producers with Flows, in the order of registration.
var Flows = []string{`
name: parcel
namespace_name: crash
version: 1.0.0
steps:
  - {name: label, handler: left, timeout_seconds: 20, retry: &r {max_attempts: 50, backoff: fixed, backoff_base_ms: 20}}
  - {name: gift, handler: right, dependencies: [label], when: context.special == true, timeout_seconds: 20, retry: *r}
  - {name: carry, handler: ok, dependencies: [gift], timeout_seconds: 20, retry: *r}
`, `
name: flow
namespace_name: crash
version: 1.0.0
steps:
  - {name: begin, handler: split, timeout_seconds: 20,
     retry: &r {max_attempts: 50, backoff: fixed, backoff_base_ms: 20}}
  - {name: special, handler: left, dependencies: [begin], when: context.special == true, timeout_seconds: 20, retry: *r}
  - {name: pause, wait: {for: 1s}, dependencies: [begin]}
  - {name: approve, wait: {approval: May it go on?, timeout: 1h}, dependencies: [special]}
  - {name: parcel, task: {template: parcel}, dependencies: [pause]}
  - name: each
    dependencies: [begin]
    for_each: {items: 'context.items ?? []', handler: ok, concurrency: 3, max_failed: 1}
  - {name: end, handler: join, dependencies: [approve, parcel, each], timeout_seconds: 20, retry: *r}
`, `
name: deal
namespace_name: crash
version: 1.0.0
steps:
  - {name: charge, handler: left, timeout_seconds: 20,
     retry: &r {max_attempts: 50, backoff: fixed, backoff_base_ms: 20}}
  - {name: await_paid, wait: {signal: paid, key: "{{ref}}", timeout: 1h}, dependencies: [charge]}
  - {name: await_more, wait: {signal: more, key: "{{ref}}", timeout: 1s, on_timeout: continue}}
  - {name: ship, handler: right, dependencies: [await_paid], timeout_seconds: 20, retry: *r}
  - {name: close, handler: join, dependencies: [ship, await_more], timeout_seconds: 20, retry: *r}
on_failure:
  - {name: recall, handler: right, dependencies: [ship], timeout_seconds: 20, retry: *r}
  - {name: refund, handler: left, dependencies: [charge, recall], timeout_seconds: 20, retry: *r}
  - {name: tell, handler: ok, dependencies: [refund], when: context.special == true, timeout_seconds: 20, retry: *r}
`}

// decisionWait is a producer's pause until a step is ready for its decision.
const decisionWait = 50 * time.Millisecond

// timesLater are multiples of decisionWait after which a producer cancels.
var timesLater = []time.Duration{1, 10, 40}

// flow runs a task with a condition, a timer, an approval and child tasks. It decides the approval, sometimes twice
// concurrently; some tasks are rejected or cancelled.
func (p *Producer) flow(ctx context.Context) error {
	o := order{Special: p.Rand.IntN(2) == 0, Step: "begin", Work: workCheckpoints}
	req := p.request("flow", o)
	for i := range p.Rand.IntN(8) {
		item := order{Ref: fmt.Sprintf("%s/%d", req.CorrelationID, i), MS: p.Rand.IntN(3) * 10}
		item.Work = []string{"", "", workFlaky, workSnooze, workPanic}[p.Rand.IntN(5)]
		if i == 2 && p.Rand.IntN(4) == 0 {
			item.Work = workDoomed // as many as may fail
		}
		o.Items = append(o.Items, item)
	}
	p.fill(&req, o)
	act := tasker.Approve
	if p.Rand.IntN(8) == 0 {
		act = tasker.Reject
		p.Journal.Expect(req.CorrelationID, tasker.TaskError)
	}
	req.IdempotencyKey = "key-" + req.CorrelationID
	id, err := p.insist(ctx, req)
	if err != nil {
		return err
	}
	if p.Rand.IntN(8) == 0 {
		return p.drop(ctx, id)
	}
	for try := 0; ; try++ {
		t, err := p.Client.Task(ctx, id, 0)
		switch {
		case Lost(err):
			if err := p.Retry(ctx, err); err != nil {
				return err
			}
			continue
		case err != nil:
			return fmt.Errorf("get task %s, which was accepted: %w", id, err)
		case t.State.Settled():
			return nil
		}
		step, err := p.find(ctx, id, func(s *tasker.Step) bool { return s.Name == "approve" })
		if err != nil {
			return err
		}
		switch {
		case step.State != tasker.StepWaiting && step.State != tasker.StepPending:
			return p.follow(ctx, id)
		case step.State == tasker.StepWaiting:
			err = p.decide(ctx, req.CorrelationID, step, act, try)
		default: // earlier steps take a moment
			_, err = p.Client.Task(ctx, id, decisionWait)
			if Lost(err) {
				err = p.Retry(ctx, err)
			}
		}
		if err != nil {
			return err
		}
	}
}

// decide approves or rejects a step, sometimes twice concurrently: then one is refused.
func (p *Producer) decide(ctx context.Context, ref string, step *tasker.Step, act string, try int) error {
	n := 1 + p.Rand.IntN(2)
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			_, errs[i] = p.Client.ActOnStep(ctx, step.TaskUUID, step.StepUUID, tasker.StepAction{ActionType: act,
				DecidedBy: p.Name, Reason: fmt.Sprintf("%s decided, try %d.%d", ref, try, i)})
		})
	}
	all.Wait()
	for _, err := range errs {
		switch {
		case Lost(err):
			if err := p.Retry(ctx, err); err != nil { // the state decides about a repetition
				return err
			}
		case err != nil && !errors.Is(err, &tasker.Error{Code: tasker.CodeWrongState}):
			return err
		}
	}
	return nil
}

// drop cancels a task once it has begun.
func (p *Producer) drop(ctx context.Context, id uuid.UUID) error {
	if _, err := p.Client.Task(ctx, id, decisionWait*timesLater[p.Rand.IntN(len(timesLater))]); err != nil && !Lost(err) {
		return err
	}
	for {
		_, err := p.Client.CancelTasks(ctx, tasker.CancelRequest{TaskUUIDs: []uuid.UUID{id}, CancelledBy: p.Name,
			Reason: "crash test"})
		if !Lost(err) {
			return err
		}
		if err := p.Retry(ctx, err); err != nil {
			return err
		}
	}
}
