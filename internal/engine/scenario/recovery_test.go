package scenario_test

import (
	"fmt"
	"strconv"
	"time"

	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (in *interpreter) configureRecovery(a *args) error {
	r := &in.config.Recovery
	for key, d := range map[string]*time.Duration{"timeout_cap": &r.TimeoutCap, "stagger": &r.Stagger,
		"max_stagger": &r.MaxStagger, "base": &r.BaseDelay, "requeue_delay": &r.RequeueDelay} {
		if err := a.duration(key, d); err != nil {
			return err
		}
	}
	if r.Stagger < 0 {
		r.Stagger = -1
	}
	for key, n := range map[string]*int{"boost": &r.BoostLevels, "transient": &r.Limits.Transient,
		"resource": &r.Limits.Resource,
		"logic":    &r.Limits.Logic, "lost": &r.Limits.Worker,
		"free_returns": &in.config.Leases.FreeReturns, "free_releases": &in.config.Leases.FreeReleases} {
		if err := a.number(key, n); err != nil {
			return err
		}
	}
	if v, ok := a.get("growth"); ok {
		r.TimeoutGrowth = task.GrowthRule(v)
	}
	if v, ok := a.get("retry_priority"); ok {
		r.RetryPriority = settings.RetryPriority(v)
	}
	for key, n := range map[string]*float64{"free_fraction": &in.config.Leases.FreeRequeueFraction, "jitter": &r.Jitter,
		"roll": &in.dice} {
		if v, ok := a.get(key); ok {
			var err error
			if *n, err = strconv.ParseFloat(v, 64); err != nil {
				return scriptError{err}
			}
		}
	}
	return nil
}

func (in *interpreter) showRecovery(a *args) ([]string, error) {
	t, rows, err := in.shown(a)
	if err != nil {
		return nil, err
	}
	records, err := in.engine.Records(in.ctx, t.ID)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range rows {
		class, due := "", task.Instant(0)
		for _, x := range records.Attempts {
			if x.StepID == r.ID && x.Failure != nil {
				class = string(x.Failure.Class)
			}
		}
		if r.Queue == task.Timers {
			due = task.Instant(r.Key)
		}
		out = append(out,
			r.name+" "+
				line([]field{{"state", string(r.State)}, {"attempts", fmt.Sprintf("%d/%d", r.Attempts, r.MaxAttempts)},
					{"due", in.sinceStart(due)},
					{"timeout", r.Timeout.String()}, {"priority", in.engine.PriorityName(r.Priority)}, {"class", class}}))
	}
	return out, nil
}
