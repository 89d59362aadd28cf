package kernel

import (
	"math"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/model/rate"
	"github.com/taskerhq/tasker/internal/model/task"
)

// meter measures the work of this process in the last minute and hour. It receives commits before the observer, and
// costs the hot path one lock per transaction. mu guards the fields below it.
type meter struct {
	next   Observer
	since  task.Instant
	clock  func() task.Instant
	kindOf func(worker int64) string
	// depthMoved receives the change of the number of ready steps.
	DepthMoved func(n int)

	mu         sync.Mutex
	kinds      map[string]*rate.Service
	namespaces map[string]*activity
	routes     map[int64]*rate.Window // steps handed out, by route
	ends       rate.Outcomes
	stored     rate.Service // tasks stored, by the time that took
	probes     rate.Window
}

var _ Observer = (*meter)(nil)

// Above these bounds, new kinds are not measured, and new namespaces count as one.
const (
	meteredKinds      = 10_000
	meteredNamespaces = 200
	meteredRoutes     = 1000
	otherNamespaces   = "\x00others" // no namespace has this name
)

// The engine sets clock, since and kindOf before the first transaction.
func newMeter(next Observer) *meter {
	return &meter{next: next, DepthMoved: func(int) {},
		kinds: map[string]*rate.Service{}, namespaces: map[string]*activity{}, routes: map[int64]*rate.Window{},
		probes: rate.NewWindow(time.Minute, 60)}
}

type activity struct {
	completed, failed  rate.Window
	runs, runMillis    rate.Window // durations of attempts, by second
	handed             rate.Window
	notStarted, lapsed rate.Window // expired assignments and leases, by minute
}

func newActivity() *activity {
	second := func() rate.Window { return rate.NewWindow(time.Second, 60) }
	minute := func() rate.Window { return rate.NewWindow(time.Minute, 60) }
	return &activity{completed: second(), failed: second(), runs: second(), runMillis: second(), handed: second(),
		notStarted: minute(), lapsed: minute()}
}

// The windows have few slots because there may be many routes.
func newRouteWindow() rate.Window { return rate.NewWindow(5*time.Second, 12) }

func (m *meter) namespace(namespace string) *activity {
	a := m.namespaces[namespace]
	if a == nil && len(m.namespaces) >= meteredNamespaces {
		namespace = otherNamespaces
		a = m.namespaces[namespace]
	}
	if a == nil {
		a = newActivity()
		m.namespaces[namespace] = a
	}
	return a
}

// Committed implements Observer.
func (m *meter) Committed(c *Commit) {
	m.measure(c)
	if n := c.readied(); n != 0 {
		m.DepthMoved(n)
	}
	if m.next != nil {
		m.next.Committed(c)
	}
}

func (c *Commit) readied() int {
	n := -len(c.Handed)
	for _, s := range c.StepMoves {
		if s.To == task.StepEnqueued {
			n++
		}
		if s.From == task.StepEnqueued {
			n--
		}
	}
	for i := range c.Ended {
		if c.Ended[i].After == task.StepEnqueued {
			n++
		}
	}
	return n
}

func (m *meter) measure(c *Commit) {
	if len(c.Submitted)+len(c.Handed)+len(c.Ended)+len(c.Settled) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := int64(c.At)
	if c.Verb == "submit" && len(c.Submitted) > 0 {
		m.stored.Observe(len(c.Submitted), c.Took, c.At)
	}
	m.measureHanded(c)
	route := m.ofRoute(c.Names)
	m.measureRoutes(c, route)
	for i := range c.Ended {
		e := &c.Ended[i]
		a := route(e.RouteID)
		switch {
		case e.Worker == 0:
		case e.LostSince != 0:
			m.ends.Lost(e.Worker, e.LostSince, c.At)
		case e.Outcome == task.Completed, e.Outcome == task.Failed, e.Blames:
			m.ends.Add(e.Worker, e.Outcome == task.Completed, e.Blames, c.At)
		}
		switch e.Outcome {
		case task.NotStarted, task.DispatchExpired:
			a.notStarted.Add(now, 1)
		case task.LeaseExpired:
			a.lapsed.Add(now, 1)
		}
		if e.StartedAt != 0 {
			a.runs.Add(now, 1)
			a.runMillis.Add(now, int(min(c.At.Sub(e.StartedAt).Milliseconds(), math.MaxInt32/60)))
		}
	}
	for _, s := range c.Settled {
		t := c.Names.NamesOfTemplate(s.DefID)
		if t == nil {
			continue
		}
		switch s.State {
		case task.Complete, task.ResolvedManually:
			m.namespace(t.Namespace).completed.Add(now, 1)
		case task.Errored:
			m.namespace(t.Namespace).failed.Add(now, 1)
		}
	}
}

