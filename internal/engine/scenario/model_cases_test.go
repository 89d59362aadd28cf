package scenario_test

import (
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (m *model) caseVerb(o op) error {
	if len(m.tasks) == 0 {
		return nil
	}
	id := m.tasks[int(o.n[0])%len(m.tasks)]
	switch o.n[1] % 8 {
	case 0, 1:
		_, err := both(m, func(w *world) (*task.Case, error) {
			return w.engine.OpenCase(w.ctx, id, engine.CaseRequest{Actor: "ada", Reason: "because", Metadata: []byte(`{"n":1}`)})
		}, task.NotFound, task.Conflict)
		return err
	case 2:
		_, err := both(m, func(w *world) ([]string, error) {
			found, err := w.engine.DetectStaleness(w.ctx, 1+int(o.n[2]%5), o.n[3]%4 == 0)
			var said []string
			for _, d := range found {
				said = append(said, fmt.Sprint(d.Task, d.State, d.InState, d.Threshold, d.Action, d.Case, d.Errored, d.Err))
			}
			return said, err
		})
		return err
	}
	notes := "because"
	change := []task.CaseChange{
		{Metadata: []byte(`{"n":null,"m":2}`)}, {Status: task.CaseResolved, Actor: "ada"},
		{Status: task.CaseCancelled, Actor: "bob", Notes: &notes},
		{Status: task.CaseFailed, Actor: "eve"}, {Reopen: true, Actor: "ada", Notes: &notes},
	}[o.n[2]%5]
	_, err := both(m, func(w *world) (*task.Case, error) {
		c, err := w.engine.CaseOfTask(w.ctx, id)
		if err != nil {
			return nil, err
		}
		return w.engine.UpdateCase(w.ctx, c.ID, change)
	}, task.NotFound, task.WrongState, task.Conflict)
	return err
}

func (w *world) cases() ([]*task.Case, error) {
	const page = 1000
	cases, err := w.engine.Cases(w.ctx, engine.CaseFilter{Limit: page})
	if err == nil && len(cases) == page {
		err = fmt.Errorf("there are more than %d cases", page-1)
	}
	for i := range cases {
		if err == nil {
			cases[i], err = w.engine.Case(w.ctx, cases[i].ID)
			cases[i].Snapshot = withoutCiphers(cases[i].Snapshot)
		}
	}
	return cases, err
}

// checkCases requires at most one pending case, which its task refers to.
func (p taskPicture) checkCases(all []*task.Case) error {
	pending, mark := 0, task.CaseMark("")
	for _, c := range all {
		switch {
		case c.TaskID != p.Task.ID:
			continue
		case c.Status == task.CasePending:
			pending++
			mark = task.HasPending
		case mark == "":
			mark = task.HasClosed
		}
		if len(c.Snapshot) == 0 || !slices.Contains(task.States, c.OriginalState) {
			return fmt.Errorf("its case %s is of a task in %q, with %d bytes of snapshot", c.ID, c.OriginalState,
				len(c.Snapshot))
		}
	}
	if mark == "" && p.Task.Meta.Case == task.HadClosed {
		return nil
	}
	if pending > 1 || p.Task.Meta.Case != mark {
		return fmt.Errorf("it says %q of its cases, of which %d are pending", p.Task.Meta.Case, pending)
	}
	if p.Task.State == task.Errored && mark == "" {
		return fmt.Errorf("it is in error and has no case")
	}
	return nil
}
