package scenario_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/limit"
	"github.com/taskerhq/tasker/internal/model/task"
)

// modelLimited are targets with overlapping limits: of a route and of all routes of its handler.
var modelLimited = []task.PauseTarget{
	{Kind: task.PauseHandler, Namespace: engine.DefaultNamespace, Name: "h"},
	{Kind: task.PauseHandler, Namespace: engine.DefaultNamespace, Name: "i"},
	{Kind: task.PauseRoute, Namespace: engine.DefaultNamespace, Name: "h", Capabilities: "gpu"},
	{Kind: task.PauseRoute, Namespace: engine.DefaultNamespace, Name: "h"},
}

// passes are the steps that a limit has let begin since it was set or changed.
type passes struct {
	rate limit.Rate
	at   []task.Instant
}

func (m *model) limit(o op) error {
	target := modelLimited[o.n[0]%uint32(len(modelLimited))]
	if o.n[1]%3 == 0 {
		_, err := both(m, func(w *world) (*task.OperatorLimit, error) {
			return w.engine.DeleteLimit(w.ctx, target, "ann", "")
		}, task.NotFound)
		delete(m.passes, target)
		return err
	}
	r := engine.LimitRequest{Target: target, Actor: "ann"}
	if o.n[2]%4 > 0 {
		r.Permits = 1 + int(o.n[3]%3)
	}
	if o.n[2]%4 < 2 {
		r.Rate = limit.Rate{Count: 1 + int(o.n[3]>>8%4), Per: 10 * time.Second, Burst: 1 + int(o.n[4]%3)}
	}
	return m.setLimit(r)
}

func (m *model) setLimit(r engine.LimitRequest) error {
	_, err := both(m, func(w *world) (*task.OperatorLimit, error) {
		l, _, err := w.engine.SetLimit(w.ctx, r)
		return l, err
	})
	m.passes[r.Target] = &passes{rate: r.Rate}
	return err
}

func (m *model) widen() error {
	limits, err := m.worlds[0].operatorLimits()
	for _, l := range limits {
		if err == nil {
			err = m.setLimit(engine.LimitRequest{Target: l.PauseTarget, Actor: "ann", Permits: 100})
		}
	}
	return err
}

func (w *world) operatorLimits() ([]engine.OperatorLimitView, error) {
	limits, _, err := w.engine.OperatorLimits(w.ctx, engine.OperatorLimitFilter{Limit: len(modelLimited)})
	return limits, err
}

// checkPasses: no limit has begun a step beyond its permits or its rate.
func (m *model) checkPasses(leases []engine.Lease) error {
	w := m.worlds[0]
	for i := range leases {
		l := &leases[i]
		if spec := l.Template.Spec(&l.Step).RateLimit; spec != nil {
			if m.rates[l.Template.Name] == nil {
				m.rates[l.Template.Name] = &passes{rate: spec.Rate}
			}
			if err := m.rates[l.Template.Name].add(1, w.engine.Now()); err != nil {
				return fmt.Errorf("the template %s: %w", l.Template.Name, err)
			}
		}
	}
	limits, err := w.operatorLimits()
	if err != nil {
		return err
	}
	for _, l := range limits {
		begun := 0
		for _, lease := range leases {
			r, err := w.engine.RouteOf(w.ctx, lease.Step.RouteID)
			if err != nil {
				return err
			}
			if covers(l.PauseTarget, r) {
				begun++
			}
		}
		if begun > 0 && l.Permits > 0 && l.Held > l.Permits {
			return fmt.Errorf("%d steps began under the limit of %s: %d permits of %d are held", begun, l.PauseTarget,
				l.Held, l.Permits)
		}
		if err := m.passes[l.PauseTarget].add(begun, w.engine.Now()); err != nil {
			return fmt.Errorf("%s: %w", l.PauseTarget, err)
		}
	}
	return nil
}

func covers(t task.PauseTarget, r *task.Route) bool {
	return t.Name == r.Handler && (t.Kind == task.PauseHandler || t.Capabilities == r.CapabilityKey())
}

// add counts n steps that began now. No window may have more than the burst plus the rate allows.
func (p *passes) add(n int, now task.Instant) error {
	if p.rate.Zero() {
		return nil
	}
	for range n {
		p.at = append(p.at, now)
	}
	for i, from := range p.at {
		window := now.Sub(from)
		if most := p.rate.Burst + int(int64(window)*int64(p.rate.Count)/int64(p.rate.Per)); len(p.at)-i > most && n > 0 {
			return fmt.Errorf("%d steps began within %s, at a rate of %s", len(p.at)-i, window, p.rate)
		}
	}
	return nil
}

// checkPermits: each held step has one permit of each limit on its route; no other step has one, and a deleted limit
// has none.
func (w *world) checkPermits(tasks []taskPicture, limits []engine.OperatorLimitView) error {
	nos := make([]int64, len(modelLimited))
	for i, t := range modelLimited {
		nos[i] = t.LimitNo()
	}
	held, err := w.store.OperatorLimitStore().HeldPermits(w.ctx, nos)
	if err != nil {
		return err
	}
	for i, target := range modelLimited {
		want := 0
		if slices.ContainsFunc(limits, func(l engine.OperatorLimitView) bool {
			return l.PauseTarget == target && l.Permits > 0
		}) {
			if want, err = w.leased(tasks, target); err != nil {
				return err
			}
		}
		if held[nos[i]] != want {
			return fmt.Errorf("%d permits of the limit of %s are held, by %d steps", held[nos[i]], target, want)
		}
	}
	return nil
}

func (w *world) leased(tasks []taskPicture, target task.PauseTarget) (n int, err error) {
	for _, p := range tasks {
		for _, s := range p.Steps {
			if !s.State.Leased() {
				continue
			}
			r, err := w.engine.RouteOf(w.ctx, s.RouteID)
			if err != nil {
				return 0, err
			}
			if covers(target, r) {
				n++
			}
		}
	}
	return n, nil
}
