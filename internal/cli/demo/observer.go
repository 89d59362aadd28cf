package demo

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// observer is a Backend that counts acknowledged results, so that the demo checks "never settled twice" without
// trusting the engine.
type observer struct {
	protocol.Backend

	correlationID string // of the run: the queue may have steps of an earlier one
	sink          string // the step whose completion ends a task

	mu     sync.Mutex
	held   map[uuid.UUID]held
	final  map[uuid.UUID]int  // acknowledged final results, by step
	ended  map[uuid.UUID]bool // ended tasks; true: a step failed
	failed int                // count of true in ended
}

type held struct {
	task uuid.UUID
	name string
}

// observe wraps b and watches the tasks of one run; the completion of the step
// named sink ends a task.
func observe(b protocol.Backend, correlationID, sink string) *observer {
	return &observer{
		Backend: b, correlationID: correlationID, sink: sink,
		held: map[uuid.UUID]held{}, final: map[uuid.UUID]int{}, ended: map[uuid.UUID]bool{},
	}
}

// Poll remembers what was handed out: a result names its step by UUID only.
func (o *observer) Poll(ctx context.Context, req protocol.PollRequest) (*protocol.PollResponse, error) {
	resp, err := o.Backend.Poll(ctx, req)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range resp.Steps {
		if s.CorrelationID == o.correlationID {
			o.held[s.StepUUID] = held{task: s.TaskUUID, name: s.StepName}
		}
	}
	return resp, nil
}

// Settle counts the final results that were acknowledged. A result that was
// refused, or that leads to a retry, has settled nothing.
func (o *observer) Settle(ctx context.Context, req protocol.SettleRequest) ([]protocol.SettleAnswer, error) {
	answers, err := o.Backend.Settle(ctx, req)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, a := range answers {
		if i >= len(req.Results) || a.Error != nil {
			continue
		}
		r := req.Results[i]
		failed := r.Status == protocol.ResultFailed && a.State == tasker.StepError
		if !failed && r.Status != protocol.ResultCompleted {
			continue
		}
		o.settled(r.StepUUID, failed)
	}
	return answers, nil
}

// The caller holds mu.
func (o *observer) settled(step uuid.UUID, failed bool) {
	h, ok := o.held[step]
	if !ok {
		return
	}
	o.final[step]++
	if !failed && h.name != o.sink {
		return
	}
	if failed && !o.ended[h.task] {
		o.failed++
	}
	o.ended[h.task] = o.ended[h.task] || failed
}

// counts is the observed progress of a run.
type counts struct {
	steps  int
	ended  int // tasks; other branches of a failed one may still run
	failed int // of ended
}

func (o *observer) counts() counts {
	o.mu.Lock()
	defer o.mu.Unlock()
	return counts{steps: len(o.final), ended: len(o.ended), failed: o.failed}
}

// totals counts the settled steps, and those settled more than once.
func (o *observer) totals() (steps, twice int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, n := range o.final {
		if n > 1 {
			twice++
		}
	}
	return len(o.final), twice
}
