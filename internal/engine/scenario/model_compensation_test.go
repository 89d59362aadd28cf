package scenario_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func compensated(quick, never task.Retry) *task.Template {
	return &task.Template{Name: "undone", Lifecycle: task.Lifecycle{MaxDuration: 30 * time.Minute},
		Steps: []task.StepSpec{{Name: "a", Handler: "h", Retry: quick},
			{Name: "b", Handler: "i", Dependencies: []string{"a"}, Retry: never},
			{Name: "c", Handler: "h", Dependencies: []string{"a"}, Retry: never},
			{Name: "undo_b", Handler: "i", Dependencies: []string{"b"}, OnFailure: true, Retry: never},
			{Name: "undo_a", Handler: "h", Dependencies: []string{"a", "undo_b"}, OnFailure: true, Retry: quick}}}
}

func rests(quick, never task.Retry) *task.Template {
	return &task.Template{Name: "rests", Lifecycle: task.Lifecycle{MaxDuration: time.Minute},
		Steps: []task.StepSpec{{Name: "a", Handler: "h", Retry: quick},
			{Name: "each", Tasks: &task.ChildSpec{Items: "context.items", Template: "undone", FailOnError: true}},
			{Name: "b", Handler: "i", Dependencies: []string{"each"}, Retry: never},
			{Name: "undo_a", Handler: "h", Dependencies: []string{"a"}, OnFailure: true, Retry: quick}}}
}

// checkCompensation: compensation steps begin only after a failure and with work to undo. From then on nothing else
// moves in the task or below it, and no time limit applies. A task that completes skips them.
func (m *model) checkCompensation(tasks []taskPicture) error {
	for _, p := range tasks {
		def, err := m.worlds[0].engine.TemplateOf(m.worlds[0].ctx, p.Task.DefID)
		if err != nil {
			return err
		}
		if !def.Compensated || p.Task.State == task.Cancelled {
			continue
		}
		now := def.CompensationOf(p.Steps)
		for _, s := range p.Steps {
			switch spec := def.Spec(s); {
			case p.Task.State == task.Complete && spec.OnFailure && s.State != task.StepSkipped:
				return fmt.Errorf("the task %s is complete, and its step %s is %s", p.Task.ID, spec.Name, s.State)
			case spec.OnFailure && s.Attempts > 0 && (now.Open == 0 || !task.Undoable(spec, p.Steps)):
				return fmt.Errorf("step %s of the task %s has run, and there is nothing to undo", spec.Name, p.Task.ID)
			case now.Begun && !spec.OnFailure && s.Queue != task.NoQueue:
				return fmt.Errorf("step %s of the task %s goes on after its compensation has begun", spec.Name, p.Task.ID)
			case spec.OnFailure && slices.ContainsFunc(p.Records.Acts, func(a task.Act) bool {
				return a.StepID == s.ID && a.Kind == task.ActGiveUp
			}):
				return fmt.Errorf("a time limit has ended the step %s of the task %s, which undoes", spec.Name, p.Task.ID)
			}
		}
		for _, f := range p.Fans {
			if now.Begun && f.Running > 0 {
				return fmt.Errorf("the task %s compensates, and %d of its children run", p.Task.ID, f.Running)
			}
		}
	}
	return nil
}

func (m *model) repairStep(id, step task.ID, kind engine.ActKind) error {
	repaired, err := both(m, func(w *world) (*task.Step, error) {
		return w.engine.Operate(w.ctx, id, step, engine.StepAct{Kind: kind, Actor: "ada",
			Reason: "at the end"})
	}, task.WrongState)
	if err != nil || repaired != nil {
		return err
	}
	_, err = both(m, func(w *world) ([]engine.Receipt, error) {
		return w.engine.Cancel(w.ctx, []task.ID{id}, engine.Cancellation{Actor: "ada"})
	})
	return err
}
