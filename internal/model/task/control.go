package task

import "slices"

// Kind is what runs a step.
type Kind string

// The kinds of steps.
const (
	KindWork  Kind = ""      // a worker runs it
	KindWait  Kind = "wait"  // it waits for a time, an approval or a signal
	KindTasks Kind = "tasks" // its child tasks carry it out
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

// Special reports whether the engine looks at the step before it is ready: it has a condition, no worker runs it, or it
// runs only after a failure.
func (s StepSpec) Special() bool { return s.When != "" || s.Kind() != KindWork || s.OnFailure }

// Named returns the indices of steps by their names. An unknown name is left out.
func (t *Template) Named(names []string) []int {
	var out []int
	for i := range t.Steps {
		if slices.Contains(names, t.Steps[i].Name) {
			out = append(out, i)
		}
	}
	return out
}

// Above reports whether a step depends on another, directly or through others; both are indices into Steps.
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

// linkControl notes whether a step is special, and whether one runs only after a failure.
func (t *Template) linkControl() {
	t.Controlled, t.Compensated = false, false
	for i := range t.Steps {
		t.Controlled = t.Controlled || t.Steps[i].Special()
		t.Compensated = t.Compensated || t.Steps[i].OnFailure
	}
}

// Unrun begins an attempt that no worker runs.
func (s *Step) Unrun(now Instant) {
	s.hold(0, now)
	s.Attempts++
	s.StartedAt = now
}

// Again makes a step pending whose wait for a retry is over and that no worker runs: it begins anew.
func (s *Step) Again() error {
	if err := s.move(StepPending); err != nil {
		return err
	}
	s.leave()
	return nil
}
