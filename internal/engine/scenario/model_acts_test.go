package scenario_test

import (
	"errors"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (m *model) cancel(o op) error {
	if len(m.tasks) == 0 {
		return nil
	}
	ids := make([]task.ID, 1+o.n[0]%2)
	for i := range ids {
		ids[i] = m.tasks[int(o.n[1+i])%len(m.tasks)]
	}
	_, err := both(m, func(w *world) ([]engine.Receipt, error) {
		return w.engine.Cancel(w.ctx, ids, engine.Cancellation{Actor: "ada", Reason: "because"})
	})
	return err
}

func (m *model) replay(o op) error {
	if len(m.tasks) == 0 {
		return nil
	}
	id := m.tasks[int(o.n[0])%len(m.tasks)]
	if i := slices.IndexFunc(m.tasks, func(id task.ID) bool {
		t, err := m.worlds[0].engine.Task(m.worlds[0].ctx, id, 0)
		return err == nil && t.State == task.Errored
	}); i >= 0 && o.n[1]%4 > 0 {
		id = m.tasks[i]
	}
	r := engine.Replay{Actor: "ada", Reason: "again", ResetAttempts: o.n[2]%2 == 0,
		Priority: []string{"", "high", "low"}[o.n[3]%3]}
	_, err := both(m, func(w *world) (string, error) {
		out, err := w.engine.Replay(w.ctx, id, r)
		if err != nil {
			return "", err
		}
		return fmt.Sprint(out.Task.State, out.Steps, out.Attempts, out.Task.Priority, out.Task.Meta.Replays), nil
	}, task.WrongState, task.NotFound)
	return err
}

func (m *model) act(o op) error {
	if len(m.tasks) == 0 {
		return nil
	}
	id := m.tasks[int(o.n[0])%len(m.tasks)]
	_, rows, err := m.worlds[0].steps(id)
	if task.CodeOf(err) == task.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	r := rows[int(o.n[1])%len(rows)]
	if i := slices.IndexFunc(rows, func(r row) bool { return r.State == task.StepErrored }); i >= 0 && o.n[2]%2 == 0 {
		r = rows[i]
	}
	act := engine.StepAct{Kind: []engine.ActKind{engine.ResetForRetry, engine.ResetForRetry, engine.ResolveManually,
		engine.CompleteManually}[o.n[3]%4],
		Actor: "ada", Reason: "because"}
	if act.Kind == engine.CompleteManually {
		act.Result = []byte("1")
	}
	if r.State == task.StepWaiting && o.n[5]%2 == 0 {
		act.Kind, act.Result = []engine.ActKind{engine.ApproveStep, engine.RejectStep}[o.n[5]>>1%2], nil
	}
	act.DiscardCheckpoint = act.Kind == engine.ResetForRetry && o.n[4]%2 == 0
	var accepted bool
	_, err = both(m, func(w *world) (*task.Step, error) {
		s, err := w.engine.Operate(w.ctx, id, r.ID, act)
		accepted = err == nil
		return s, err
	}, task.WrongState)
	if accepted && act.DiscardCheckpoint {
		delete(m.checkpoints, r.ID)
	}
	if accepted && act.Kind != engine.ResetForRetry && act.Kind != engine.RejectStep {
		m.done[r.ID]++
		if m.done[r.ID] > 1 {
			return errors.Join(err, fmt.Errorf("step %s was settled twice", r.ID))
		}
	}
	return err
}
