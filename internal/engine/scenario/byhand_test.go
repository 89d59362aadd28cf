package scenario_test

import "errors"

// moveOn does at once what the engine does after commits: waiting steps take their signals, and steps with child tasks
// move on. Each may be the cause of the other.
func (w *world) moveOn() error {
	for range 1000 {
		signals, _, err := w.engine.HandOverSignals(w.ctx)
		if err != nil {
			return err
		}
		families, _, err := w.engine.AdvanceChildren(w.ctx)
		if err != nil || signals+families == 0 {
			return err
		}
	}
	return errors.New("signals, or steps with child tasks, do not come to rest")
}
