package scenario_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/model/template"
)

// The child of an order undoes its work; the middle one cannot.
var restRace = []string{`name: parcel
version: "1"
steps:
  - {name: book, handler: h}
  - {name: send, handler: h, dependencies: [book], retry: {max_attempts: 1}}
on_failure:
  - {name: unbook, handler: h, dependencies: [book]}
`, `name: between
version: "1"
steps:
  - {name: parts, for_each: {items: context.item, template: parcel, on_error: fail}}
`, `name: order
version: "1"
steps:
  - {name: charge, handler: h}
  - {name: ship, dependencies: [charge], for_each: {items: context.items, template: between, on_error: fail}}
on_failure:
  - {name: refund, handler: h, dependencies: [charge]}
`}

// TestChildrenRestRace ends grandchildren on two nodes while an operator resets and cancels. No child runs while its
// task compensates; each unfinished booking is undone.
func TestChildrenRestRace(t *testing.T) {
	t.Parallel()
	for _, k := range bare {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			nodes, _ := nodesOf(t, k)
			r := &childrenRest{t: t, ran: map[string]map[task.ID]bool{}, failed: map[task.ID]bool{},
				sent: make(chan task.ID, 1000)}
			r.run(nodes)
		})
	}
}

type childrenRest struct {
	t      *testing.T
	mu     sync.Mutex
	ran    map[string]map[task.ID]bool
	failed map[task.ID]bool
	sent   chan task.ID
}

func (r *childrenRest) run(nodes []*engine.Engine) {
	ctx, stop := context.WithTimeout(r.t.Context(), 2*time.Minute)
	defer stop()
	for _, text := range restRace {
		def, err := template.Parse("race.yaml", []byte(text), nil)
		if err == nil {
			_, _, err = nodes[0].RegisterTemplate(ctx, def, engine.Registration{})
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
	n := 20
	if testing.Short() {
		n = 5
	}
	list := make([]engine.Submission, n)
	for i := range list {
		list[i] = engine.Submission{Name: "order", Context: []byte(`{"items": [[1, 2, 3], [4, 5], [6]]}`)}
	}
	receipts, err := nodes[0].Submit(ctx, list, false)
	if err != nil {
		r.t.Fatal(err)
	}
	running, end := context.WithCancel(ctx)
	var all sync.WaitGroup
	for i := range 4 {
		e := nodes[i%len(nodes)]
		advances := childRace{t: r.t}
		all.Go(func() { r.work(running, e) })
		if i < 2 {
			all.Go(func() { advances.advance(running, e) })
		}
	}
	all.Go(func() { r.operate(running, nodes[0]) })
	for _, one := range receipts {
		k := &task.Task{}
		for !k.State.Settled() && ctx.Err() == nil {
			if k, err = nodes[0].Task(ctx, one.ID, time.Second); err != nil {
				r.t.Fatal(err)
			}
		}
		r.failed[k.ID] = k.State == task.Errored
	}
	end()
	all.Wait()
	r.check(nodes[0], receipts)
}

// work completes all steps but every second sending.
func (r *childrenRest) work(ctx context.Context, e *engine.Engine) {
	serve(ctx, r.t, e, 3, func(leases []engine.Lease) bool {
		for _, l := range leases {
			name := l.Template.Spec(&l.Step).Name
			if name == "refund" {
				r.atRest(ctx, e, l.Task.ID)
			}
			out := engine.Result{Step: l.Step.ID, Token: l.Step.Token, Status: engine.ResultCompleted, Result: []byte("1")}
			if name == "send" && l.Step.ID[15]%2 == 0 {
				out.Status, out.Failure = engine.ResultFailed, &task.Failure{Message: "no"}
			}
			answers, err := e.Settle(ctx, []engine.Result{out})
			if err != nil {
				if ctx.Err() == nil {
					r.t.Error(err)
				}
				return true
			}
			r.ended(name, l.Task.ID, out.Status, answers[0])
		}
		return true
	})
}

func (r *childrenRest) ended(name string, id task.ID, status engine.ResultStatus, a engine.Answer) {
	if status == engine.ResultFailed {
		r.sent <- id
	}
	if a.Err != nil || status == engine.ResultFailed {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ran[name] == nil {
		r.ran[name] = map[task.ID]bool{}
	}
	r.ran[name][id] = true
}

func (r *childrenRest) operate(ctx context.Context, e *engine.Engine) {
	for n := 0; ; n++ {
		select {
		case id := <-r.sent:
			k, err := e.Task(ctx, id, 0)
			if err == nil {
				_, err = e.Replay(ctx, []task.ID{id, k.Meta.Child.Task}[n%2], engine.Replay{Actor: "ada"})
			}
			if err == nil {
				_, err = e.Operate(ctx, k.Meta.Child.Task, k.Meta.Child.Step, engine.StepAct{Kind: engine.ResetForRetry,
					Actor: "ada", Reason: "race"})
			}
			var refused *task.Error
			if err != nil && ctx.Err() == nil && !errors.As(err, &refused) {
				r.t.Error(err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// atRest requires that nothing below a task runs.
func (r *childrenRest) atRest(ctx context.Context, e *engine.Engine, id task.ID) {
	k, steps, err := e.Steps(ctx, id)
	if err != nil {
		if ctx.Err() == nil {
			r.t.Error(err)
		}
		return
	}
	for _, s := range steps {
		list, err := e.Children(ctx, k.ID, s.ID, engine.ChildFilter{Limit: 100})
		if err != nil && ctx.Err() == nil {
			r.t.Error(err)
		}
		for _, c := range list {
			child, err := e.Task(ctx, c.Task, 0)
			if err == nil && !child.State.Settled() {
				r.t.Errorf("a child of %s is %s while it compensates", id, child.State)
			}
			r.atRest(ctx, e, c.Task)
		}
	}
}

// check requires that each booking without a sending was undone.
func (r *childrenRest) check(e *engine.Engine, receipts []engine.Receipt) {
	for _, one := range receipts {
		r.atRest(r.t.Context(), e, one.ID)
		if r.failed[one.ID] != r.ran["refund"][one.ID] {
			r.t.Errorf("%s: failed %t, refunded %t", one.ID, r.failed[one.ID], r.ran["refund"][one.ID])
		}
	}
	for id := range r.ran["book"] {
		if !r.ran["send"][id] && !r.ran["unbook"][id] {
			k, _, err := e.Steps(r.t.Context(), id)
			r.t.Errorf("%s was booked and not undone: %+v, %v", id, k, err)
		}
	}
}
