package telemetry

import (
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// outcomes of attempts and final states of tasks index their counters.
var (
	outcomes = [...]task.Outcome{task.Completed, task.Failed, task.TimedOut, task.LeaseExpired, task.NotStarted,
		task.Released, task.Snoozed, task.Interrupted, task.DispatchExpired}
	ends = [...]task.State{task.Complete, task.Errored, task.Cancelled, task.ResolvedManually}
)

// tally adds up transactions in plain numbers. It is safe for concurrent use; a transaction holds its lock for some
// nanoseconds per step.
type tally struct {
	since time.Time

	mu      sync.Mutex
	tasks   *roster[taskNumbers]
	routes  *roster[routeNumbers]
	verbs   map[string]*verbNumbers
	acts    map[string]int64
	refused int64

	levels    map[int]*levelNumbers
	promoted  map[engine.Promoted]*promotion
	taskMoves map[engine.TaskMove]int64
	stepMoves map[engine.StepMove]int64
	known     int64
	unique    engine.UniqueCounts
	turned    map[engine.Refusal]int64 // refused by back-pressure
	lost      map[string]int64         // lost workers by reason
}

type taskNumbers struct {
	labels              []attribute.KeyValue
	submitted, reopened int64
	settled             [len(ends)]int64
	duration            *histogram
}

type routeNumbers struct {
	labels             []attribute.KeyValue
	started            int64
	ended              [len(outcomes)]int64
	retried, exhausted int64
	wait, run          *histogram
	assigned           *histogram
}

type verbNumbers struct {
	labels []attribute.KeyValue
	took   *histogram
	failed map[task.Code]int64

	repeated int64
}

// since is the start of the cumulative counters.
func newTally(since time.Time) *tally {
	t := &tally{
		since: since,
		tasks: newRoster(func(n name) *taskNumbers {
			return &taskNumbers{labels: []attribute.KeyValue{namespaceKey.String(n.namespace), taskKey.String(n.name)},
				duration: newHistogram(taskBounds)}
		}),
		routes: newRoster(func(n name) *routeNumbers {
			return &routeNumbers{labels: []attribute.KeyValue{namespaceKey.String(n.namespace), handlerKey.String(n.name)},
				wait: newHistogram(secondsBounds), run: newHistogram(secondsBounds), assigned: newHistogram(secondsBounds)}
		}),
		verbs:  map[string]*verbNumbers{},
		acts:   map[string]int64{},
		levels: map[int]*levelNumbers{}, promoted: map[engine.Promoted]*promotion{},
		taskMoves: map[engine.TaskMove]int64{}, stepMoves: map[engine.StepMove]int64{},
		turned: map[engine.Refusal]int64{}, lost: map[string]int64{engine.FailedHeartbeat: 0, engine.FailedProbe: 0},
	}
	for _, why := range engine.Refusals {
		t.turned[why] = 0 // so that rates see the first increase
	}
	return t
}

// add is a part of every transaction: one lock, and no allocation per step.
func (t *tally) add(c *engine.Commit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := t.verb(c.Verb)
	v.took.observe(c.Took)
	v.repeated += int64(c.Repeats)
	t.addLevels(c)
	t.addMoves(c)
	t.known += int64(c.Known)
	for i, n := range c.Unique {
		t.unique[i] += n
	}
	t.refused += int64(c.Refused)
	for _, kind := range c.Acts {
		t.acts[kind]++
	}
	task, route := t.finders(c.Names)
	for _, def := range c.Submitted {
		task(def).submitted++
	}
	for _, h := range c.Handed {
		route(h.RouteID).wait.observe(c.At.Sub(h.ReadyAt))
	}
	for _, s := range c.Started {
		n := route(s.RouteID)
		n.started++
		if s.AssignedAt != 0 {
			n.assigned.observe(max(c.At.Sub(s.AssignedAt), 0))
		}
	}
	for i := range c.Ended {
		route(c.Ended[i].RouteID).end(&c.Ended[i], c.At)
	}
	for _, s := range c.Settled {
		n := task(s.DefID)
		if i := slices.Index(ends[:], s.State); i >= 0 {
			n.settled[i]++
		}
		n.duration.observe(c.At.Sub(s.CreatedAt))
	}
	for _, def := range c.Reopened {
		task(def).reopened++
	}
}

// finders find the numbers of a template and a handler. Neighbours in a transaction usually share a key, so they
// cache the last result.
func (t *tally) finders(names engine.Names) (task func(int64) *taskNumbers, route func(int64) *routeNumbers) {
	return remember(func(def int64) *taskNumbers {
			return t.tasks.of(def, func(def int64) (name, bool) { return taskName(names, def) })
		}),
		remember(func(id int64) *routeNumbers {
			return t.routes.of(id, func(id int64) (name, bool) { return routeName(names, id) })
		})
}

// Use the result within one transaction, under the lock.
func remember[T any](find func(int64) *T) func(int64) *T {
	var last *T
	var lastKey int64
	return func(key int64) *T {
		if last == nil || key != lastKey {
			last, lastKey = find(key), key
		}
		return last
	}
}

func taskName(names engine.Names, def int64) (name, bool) {
	if t := names.NamesOfTemplate(def); t != nil {
		return name{t.Namespace, t.Name}, true
	}
	return name{}, false
}

func routeName(names engine.Names, id int64) (name, bool) {
	if r := names.NamesOfRoute(id); r != nil {
		return name{r.Namespace, r.Handler}, true
	}
	return name{}, false
}

// An attempt that never started has no duration.
func (n *routeNumbers) end(e *engine.Ended, at task.Instant) {
	if i := slices.Index(outcomes[:], e.Outcome); i >= 0 {
		n.ended[i]++
	}
	if e.StartedAt != 0 {
		n.run.observe(at.Sub(e.StartedAt))
	}
	switch e.Outcome {
	case task.Failed, task.TimedOut, task.LeaseExpired:
		if e.After == task.StepErrored {
			n.exhausted++
		} else {
			n.retried++
		}
	}
}

// fail counts a rolled-back transaction. The codes are a closed list, so the label is bounded.
func (t *tally) fail(verb string, code task.Code) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.verb(verb).failed[code]++
}

// The caller holds mu.
func (t *tally) verb(verb string) *verbNumbers {
	n := t.verbs[verb]
	if n == nil {
		n = &verbNumbers{labels: []attribute.KeyValue{verbKey.String(verb)}, took: newHistogram(storeBounds),
			failed: map[task.Code]int64{task.Unavailable: 0, task.Internal: 0}}
		t.verbs[verb] = n
	}
	return n
}
