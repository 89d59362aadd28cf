package scenario_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/model/template"
)

const raced = `name: raced
version: "1"
steps:
  - {name: charge, handler: h}
  - {name: ship, handler: h, dependencies: [charge], retry: {max_attempts: 1}}
  - {name: mail, handler: h, dependencies: [charge], retry: {max_attempts: 1}}
on_failure:
  - {name: refund, handler: h, dependencies: [charge]}
`

// TestCompensationRace fails two branches on two nodes while an operator resets steps. Each task begins to compensate
// once, and no undone step runs afterwards.
func TestCompensationRace(t *testing.T) {
	t.Parallel()
	for _, k := range bare {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			nodes, _ := nodesOf(t, k)
			r := &compensationRace{refunded: map[task.ID]bool{}, failed: make(chan task.Step, 1000)}
			r.run(t, nodes)
		})
	}
}

type compensationRace struct {
	mu       sync.Mutex
	refunded map[task.ID]bool
	ended    int
	failed   chan task.Step
}

func (r *compensationRace) run(t *testing.T, nodes []*engine.Engine) {
	def, err := template.Parse("raced.yaml", []byte(raced), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := nodes[0].RegisterTemplate(t.Context(), def, engine.Registration{}); err != nil {
		t.Fatal(err)
	}
	n := 60
	if testing.Short() {
		n = 15
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	var all sync.WaitGroup
	for w := range raceWorkers {
		all.Go(func() { r.work(ctx, t, nodes[w%len(nodes)]) })
	}
	all.Go(func() { r.reset(ctx, t, nodes[0]) })
	list := make([]engine.Submission, n)
	for i := range list {
		list[i] = engine.Submission{Name: "raced"}
	}
	receipts, err := nodes[0].Submit(ctx, list, false)
	if err != nil {
		t.Fatal(err)
	}
	untilEnded(ctx, t, nodes, &r.mu, &r.ended, n, func(e *engine.Engine) error {
		_, err := e.FireTimers(ctx, 100)
		return err
	})
	stop()
	all.Wait()
	for _, one := range receipts {
		if k, _, err := nodes[0].Steps(t.Context(), one.ID); err != nil || k.State != task.Errored {
			t.Errorf("the task %s is %+v, %v", one.ID, k, err)
		}
	}
}

// work completes charges and refunds and fails the rest. A refunded step must not run again.
func (r *compensationRace) work(ctx context.Context, t *testing.T, e *engine.Engine) {
	serve(ctx, t, e, 2, func(leases []engine.Lease) bool {
		var all sync.WaitGroup
		for _, l := range leases {
			all.Go(func() { r.settle(ctx, t, e, l) })
		}
		all.Wait()
		return true
	})
}

func (r *compensationRace) settle(ctx context.Context, t *testing.T, e *engine.Engine, l engine.Lease) {
	name := l.Template.Spec(&l.Step).Name
	out := engine.Result{Step: l.Step.ID, Token: l.Step.Token, Status: engine.ResultCompleted, Result: []byte("1")}
	r.mu.Lock()
	if r.refunded[l.Task.ID] {
		t.Errorf("%s of %s runs after refund", name, l.Task.ID)
	}
	if name == "refund" {
		r.refunded[l.Task.ID] = true
	}
	r.mu.Unlock()
	if name == "ship" || name == "mail" {
		out.Status, out.Failure = engine.ResultFailed, &task.Failure{Message: "no"}
	}
	if _, err := e.Settle(ctx, []engine.Result{out}); err != nil && ctx.Err() == nil {
		t.Error(fmt.Errorf("settle %s: %w", name, err))
	}
	switch name {
	case "ship", "mail":
		r.failed <- l.Step
	case "refund":
		r.mu.Lock()
		r.ended++
		r.mu.Unlock()
	}
}

// reset repairs failed steps, which works once for each task, while another branch runs.
func (r *compensationRace) reset(ctx context.Context, t *testing.T, e *engine.Engine) {
	tried := map[task.ID]bool{}
	for {
		select {
		case s := <-r.failed:
			if tried[s.TaskID] {
				continue
			}
			tried[s.TaskID] = true
			_, err := e.Operate(ctx, s.TaskID, s.ID, engine.StepAct{Kind: engine.ResetForRetry, Actor: "ada", Reason: "race"})
			var refused *task.Error
			if err != nil && ctx.Err() == nil && (!errors.As(err, &refused) || refused.Code != task.WrongState) {
				t.Error(err)
			}
		case <-ctx.Done():
			return
		}
	}
}