// ofRoute remembers the last namespace, because neighbours in a transaction mostly share it. The caller holds mu.
func (m *meter) ofRoute(names Names) func(int64) *activity {
	var last int64
	var found *activity
	return func(id int64) *activity {
		if found == nil || id != last {
			namespace := otherNamespaces
			if r := names.NamesOfRoute(id); r != nil {
				namespace = r.Namespace
			}
			last, found = id, m.namespace(namespace)
		}
		return found
	}
}

func (m *meter) measureHanded(c *Commit) {
	for i := 0; i < len(c.Handed); {
		worker, oldest, n := c.Handed[i].Worker, c.Handed[i].ReadyAt, 0
		for ; i < len(c.Handed) && c.Handed[i].Worker == worker; i++ {
			oldest = min(oldest, c.Handed[i].ReadyAt)
			n++
		}
		if kind := m.kindOf(worker); kind != "" {
			m.noteTaken(kind, n, oldest, c.At)
		}
	}
}

func (m *meter) noteTaken(kind string, n int, oldest, now task.Instant) {
	s := m.kinds[kind]
	if s == nil {
		if len(m.kinds) >= meteredKinds {
			return
		}
		s = &rate.Service{}
		m.kinds[kind] = s
	}
	s.Left(n, oldest, now)
}

// rateOf returns steps per second; 0 when not known.
func (m *meter) rateOf(kind string, now task.Instant) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kinds[kind].PerSecond(now)
}

// StoreRate returns tasks per second; 0 when not known.
func (m *meter) StoreRate(now task.Instant) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stored.PerSecond(now)
}

// Measured is the activity in all processes on the store.
type Measured struct {
	Since                                 task.Instant // when the first process began to measure
	CompletedLastMinute, FailedLastMinute int
	HandedLastMinute                      int // steps given to workers
	RunsLastMinute                        int
	MeanRun                               time.Duration // of these; 0 when there are none
	NotStartedLastHour, LapsedLastHour    int           // expired assignments and leases
	ProbesFailedLastHour                  int           // of workers of all namespaces
}

func (m *meter) tally(now task.Instant, pass func(namespace string) bool) tally {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := tally{since: m.since, probes: m.probes.Sum(int64(now))}
	for namespace, a := range m.namespaces {
		if pass(namespace) {
			out.add(a.count(int64(now)))
		}
	}
	return out
}

// Failed implements Observer.
func (m *meter) Failed(verb string, took time.Duration, err error) {
	if m.next != nil {
		m.next.Failed(verb, took, err)
	}
}

// Probed implements Observer.
func (m *meter) Probed(good, failed int) {
	m.mu.Lock()
	m.probes.Add(int64(m.clock()), failed)
	m.mu.Unlock()
	if m.next != nil {
		m.next.Probed(good, failed)
	}
}

// WorkerFailed implements Observer.
func (m *meter) WorkerFailed(reason string) {
	if m.next != nil {
		m.next.WorkerFailed(reason)
	}
}

// Refused implements Observer.
func (m *meter) Refused(why Refusal, tasks int) {
	if m.next != nil {
		m.next.Refused(why, tasks)
	}
}

// Detected implements Observer.
func (m *meter) Detected(d Detection) {
	if m.next != nil {
		m.next.Detected(d)
	}
}

// Analyzed implements Observer.
func (m *meter) Analyzed(a *Analysis) {
	if m.next != nil {
		m.next.Analyzed(a)
	}
}

// AttemptTrace implements Observer. Without an observer it returns parent.
func (m *meter) AttemptTrace(parent string, step task.ID, token int64) string {
	if m.next == nil {
		return parent
	}
	return m.next.AttemptTrace(parent, step, token)
}

// HandedByRoute covers the last minute, and forgets idle routes.
func (m *meter) HandedByRoute(now task.Instant) map[int64]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sumRoutes(now)
}

// The caller holds mu.
func (m *meter) sumRoutes(now task.Instant) map[int64]int {
	out := make(map[int64]int, len(m.routes))
	for route, w := range m.routes {
		if n := w.Sum(int64(now)); n > 0 {
			out[route] = n
		} else {
			delete(m.routes, route)
		}
	}
	return out
}

// Neighbours mostly have one route. The caller holds mu.
func (m *meter) measureRoutes(c *Commit, activityOf func(route int64) *activity) {
	for i := 0; i < len(c.Handed); {
		route, n := c.Handed[i].RouteID, 0
		for ; i < len(c.Handed) && c.Handed[i].RouteID == route; i++ {
			n++
		}
		activityOf(route).handed.Add(int64(c.At), n)
		w := m.routes[route]
		if w == nil {
			if len(m.routes) >= meteredRoutes {
				continue
			}
			fresh := newRouteWindow()
			w = &fresh
			m.routes[route] = w
		}
		w.Add(int64(c.At), n)
	}
}
