package engine

import (
	"encoding/json"
	"slices"

	"github.com/taskerhq/tasker/internal/model/task"
)

// bounded encodes a snapshot in at most snapshotBytes. It drops first the data that can be read
// elsewhere: the template, then steps. Failed and running steps are kept before waiting and
// finished ones. It keeps snapshotText bytes in reserve for the rest of the document.
// Each attempt encodes the document again, which is rare: most snapshots fit at once.
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

// fitting returns the most important steps that fit a size in bytes, in their order.
// The important ones come first in two passes, and the result is in the order of the steps.
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
