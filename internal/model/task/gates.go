package task

import "github.com/taskerhq/tasker/internal/model/limit"

// linkGates gives each step the gates of the limits that apply to it: its own ones, else those of the template, which
// all steps without their own share. A rate comes last, so that nothing holds back a step that has used a part of it.
func (t *Template) linkGates() {
	t.Limited = false
	for i := range t.Steps {
		s := &t.Steps[i]
		s.Gates = nil
		if !s.Worked() { // no worker runs it: it has no place in a queue
			continue
		}
		for _, of := range [...]struct{ own, common *limit.Spec }{
			{s.Concurrency, t.Concurrency}, {s.RateLimit, t.RateLimit},
		} {
			switch {
			case of.own != nil:
				s.Gates = append(s.Gates, of.own.GateOf("step "+t.Name+"/"+s.Name))
			case of.common != nil:
				s.Gates = append(s.Gates, of.common.GateOf("template "+t.Name))
			}
		}
		t.Limited = t.Limited || len(s.Gates) > 0
	}
}
