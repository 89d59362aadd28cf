package scenario_test

import (
	"strings"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
)

// Commands about health probes, circuit breakers and drains of workers.

func (in *interpreter) configureWorkers(a *args) error {
	b, p := &in.config.WorkerBreaker, &in.config.WorkerProbes
	b.Count = settings.BreakerCount(a.text("breaker_count"))
	return firstError(a.number("breaker_failures", &b.Failures), a.duration("breaker_open_for", &b.OpenFor),
		a.number("breaker_half_open", &b.HalfOpen),
		a.number("unhealthy_after", &p.UnhealthyAfter))
}

func (in *interpreter) probe(a *args) ([]string, error) {
	h, err := in.first(a)
	if err != nil {
		return nil, err
	}
	w, err := in.engine.Worker(in.ctx, h.id)
	if err != nil {
		return nil, err
	}
	fault := strings.Join(a.places[1:], " ")
	if fault == "ok" {
		fault = ""
	}
	turned, err := in.engine.Probed(in.ctx, []engine.Probe{{Worker: w, Fault: fault}})
	var out []string
	for _, w := range turned {
		out = append(out, w.Name+" "+string(w.State))
	}
	return out, err
}

func (in *interpreter) resume(a *args) ([]string, error) {
	h, err := in.first(a)
	if err != nil {
		return nil, err
	}
	w, err := in.engine.ResumeWorker(in.ctx, h.id, engine.WorkerAct{})
	if err != nil {
		return nil, err
	}
	return []string{w.Name + " " + string(w.State)}, nil
}
