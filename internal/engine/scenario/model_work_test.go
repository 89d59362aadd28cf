package scenario_test

import (
	"errors"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// work completes most ready steps, fails some for good, and leaves some running.
func (m *model) work(o op) error {
	if err := m.register(task.Worker{Name: "busy", Capacity: 12, Capabilities: []string{"gpu"}}); err != nil {
		return err
	}
	worker := m.workers[len(m.workers)-1]
	for round := range 3 {
		leases, err := m.claim(worker, 6, true)
		if err != nil || len(leases) == 0 {
			return err
		}
		var results []engine.Result
		for i, l := range leases {
			r := engine.Result{Step: l.Step.ID, Token: l.Step.Token, Status: engine.ResultCompleted,
				Result: fmt.Appendf(nil, `{"n":%d}`, o.n[0]%10)}
			switch o.n[1+round] >> (3 * i) % 8 {
			case 0:
				r.Status, r.Result, r.Failure = engine.ResultFailed, nil, &task.Failure{Type: "fatal", Message: "x"}
			case 1:
				continue
			}
			results = append(results, r)
		}
		if len(results) == 0 {
			return nil
		}
		if err := m.settle(results); err != nil {
			return err
		}
		if err := m.after(); err != nil {
			return err
		}
	}
	return nil
}

// flood submits more steps than a rate admits, waits without a worker, and then lets one complete whatever it gets.
func (m *model) flood(o op) error {
	subs := make([]engine.Submission, 4+o.n[0]%3)
	for i := range subs {
		subs[i] = engine.Submission{Name: "paced", Context: []byte("1")}
	}
	if err := errors.Join(m.accept(subs), m.after()); err != nil {
		return err
	}
	for range 1 + o.n[1]%3 {
		for _, next := range []op{{kind: "advance", n: [6]uint32{2, 1}}, {kind: "upkeep", n: [6]uint32{1}}} {
			if err := m.do(next); err != nil {
				return err
			}
		}
	}
	if err := m.register(task.Worker{Name: "eager", Capacity: 20}); err != nil {
		return err
	}
	leases, err := m.claim(m.workers[len(m.workers)-1], 8, true)
	if err != nil || len(leases) == 0 {
		return err
	}
	return m.settle(complete(leases))
}

// checkUndoes: no child of a task runs when its compensation step is handed out.
func (m *model) checkUndoes(l engine.Lease) error {
	if !l.Template.Spec(&l.Step).OnFailure || !l.Task.Meta.HasChildren {
		return nil
	}
	p, err := m.worlds[0].pictureOf(&l.Task)
	if err != nil {
		return err
	}
	for _, f := range p.Fans {
		if f.Running > 0 {
			return fmt.Errorf("step %s of the task %s was handed out while %d of its children run",
				l.Template.Spec(&l.Step).Name, l.Task.ID, f.Running)
		}
	}
	return nil
}

// undo lets tasks fail that then compensate, unserved for longer than staleness allows other tasks.
func (m *model) undo(o op) error {
	if err := errors.Join(m.accept(slices.Repeat([]engine.Submission{{Name: "undone", Priority: "100",
		Context: []byte("1")}}, 1+int(o.n[0]%2))), m.after()); err != nil {
		return err
	}
	if err := m.register(task.Worker{Name: "undoer", Capacity: 12}); err != nil {
		return err
	}
	worker := m.workers[len(m.workers)-1]
	for range 2 {
		leases, err := m.claim(worker, 6, true)
		if err != nil || len(leases) == 0 {
			return err
		}
		results := make([]engine.Result, len(leases))
		for i, l := range leases {
			results[i] = engine.Result{Step: l.Step.ID, Token: l.Step.Token, Status: engine.ResultCompleted}
			if l.Template.Spec(&l.Step).Name == "c" {
				results[i].Status, results[i].Failure = engine.ResultFailed, &task.Failure{Type: "fatal", Message: "x"}
			}
		}
		if err := errors.Join(m.settle(results), m.after()); err != nil {
			return err
		}
	}
	return errors.Join(m.do(op{kind: "advance", n: [6]uint32{8, 1}}), m.do(op{kind: "upkeep", n: [6]uint32{1}}))
}
