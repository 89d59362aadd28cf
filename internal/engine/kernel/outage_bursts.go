package kernel

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Failures are counted after their commit: in memory, then in one row per route and fingerprint that all processes
// share. So settlements never wait for the row. A killed process loses the counts not yet stored.

// mu guards the maps; failing is read without it, so that successes cost one atomic load while nothing fails.
type outages struct {
	cfg settings.OutageBreaker

	failing atomic.Int64
	mu      sync.Mutex
	pending map[int64]map[int64]*pendingBurst

	probing sync.Mutex   // held while this process looks for a probe
	due     atomic.Int64 // when the first probe is due; 0: never
}

// pendingBurst stays for a while without failures, so that successes count against them.
type pendingBurst struct {
	failures, successes int
	title               string
	until               task.Instant
}

const maxBursts = 1000

// EventHooks store events for webhooks.
type EventHooks interface {
	StoreEvents(ctx context.Context, tx Tx, events ...deadletter.Event) error
}

func (o *outages) on() bool { return o.cfg.Enabled == settings.On }

func (o *outages) rules() task.OutageRules { return o.cfg.Rules() }

func (o *outages) counts(route int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.pending[route]) > 0
}

func (o *outages) note(failures []burstFailure, successes map[int64]int, now task.Instant) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.pending == nil {
		o.pending = map[int64]map[int64]*pendingBurst{}
	}
	for _, f := range failures {
		of := o.pending[f.route]
		if of == nil {
			of = map[int64]*pendingBurst{}
			o.pending[f.route] = of
		}
		b := of[f.group]
		if b == nil {
			if o.size() >= maxBursts {
				continue
			}
			b = &pendingBurst{title: f.title}
			of[f.group] = b
		}
		b.failures++
		b.until = now.Add(o.cfg.Within)
	}
	for route, n := range successes {
		for _, b := range o.pending[route] {
			b.successes += n
		}
	}
	o.tidy(now)
	return len(failures) > 0
}

func (o *outages) size() (n int) {
	for _, of := range o.pending {
		n += len(of)
	}
	return n
}

func (o *outages) tidy(now task.Instant) {
	for route, of := range o.pending {
		maps.DeleteFunc(of, func(_ int64, b *pendingBurst) bool {
			return b.failures == 0 && (b.until < now || b.until > now.Add(o.cfg.Within))
		})
		if len(of) == 0 {
			delete(o.pending, route)
		}
	}
	o.failing.Store(int64(len(o.pending)))
}

type countedBurst struct {
	task.Burst

	route               *task.Route
	title               string
	failures, successes int
}

// take returns and resets the counts, in the lock order of the rows.
func (o *outages) take() []countedBurst {
	o.mu.Lock()
	defer o.mu.Unlock()
	var list []countedBurst
	for route, of := range o.pending {
		for group, b := range of {
			if b.failures > 0 {
				list = append(list, countedBurst{Burst: task.Burst{RouteID: route, Group: group}, title: b.title,
					failures: b.failures, successes: b.successes})
				b.failures, b.successes = 0, 0
			}
		}
	}
	slices.SortFunc(list, func(a, b countedBurst) int { return a.Compare(b.Burst) })
	return list
}

func (o *outages) restore(list []countedBurst) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range list {
		if b := o.pending[c.RouteID][c.Group]; b != nil {
			b.failures += c.failures
			b.successes += c.successes
		}
	}
}

func (oo *outageOutcomes) publish() {
	e, u := oo.u.E, oo.u
	if len(oo.failures)+len(oo.successes) > 0 && e.outages.note(oo.failures, oo.successes, u.Now) && !e.ByHand {
		e.bursts.Post(struct{}{})
	}
	if !oo.changed {
		return
	}
	e.Publish(PeerEvents{Pauses: true})
	// The change is stored; on an error the upkeep loop reads it later.
	_ = e.RefreshPauses(context.WithoutCancel(u.Ctx))
}

// CountBursts stores counts, and opens outages. The engine calls it after each failure; upkeep repeats it after
// errors.
func (e *Kernel) CountBursts(ctx context.Context) error {
	if e.outages.failing.Load() == 0 {
		return nil
	}
	_, err := e.bursts.Do(ctx, struct{}{})
	return err
}

func (e *Kernel) runBursts(asked []struct{}) ([]struct{}, error) {
	list := e.outages.take()
	if len(list) == 0 {
		return asked, nil
	}
	left := make(map[burstKey]countedBurst, len(list)) // not counted yet
	for _, c := range list {
		left[burstKey{c.RouteID, c.Group}] = c
	}
	err := e.due.bursts.Try(context.Background(), e.Now(), list, func(ctx context.Context, some []countedBurst) error {
		if err := e.countBursts(ctx, some); err != nil {
			return err
		}
		for _, c := range some {
			delete(left, burstKey{c.RouteID, c.Group})
		}
		return nil
	})
	e.outages.restore(slices.Collect(maps.Values(left)))
	if err != nil {
		return nil, err
	}
	return asked, nil
}

type burstKey struct{ route, group int64 }

func (e *Kernel) countBursts(ctx context.Context, list []countedBurst) error {
	if err := e.routesOf(ctx, list); err != nil {
		return err
	}
	return e.Write(ctx, "count_failures", func(u *Unit) error {
		for i := range list {
			if err := outageSlot.Of(u).count(&list[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *Kernel) routesOf(ctx context.Context, list []countedBurst) (err error) {
	for i := range list {
		if list[i].route, err = e.Catalog.findRoute(ctx, list[i].RouteID); err != nil {
			return err
		}
	}
	return nil
}

func (oo *outageOutcomes) count(c *countedBurst) error {
	e, u, rules := oo.u.E, oo.u, oo.u.E.outages.rules()
	b, err := e.burstStore.AddBurst(u.Ctx, u.Tx, c.RouteID, c.Group, c.failures-c.successes, u.Now, rules.Within)
	if err != nil || b.Failures < rules.Failures || c.route == nil {
		return err
	}
	o := task.NewOutage(e.Store.IDs().Take(u.Now.Time(), 1), c.route, b, c.title, rules, u.Now)
	added, err := e.outageStore.AddOutage(u.Ctx, u.Tx, o)
	if err != nil {
		return err
	}
	if err := e.burstStore.ClearBursts(u.Ctx, u.Tx, c.RouteID); err != nil || !added {
		return err
	}
	oo.changed = true
	if err := e.closuresChanged(u); err != nil {
		return err
	}
	if err := oo.act(task.ActOpenOutage, o, System, o.Why()); err != nil {
		return err
	}
	return TellEvent(u, deadletter.OutageHappened(deadletter.EventOutageOpened, o, u.Now))
}

func firstOutage(a, b *task.Outage) int {
	return cmp.Or(cmp.Compare(a.NextProbeAt, b.NextProbeAt), cmp.Compare(a.RouteID, b.RouteID))
}
