package scenario_test

import (
	"errors"

	"github.com/taskerhq/tasker/internal/engine/due"
)

// moveOn does what the engine does after commits: steps take signals and count children. Each may trigger the other.
func (w *world) moveOn() error {
	for range 1000 {
		signals, _, err := w.engine.HandOverSignals(w.ctx)
		if w.fails(err) {
			return err
		}
		families, _, err := w.engine.AdvanceChildren(w.ctx)
		if w.fails(err) {
			return err
		}
		if signals+families == 0 {
			return nil
		}
	}
	return errors.New("signals, or steps with child tasks, do not come to rest")
}

// fails ignores rows that were skipped because a key is missing.
func (w *world) fails(err error) bool { return err != nil && !(w.keyless && due.OnlyRows(err)) }
