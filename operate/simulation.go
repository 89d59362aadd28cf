package operate

import (
	"encoding/json"

	"github.com/taskerhq/tasker"
)

// Simulation is what became of a task that was simulated: run without workers, on its own clock, with the outcomes
// that a script gives. Times are in milliseconds after the submission. Attempts take no time; waits and back-offs do.
type Simulation struct {
	Template string           `json:"template"`
	Version  string           `json:"version"`
	State    tasker.TaskState `json:"state"`
	TookMS   int64            `json:"took_ms"`
	// Stuck says why the task cannot end without somebody: "" for a task that has ended.
	Stuck string          `json:"stuck,omitempty"`
	Steps []SimulatedStep `json:"steps"`
}

// SimulatedStep is what became of a step in a Simulation.
type SimulatedStep struct {
	Name     string           `json:"name"`
	State    tasker.StepState `json:"state"`
	Attempts int              `json:"attempts"`
	BeganMS  *int64           `json:"began_ms,omitempty"` // of the last attempt; nil for a step without one
	EndedMS  *int64           `json:"ended_ms,omitempty"`
	Result   json.RawMessage  `json:"result,omitempty"`
	Failure  string           `json:"failure,omitempty"` // of the last attempt that failed
	When     string           `json:"when,omitempty"`    // the condition that did not hold, of a skipped step
}

// Step returns the step of that name, nil if there is none.
func (s *Simulation) Step(name string) *SimulatedStep {
	for i := range s.Steps {
		if s.Steps[i].Name == name {
			return &s.Steps[i]
		}
	}
	return nil
}
