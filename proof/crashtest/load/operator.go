package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

func (p *Producer) cancel(ctx context.Context) error {
	var req tasker.TaskRequest
	switch p.Rand.IntN(3) {
	case 0:
		req = p.request("ok", order{MS: 300})
	case 1: // cancelled while it waits for its second attempt
		req = p.request("ok", order{Work: workFlaky})
	default:
		req = p.request("diamond", order{MS: 10})
	}
	id, err := p.try(ctx, req)
	if err != nil || id == uuid.Nil {
		return err
	}
	wait := []time.Duration{0, 50 * time.Millisecond, 5 * time.Second}[p.Rand.IntN(3)]
	if wait > 0 {
		// A lost answer does not matter here.
		if _, err := p.Client.Task(ctx, id, wait); err != nil && !Lost(err) {
			return err
		}
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

// lostCause submits a task that fails and stays unrepaired.
func (p *Producer) lostCause(ctx context.Context) error {
	req := p.request("diamond", order{Step: "right", Work: workDoomed})
	p.Journal.Expect(req.CorrelationID, tasker.TaskError)
	id, err := p.try(ctx, req)
	if err != nil {
		return err
	}
	return p.follow(ctx, id)
}

// repair submits a failing task, and repairs it in one of three ways. It acts until the task is not in error: an act
// without an answer may have had no effect.
func (p *Producer) repair(ctx context.Context) error {
	req := p.request("diamond", order{Step: "left", Work: workDoomed})
	kind := []string{tasker.ResetForRetry, tasker.ResolveManually, tasker.CompleteManually}[p.Rand.IntN(3)]
	if p.Rand.IntN(3) == 0 {
		req = p.request("ok", order{Work: workDoomed})
		if kind == tasker.ResolveManually { // it is the whole task
			p.Journal.Expect(req.CorrelationID, tasker.TaskResolvedManually)
		}
	}
	// Without the key, a lost answer would leave an unrepaired task.
	req.IdempotencyKey = "key-" + req.CorrelationID
	id, err := p.insist(ctx, req)
	if err != nil {
		return err
	}
	t, err := p.settled(ctx, id)
	if err != nil {
		return err
	}
	for tries := 0; t.State == tasker.TaskError; tries++ {
		step, err := p.find(ctx, id, func(s *tasker.Step) bool { return s.State == tasker.StepError })
		if err != nil {
			return err
		}
		if step != nil {
			if err := p.act(ctx, req.CorrelationID, step, kind, tries); err != nil {
				return err
			}
		}
		if t, err = p.settled(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// overtake settles a step by hand before, while or after a worker has it: one of the two is refused.
func (p *Producer) overtake(ctx context.Context) error {
	req := p.request("diamond", order{Step: "left", MS: 20 + p.Rand.IntN(100)})
	id, err := p.try(ctx, req)
	if err != nil || id == uuid.Nil {
		return err
	}
	kind := []string{tasker.ResolveManually, tasker.CompleteManually}[p.Rand.IntN(2)]
	step, err := p.find(ctx, id, func(s *tasker.Step) bool { return s.Name == "left" })
	if err != nil {
		return err
	}
	if err := p.act(ctx, req.CorrelationID, step, kind, 0); err != nil {
		return err
	}
	return p.follow(ctx, id)
}

// act repairs a step, once. The reason has the number of the try, so that the history identifies each act.
func (p *Producer) act(ctx context.Context, ref string, step *tasker.Step, kind string, try int) error {
	act := tasker.StepAction{ActionType: kind, Reason: fmt.Sprintf("%s put right, try %d", ref, try)}
	switch kind {
	case tasker.ResetForRetry:
		p.Handlers.fixed.Store(ref, true)
		act.ResetBy = p.Name
	case tasker.ResolveManually:
		act.ResolvedBy = p.Name
	case tasker.CompleteManually:
		result, err := json.Marshal(output{Ref: ref, Step: step.Name, By: p.Name})
		if err != nil {
			return err
		}
		act.CompletedBy, act.CompletionData = p.Name, &tasker.CompletionData{Result: result}
	}
	_, err := p.Client.ActOnStep(ctx, step.TaskUUID, step.StepUUID, act)
	switch {
	case Lost(err):
		return p.Retry(ctx, err) // the state decides about a repetition
	case errors.Is(err, &tasker.Error{Code: tasker.CodeWrongState}):
		return nil // done by a try without an answer, or by a worker
	}
	return err
}

// find returns the first wanted step of a task, or nil. It reads until there is an answer.
func (p *Producer) find(ctx context.Context, id uuid.UUID, wanted func(*tasker.Step) bool) (*tasker.Step, error) {
	for {
		steps, err := p.Client.Steps(ctx, id)
		switch {
		case Lost(err):
			if err := p.Retry(ctx, err); err != nil {
				return nil, err
			}
			continue
		case err != nil:
			return nil, err
		}
		for i := range steps {
			if wanted(&steps[i]) {
				return &steps[i], nil
			}
		}
		return nil, nil
	}
}
