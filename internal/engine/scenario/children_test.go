package scenario_test

import (
	"fmt"
	"strings"

	"github.com/taskerhq/tasker/internal/engine"
)

func (in *interpreter) showChildren(a *args) ([]string, error) {
	name, err := a.place(0, "the step")
	if err != nil {
		return nil, err
	}
	_, r, err := in.target(name)
	if err != nil {
		return nil, err
	}
	limit := 20
	if err := a.number("n", &limit); err != nil {
		return nil, err
	}
	fan, err := in.engine.FanOut(in.ctx, r.ID)
	if err != nil || fan == nil {
		return []string{"none"}, err
	}
	list, err := in.world.store.ChildStore().ListChildren(in.ctx, r.ID, engine.ChildFilter{Limit: limit, Results: true})
	if err != nil {
		return nil, err
	}
	out := []string{fan.Outline()}
	_, step, _ := strings.Cut(name, ".")
	for _, c := range list {
		as := fmt.Sprintf("%s%d", step, c.Index)
		if !c.Task.IsZero() {
			in.tasks[as] = c.Task
		}
		line := fmt.Sprintf("%s %s", as, c.State)
		if c.Result != nil {
			line += " result=" + string(c.Result)
		}
		if c.Note != "" {
			line += " note=" + c.Note
		}
		out = append(out, line)
	}
	return out, nil
}
