package scenario_test

import (
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/model/task"
)

// crash lets workers take steps one after the other and fall silent, as with a step that kills its workers.
func (m *model) crash(o op) error {
	for range 3 + o.n[0]%2 {
		if err := m.register(task.Worker{Name: "doomed", Capacity: 3, Capabilities: []string{"gpu"}}); err != nil {
			return err
		}
		if _, err := m.claim(m.workers[len(m.workers)-1], 1+int(o.n[1]%2), o.n[2]%4 > 0); err != nil {
			return err
		}
		if err := m.after(); err != nil { // else a rate counts the steps later
			return err
		}
		for _, next := range []op{{kind: "advance", n: [6]uint32{5, 1}}, {kind: "upkeep", n: [6]uint32{1}}} {
			if err := m.do(next); err != nil {
				return err
			}
		}
	}
	return nil
}

// graced reports whether the server was back for less than a lease. Lost workers cost nothing then.
func (m *model) graced(at task.Instant) bool {
	lease := m.worlds[0].engine.Config().Leases.Lease()
	return slices.ContainsFunc(m.arrived, func(from task.Instant) bool { return from <= at && at < from.Add(lease) })
}

// checkReturns bounds the free losses and unstarted leases in a row.
func (m *model) checkReturns(p taskPicture) error {
	most := m.worlds[0].engine.Config().Leases.FreeReturns
	for _, s := range p.Steps {
		began, free := task.LastReset(s.ID, p.Records.Acts), 0
		for _, a := range p.Records.Attempts {
			switch lost := a.Outcome == task.LeaseExpired || a.Outcome == task.NotStarted; {
			case a.StepID != s.ID, a.FinishedAt <= began, a.Outcome == task.Released:
			case !lost:
				free = 0
			case a.Failure == nil && !m.graced(a.FinishedAt):
				if free++; free > most {
					return fmt.Errorf("step %d came back from %d lost workers in a row without a charge", s.Ordinal, free)
				}
			}
		}
	}
	return nil
}
