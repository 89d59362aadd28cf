package telemetry

import (
	"context"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Counter counts steps, leases, workers and cases in the store until ctx ends. An error means that the store does
// not answer. Calls are sequential.
type Counter func(ctx context.Context) (*engine.Census, error)

// Watch shows the results of count in the gauges, which are absent before. A second call replaces count and drops
// the last result.
func (t *Telemetry) Watch(count Counter) {
	t.census.watch(count)
}

// censusCache keeps the last census, nil without an answer, with its gauges.
type censusCache struct {
	remembered[*engine.Census]
	gauges gauges
}

// gauges show a census. All but up are absent without an answer: an outage must not look like an empty queue. See
// docs/reference/metrics.md.
type gauges struct {
	up, ready, oldest, leased, waiting, overdue, workers, breakers, capacity, load, paused,
	outages, limits, waits metric.Float64ObservableGauge
	pending, health, dispatch                                 metric.Float64ObservableGauge
	depth, age, score, risk, late, longest, used, clock, step metric.Float64ObservableGauge
}

func (c *censusCache) register(b *builder) {
	g := gauges{
		up: b.gauge("tasker.store.up", "", "1 if the store answers, else 0."),
		ready: b.gauge("tasker.queue.ready", "{step}",
			"Steps that are ready for a worker, counted up to 100,000 per route."),
		oldest:  b.gauge("tasker.queue.oldest.age", "s", "Longest wait of a ready step."),
		leased:  b.gauge("tasker.leases.held", "{lease}", "Steps that workers hold under a lease."),
		waiting: b.gauge("tasker.timers.waiting", "{step}", "Steps that wait for a time: a retry, a snooze, run_at."),
		overdue: b.gauge("tasker.timers.lag", "s",
			"Delay of the most overdue step that waits for a time."),
		workers:  b.gauge("tasker.workers", "{worker}", "Workers by state; dead workers of the last hour only."),
		breakers: b.gauge("tasker.worker.breakers", "{breaker}", "Circuit breakers of live workers by state."),
		capacity: b.gauge("tasker.workers.capacity", "{step}", "Steps that live workers can run at once."),
		load:     b.gauge("tasker.workers.load", "{step}", "Steps that live workers hold."),
		pending:  b.gauge("tasker.dlq.pending_investigations", "{entry}", "Open cases."),
		health: b.gauge("tasker.staleness.tasks", "{task}",
			"Tasks in a state with a staleness threshold, by health: warning from 80 % of the threshold, stale from 100 %."),
		dispatch: b.gauge("tasker.dispatch.active", "", "1 while steps are dispatched through Redis, 0 while the database "+
			"replaces it; absent without a configured Redis."),
	}
	g.depth = b.gauge("tasker.queue.depth", "{step}",
		"Steps that are ready for a worker, by priority; extrapolated from a sample above 10,000 steps.")
	g.age = b.gauge("tasker.queue.age", "s", "Wait of ready steps, by priority and percentile.")
	g.score = b.gauge("tasker.queue.score", "", "Sort keys of ready steps in seconds, by percentile; the lowest "+
		"key is claimed first.")
	g.risk = b.gauge("tasker.queue.starvation_risk", "{step}",
		"Ready steps that have waited longer than 80 % of the maximum wait.")
	g.late = b.gauge("tasker.queue.overdue", "{step}", "Ready steps that have waited longer than the maximum wait.")
	g.longest = b.gauge("tasker.queue.max_wait", "s", "Maximum wait of the current scheduling policy.")
	g.used = b.gauge("tasker.workers.used", "1", "Share of the capacity of live workers that is in use, 0 to 1.")
	g.clock = b.gauge("tasker.clock.offset", "s",
		"Lead of this machine's wall clock over the database's; 0 if the database has no clock of its own.")
	g.step = b.gauge("tasker.clock.step", "s",
		"Step of the deciding clock (PostgreSQL's, or with SQLite this machine's) that has not lasted for a minute yet "+
			"and is not followed; 0 for none.")
	g.paused = b.gauge("tasker.paused.routes", "{route}", "Routes that a pause closes.")
	g.limits = b.gauge("tasker.operator_limits", "{limit}",
		"Limits that operators have set, by state: full lets no step begin for the moment, open does.")
	g.waits = b.gauge("tasker.waiting.steps", "{step}",
		"Steps that wait for a time, an approval or a signal, by kind, counted up to 100,000 each.")
	g.outages = b.gauge("tasker.outages.open", "{outage}", "Routes that are held back because of an outage.")
	c.gauges = g
	b.observe(c.observe)
}

// observe never fails: an error would remove all other metrics.
func (c *censusCache) observe(ctx context.Context, o metric.Observer) error {
	census, watched := c.get(ctx)
	switch {
	case !watched:
	case census == nil:
		o.ObserveFloat64(c.gauges.up, 0)
	default:
		o.ObserveFloat64(c.gauges.up, 1)
		c.gauges.show(o, census)
	}
	return nil
}

// show subtracts times of the database's clock only. It lists states from package task, so that an empty one shows
// as 0.
func (g *gauges) show(o metric.Observer, c *engine.Census) {
	for n, r := range readyByName(c.Ready) {
		labels := metric.WithAttributes(namespaceKey.String(n.namespace), handlerKey.String(n.name))
		o.ObserveFloat64(g.ready, float64(r.steps), labels)
		age := time.Duration(0)
		if r.oldest != 0 {
			age = max(c.At.Sub(r.oldest), 0)
		}
		o.ObserveFloat64(g.oldest, age.Seconds(), labels)
	}
	o.ObserveFloat64(g.clock, c.ClockOffset.Seconds())
	o.ObserveFloat64(g.step, c.ClockStep.Seconds())
	o.ObserveFloat64(g.leased, float64(c.Leased))
	o.ObserveFloat64(g.paused, float64(c.Closed))
	o.ObserveFloat64(g.outages, float64(c.Outages))
	o.ObserveFloat64(g.limits, float64(c.Limits-c.FullLimits), metric.WithAttributes(stateKey.String("open")))
	o.ObserveFloat64(g.limits, float64(c.FullLimits), metric.WithAttributes(stateKey.String("full")))
	o.ObserveFloat64(g.waiting, float64(c.Waiting))
	for _, kind := range task.WaitKinds {
		o.ObserveFloat64(g.waits, float64(c.Waits[kind]), metric.WithAttributes(attribute.String("kind", string(kind))))
	}
	lag := time.Duration(0)
	if c.NextDue != 0 {
		lag = max(c.At.Sub(c.NextDue), 0)
	}
	o.ObserveFloat64(g.overdue, lag.Seconds())
	for _, state := range task.WorkerStates {
		o.ObserveFloat64(g.workers, float64(c.Workers[state]), metric.WithAttributes(stateKey.String(string(state))))
	}
	for _, state := range []task.BreakerState{task.BreakerClosed, task.BreakerOpen, task.BreakerHalfOpen} {
		o.ObserveFloat64(g.breakers, float64(c.Breakers[state]), metric.WithAttributes(stateKey.String(string(state))))
	}
	if c.Dispatch.Configured {
		active := 0.0
		if c.Dispatch.Active {
			active = 1
		}
		o.ObserveFloat64(g.dispatch, active)
	}
	o.ObserveFloat64(g.capacity, float64(c.Capacity))
	o.ObserveFloat64(g.load, float64(c.Load))
	if c.Capacity > 0 {
		o.ObserveFloat64(g.used, float64(c.Load)/float64(c.Capacity))
	}
	g.showQueue(o, c.Queue)
	o.ObserveFloat64(g.pending, float64(c.Investigations.Pending))
	for _, health := range slices.Sorted(maps.Keys(c.Investigations.Health)) {
		o.ObserveFloat64(g.health, float64(c.Investigations.Health[health]), metric.WithAttributes(healthKey.String(health)))
	}
}

// showQueue omits a percentile of no steps, and a limit without a maximum wait.
func (g *gauges) showQueue(o metric.Observer, q *engine.QueueCensus) {
	if q == nil {
		return
	}
	each := func(p engine.Percentiles, show func(v float64, name string)) {
		show(p.P50, "p50")
		show(p.P95, "p95")
		show(p.P99, "p99")
	}
	ready := 0
	for _, l := range q.Levels {
		ready += l.Ready
		level := priorityKey.String(l.Name)
		o.ObserveFloat64(g.depth, float64(l.Ready), metric.WithAttributes(level))
		each(l.Ages, func(v float64, name string) {
			o.ObserveFloat64(g.age, v, metric.WithAttributes(level, percentileKey.String(name)))
		})
	}
	if ready > 0 {
		each(q.Scores, func(v float64, name string) {
			o.ObserveFloat64(g.score, v, metric.WithAttributes(percentileKey.String(name)))
		})
	}
	if q.MaxWait > 0 {
		o.ObserveFloat64(g.longest, q.MaxWait.Seconds())
		o.ObserveFloat64(g.risk, float64(q.AtRisk))
		o.ObserveFloat64(g.late, float64(q.Overdue))
	}
}

type ready struct {
	steps  int
	oldest task.Instant
}

// readyByName adds up the routes of each handler, which differ in capabilities. Beyond maxNames the handlers with
// the fewest steps are "other".
func readyByName(list []engine.ReadyCount) map[name]ready {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b engine.ReadyCount) int { return b.Steps - a.Steps })
	out := map[name]ready{}
	for _, c := range list {
		n := name{c.Route.Namespace, c.Route.Handler}
		if _, known := out[n]; !known && len(out) >= maxNames {
			n = name{others, others}
		}
		r := out[n]
		r.steps += c.Steps
		if r.oldest == 0 || c.Oldest != 0 && c.Oldest < r.oldest {
			r.oldest = c.Oldest
		}
		out[n] = r
	}
	return out
}
