package scenario_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// modelConfig opens outages soon and probes with each step of the model's clock. Some signals expire. The steps of a
// lost worker return together: their staggering would depend on the dispatcher's leases. The background loops run
// less often than a rate admits steps.
var modelConfig = settings.Config{UpkeepInterval: 10 * time.Second,
	Limits: settings.Limits{BatchItems: modelBatch}, Signals: settings.Signals{Keep: 20 * time.Minute},
	Recovery: settings.Recovery{Stagger: -1}, OutageBreaker: settings.OutageBreaker{Enabled: settings.On, Failures: 4,
		Within: 5 * time.Minute, ProbeInterval: 5 * time.Second, MaxProbeInterval: 40 * time.Second}}

var down = task.Failure{Message: "down", Retryable: true}

func (w *world) openOutages() (map[int64]*task.Outage, error) {
	list, _, err := w.engine.Outages(w.ctx, engine.OutageFilter{State: engine.OutageOpen, Limit: 100})
	open := map[int64]*task.Outage{}
	for _, o := range list {
		open[o.RouteID] = o
	}
	return open, err
}

func (w *world) outages() ([]*task.Outage, error) {
	const page = 1000
	list, more, err := w.engine.Outages(w.ctx, engine.OutageFilter{Limit: page})
	if more {
		err = fmt.Errorf("there are more than %d outages", page)
	}
	return list, err
}

func (m *model) outage(o op) error {
	if o.n[0]%4 > 0 {
		return m.burst(o)
	}
	list, err := m.worlds[0].outages()
	if err != nil || len(list) == 0 {
		return err
	}
	id := list[int(o.n[1])%min(len(list), 3)].ID
	_, err = both(m, func(w *world) (*task.Outage, error) {
		return w.engine.CloseOutage(w.ctx, id, "ann", "because", 0)
	}, task.WrongState)
	return err
}

func (m *model) burst(o op) error {
	refs := map[task.ID]bool{}
	var results []engine.Result
	for i := len(m.leases) - 1; i >= 0 && len(results) < 3+int(o.n[1]%(modelBatch-2)); i-- {
		if l := m.leases[i]; !refs[l.Step] {
			refs[l.Step] = true
			f := down
			f.Retryable = o.n[2]>>(len(results))%2 == 0
			results = append(results, engine.Result{Step: l.Step, Token: l.Token, Status: engine.ResultFailed, Failure: &f})
		}
	}
	if len(results) == 0 {
		return nil
	}
	return m.settle(results)
}

// beforeReport is the state before a result is reported.
type beforeReport struct {
	outage *task.Outage
	step   *task.Step
}

func (m *model) beforeReports(results []engine.Result) ([]beforeReport, error) {
	w := m.worlds[0]
	open, err := w.openOutages()
	if err != nil || len(open) == 0 {
		return nil, err
	}
	before := make([]beforeReport, len(results))
	for i, r := range results {
		s, err := m.stepOf(r.Step)
		if err != nil {
			return nil, err
		}
		if s != nil {
			before[i] = beforeReport{open[s.RouteID], s}
		}
	}
	return before, nil
}

// stepOf returns nil if the step was deleted.
func (m *model) stepOf(id task.ID) (*task.Step, error) {
	w := m.worlds[0]
	t, steps, err := w.engine.Steps(w.ctx, m.taskOf[id])
	if task.CodeOf(err) == task.NotFound {
		return nil, nil
	}
	if err != nil || t == nil {
		return nil, err
	}
	i := slices.IndexFunc(steps, func(s *task.Step) bool { return s.ID == id })
	return steps[i], nil
}

// checkSpared: a failure with the fingerprint of an open outage costs no attempt, and a successful probe closes its
// outage.
func (m *model) checkSpared(results []engine.Result, answers []engine.Answer, before []beforeReport) error {
	if before == nil {
		return nil
	}
	open, err := m.worlds[0].openOutages()
	if err != nil {
		return err
	}
	for i, b := range before {
		if b.outage == nil || answers[i].Err != nil {
			continue
		}
		r, o := results[i], b.outage
		switch {
		case r.Status == engine.ResultCompleted && o.IsProbe(r.Step, r.Token):
			if left := open[o.RouteID]; left != nil && left.ID == o.ID {
				return fmt.Errorf("the probe %s succeeded, and the outage %s is open", r.Step, o.ID)
			}
		case r.Status == engine.ResultFailed && r.Failure.Message == down.Message && strings.Contains(o.Title, down.Message):
			s, err := m.stepOf(r.Step)
			if err != nil {
				return err
			}
			if s.State == task.StepErrored || s.Attempts > b.step.Attempts ||
				b.step.State == task.StepInProgress && s.Attempts == b.step.Attempts {
				return fmt.Errorf("step %s failed because of the open outage %s and was charged: it is %s after %d attempts",
					r.Step, o.ID, s.State, s.Attempts)
			}
		}
	}
	return nil
}

// checkProbes: a route with an open outage handed out at most one probe.
func (m *model) checkProbes(leases []engine.Lease, before map[int64]*task.Outage) error {
	after, err := m.worlds[0].openOutages()
	if err != nil {
		return err
	}
	for _, l := range leases {
		was := before[l.Step.RouteID]
		if was == nil {
			continue
		}
		if o := after[l.Step.RouteID]; o == nil || o.ID != was.ID || !o.IsProbe(l.Step.ID, l.Step.Token) ||
			o.Probes != was.Probes+1 {
			return fmt.Errorf("step %s was handed out during the outage %s, and is no probe of it", l.Step.ID, was.ID)
		}
	}
	return nil
}
