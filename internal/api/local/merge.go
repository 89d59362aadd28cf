package local

import (
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

type record struct {
	attempt *task.Attempt
	act     *task.Act
}

// merged returns the records of one step in the order of writing. An act follows the attempt that it ended. Both lists
// are sorted by time.
func merged(r engine.Records, s *task.Step) []record {
	var out []record
	acts := r.Acts
	for i := range r.Attempts {
		a := &r.Attempts[i]
		if a.StepID != s.ID {
			continue
		}
		// Strictly before: an act of the same time follows the attempt that it ended.
		for len(acts) > 0 && acts[0].At < a.FinishedAt {
			if acts[0].StepID == s.ID {
				out = append(out, record{act: &acts[0]})
			}
			acts = acts[1:]
		}
		out = append(out, record{attempt: a})
	}
	for i := range acts {
		if acts[i].StepID == s.ID {
			out = append(out, record{act: &acts[i]})
		}
	}
	return out
}
