package task

import "github.com/taskerhq/tasker/internal/model/limit"

// linkGates gives each step its own limits, else the template's shared ones. A rate comes last, because nothing may
// hold back a step that has used some of it.
func (t *Template) linkGates() {
	t.Limited = false
	for i := range t.Steps {
		s := &t.Steps[i]
		s.Gates = nil
		if !s.Worked() { // no place in a queue
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
