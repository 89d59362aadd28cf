package task

import "slices"

// Kind is the executor of a step.
type Kind string

// The kinds of steps.
const (
	KindWork  Kind = ""
	KindWait  Kind = "wait" // it waits for a time, an approval or a signal
	KindTasks Kind = "tasks"
)

// Kind returns the kind of the step.
func (s StepSpec) Kind() Kind {
	switch {
	case s.Wait != nil:
		return KindWait
	case s.Tasks != nil:
		return KindTasks
	default:
		return KindWork
	}
}

// Worked reports whether a worker runs the step.
func (s StepSpec) Worked() bool { return s.Kind() == KindWork }

// Special reports whether the engine handles the step before it is ready.
func (s StepSpec) Special() bool { return s.When != "" || s.Kind() != KindWork || s.OnFailure }

// Named returns the indexes of the known steps by name.
func (t *Template) Named(names []string) []int {
	var out []int
	for i := range t.Steps {
		if slices.Contains(names, t.Steps[i].Name) {
			out = append(out, i)
		}
	}
	return out
}

// Above reports whether a step depends on another, directly or not, by their indexes.
func (t *Template) Above(step, other int) bool {
	seen := make([]bool, len(t.Steps))
	todo := []int{step}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, p := range t.Steps[at].Parents {
			if p == other {
				return true
			}
			if !seen[p] {
				seen[p] = true
				todo = append(todo, p)
			}
		}
	}
	return false
}

func (t *Template) linkControl() {
	t.Controlled, t.Compensated = false, false
	for i := range t.Steps {
		t.Controlled = t.Controlled || t.Steps[i].Special()
		t.Compensated = t.Compensated || t.Steps[i].OnFailure
	}
}

// Unrun begins an attempt without a worker.
func (s *Step) Unrun(now Instant) {
	s.hold(0, now)
	s.Attempts++
	s.StartedAt = now
}

// Again makes a step without a worker pending after its wait for a retry.
func (s *Step) Again() error {
	if err := s.move(StepPending); err != nil {
		return err
	}
	s.leave()
	return nil
}
