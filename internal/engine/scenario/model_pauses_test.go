package scenario_test

import (
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// modelTargets exclude templates: a dispatcher's offered steps are leased once more before they are parked, so tokens
// would differ between the worlds.
var modelTargets = []task.PauseTarget{
	{Kind: task.PauseHandler, Namespace: engine.DefaultNamespace, Name: "h"},
	{Kind: task.PauseRoute, Namespace: engine.DefaultNamespace, Name: "h", Capabilities: "gpu"},
	{Kind: task.PauseNamespace, Namespace: engine.DefaultNamespace},
}

// pause sets pauses, most with an end, so that work continues.
func (m *model) pause(o op) error {
	target := modelTargets[o.n[0]%uint32(len(modelTargets))]
	if o.n[1]%2 == 0 {
		_, err := both(m, func(w *world) (*task.Pause, error) {
			return w.engine.ResumePaused(w.ctx, target, "ann", "")
		}, task.NotFound)
		return err
	}
	_, err := both(m, func(w *world) (*task.Pause, error) {
		p, _, err := w.engine.Pause(w.ctx, engine.PauseRequest{Target: target, Actor: "ann",
			Until: w.engine.Now().Add(time.Duration(1+o.n[2]%90) * time.Second)})
		return p, err
	})
	return err
}

// checkPauses requires that nothing paused was handed out.
func (m *model) checkPauses(leases []engine.Lease) error {
	for _, l := range leases {
		w := m.worlds[0]
		r, err := w.engine.RouteOf(w.ctx, l.Step.RouteID)
		if err != nil {
			return err
		}
		pauses, _, err := w.engine.Pauses(w.ctx, engine.PauseFilter{Limit: 10})
		if err != nil {
			return err
		}
		for _, p := range pauses {
			if p.Kind == task.PauseNamespace || p.Name == r.Handler && (p.Kind == task.PauseHandler ||
				p.Kind == task.PauseRoute && p.Capabilities == r.CapabilityKey()) {
				return fmt.Errorf("step %s of %s was handed out, although %s is paused", l.Step.ID, l.Template.Name,
					p.PauseTarget)
			}
		}
	}
	return nil
}
