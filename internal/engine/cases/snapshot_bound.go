package cases

import (
	"encoding/json"
	"slices"

	"github.com/taskerhq/tasker/internal/model/task"
)

// bounded drops data available elsewhere: the template, then steps, but failed and running ones last. It reserves
// snapshotText bytes for the rest. Few snapshots need a second encoding.
func (s *snapshot) bounded() ([]byte, error) {
	b, err := json.Marshal(s)
	if err != nil || len(b) <= snapshotBytes {
		return b, err
	}
	s.Template = nil
	if b, err = json.Marshal(s); err != nil || len(b) <= snapshotBytes {
		return b, err
	}
	all := s.Steps
	s.Steps = nil
	if b, err = json.Marshal(s); err != nil {
		return nil, err
	}
	if s.Steps, err = fitting(all, snapshotBytes-len(b)-snapshotText); err != nil {
		return nil, err
	}
	s.StepsOmitted = len(all) - len(s.Steps)
	return json.Marshal(s)
}

func fitting(all []snapshotStep, left int) ([]snapshotStep, error) {
	matters := func(s snapshotStep) bool {
		return s.LastError != nil || s.CurrentState != task.StepPending && !s.CurrentState.Terminal()
	}
	kept := make([]bool, len(all))
	for _, first := range []bool{true, false} {
		for i, s := range all {
			if matters(s) != first {
				continue
			}
			b, err := json.Marshal(s)
			if err != nil {
				return nil, err
			}
			if left -= len(b) + 1; left < 0 {
				break
			}
			kept[i] = true
		}
	}
	i := -1
	return slices.DeleteFunc(slices.Clone(all), func(snapshotStep) bool { i++; return !kept[i] }), nil
}
