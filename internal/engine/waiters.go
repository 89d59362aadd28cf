package engine

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/taskerhq/tasker/internal/task"
)

// waiters wakes pollers for ready steps, callers for settled tasks, and the timer loop for an
// earlier due time, when a transaction of this process makes them happen. It only shortens
// waiting: a waiter that misses a wake-up, because another process did the work, finds out at
// its next check. It is safe for concurrent use; mu guards everything but version and nextDue.
// A poller that is woken has been removed before, so that it is woken once.
type waiters struct {
	version atomic.Int64 // grows whenever ready steps are published

	mu       sync.Mutex
	pollers  pollerSets          // waiting pollers, by route
	ofWorker map[int64][]*poller // waiting pollers, by worker
	tasks    map[task.ID][]chan error
	emptying map[int64]int      // running claims that expect to take all steps of a route; see split_claim.go
	deep     map[int64]struct{} // routes where the last claim found as many steps as it could take

	nextDue chan task.Instant // the earliest time set since the last read
}

// poller is one poll.
type poller struct {
	worker   int64
	served   *servedRoutes // the routes that its worker serves
	routes   []int64       // the routes it waits on, sorted; shared with every poller that serves the same
	capacity int
	start    bool // begin the attempts at once

	wake      chan struct{} // closed when there may be work, or when a field below is set
	handed    []Lease       // steps that a transaction gave to the poller
	promised  int           // number of those, or what it will be when the transaction ends
	lowest    int           // of their priority levels
	highest   int
	dismissed bool  // its worker accepts no more steps
	failed    error // why the poll must not wait any longer

	// the steps, and their route, that the poller was woken for; if it does not take them, it must wake others for them
	owed      int
	owedRoute int64
}

// countClaimed counts the steps that the poller has taken of those it was woken for.
func (p *poller) countClaimed(leases []Lease) {
	for i := range leases {
		if p.owed > 0 && leases[i].Step.RouteID == p.owedRoute {
			p.owed--
		}
	}
}

// serves reports whether the poller waits on a route.
func (p *poller) serves(route int64) bool {
	_, found := slices.BinarySearch(p.routes, route)
	return found
}

// newWaiters returns waiters without anybody waiting.
func newWaiters() *waiters {
	return &waiters{pollers: newPollerSets(), ofWorker: map[int64][]*poller{}, tasks: map[task.ID][]chan error{},
		emptying: map[int64]int{}, deep: map[int64]struct{}{},
		nextDue: make(chan task.Instant, 1)}
}

// publish wakes the waiters that a committed transaction concerns.
func (h *waiters) publish(u *unit) {
	if u.wake.due != 0 {
		h.publishDue(u.wake.due)
	}
	for _, p := range u.ready.pollers {
		close(p.wake)
	}
	if len(u.wake.queued) == 0 && len(u.wake.settled) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(u.wake.queued) > 0 {
		h.wake(u.wake.queued)
	}
	h.wakeCallers(u.wake.settled)
}

// ready wakes pollers for steps that are ready on routes.
func (h *waiters) ready(steps map[int64]int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wake(steps)
}

// wake wakes as many pollers of each route as there are steps. The caller holds mu.
func (h *waiters) wake(steps map[int64]int) {
	h.version.Add(1)
	for route, n := range steps {
		for p := range h.pollers.on(route) {
			if n <= 0 {
				break
			}
			p.owedRoute, p.owed = route, min(n, p.capacity)
			n -= p.owed
			h.remove(p)
			close(p.wake)
		}
	}
}

// settled wakes the callers that wait for the tasks.
func (h *waiters) settled(ids []task.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wakeCallers(ids)
}

// wakeCallers wakes the callers that wait for the tasks. The caller holds mu.
func (h *waiters) wakeCallers(ids []task.ID) {
	if len(h.tasks) == 0 {
		return
	}
	for _, id := range ids {
		for _, ch := range h.tasks[id] {
			close(ch)
		}
		delete(h.tasks, id)
	}
}

// awaitedRoutes returns the routes that pollers wait on, sorted.
func (h *waiters) awaitedRoutes() []int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.pollers.routes()
}

// awaitedTasks returns the tasks that callers wait for.
func (h *waiters) awaitedTasks() []task.ID {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.tasks))
}

// polling returns the workers among those given that have a waiting poll.
func (h *waiters) polling(workers map[int64]struct{}) []int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found []int64
	for no := range workers {
		if len(h.ofWorker[no]) > 0 {
			found = append(found, no)
		}
	}
	slices.Sort(found)
	return found
}

// awaited reports whether a poller waits on the route.
func (h *waiters) awaited(route int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.pollers.first(route) != nil
}

// reserve removes and returns a poller that waits on the route, or nil. The caller must close its wake.
func (h *waiters) reserve(route int64) *poller {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.pollers.first(route)
	if p != nil {
		h.remove(p)
	}
	return p
}

// publishDue leaves a due time for the timer loop, or an earlier one that is already there. It
// does not block.
func (h *waiters) publishDue(due task.Instant) {
	for {
		select {
		case h.nextDue <- due:
			return
		case other := <-h.nextDue:
			due = min(due, other)
		}
	}
}

// wakeAll wakes every poller: the queue in use has changed.
func (h *waiters) wakeAll() { h.wakeIf(func(*poller) bool { return true }) }

// wakeForRoutes wakes the pollers that can serve one of the routes, which are new.
func (h *waiters) wakeForRoutes(routes []*task.Route) {
	h.wakeIf(func(p *poller) bool { return p.served == nil || p.served.any(routes) })
}

// wakeIf wakes the pollers that a condition names, which is called with mu held.
func (h *waiters) wakeIf(those func(*poller) bool) {
	h.version.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, list := range h.ofWorker {
		for _, p := range slices.Clone(list) {
			if those(p) {
				h.remove(p)
				close(p.wake)
			}
		}
	}
}

// await registers a poller, unless steps have become ready since version.
func (h *waiters) await(p *poller, version int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.version.Load() != version {
		return false
	}
	h.enqueue(p)
	return true
}

// enqueue adds a waiting poller. The caller holds mu.
func (h *waiters) enqueue(p *poller) {
	p.wake, p.handed, p.promised, p.owed = make(chan struct{}), nil, 0, 0
	h.ofWorker[p.worker] = append(h.ofWorker[p.worker], p)
	h.pollers.add(p)
}

// dismiss ends the polls of a worker that accepts no more steps.
func (h *waiters) dismiss(worker int64) { h.wakeOf(worker, true) }

// recheck wakes the polls of a worker, so that they check again what it may take.
func (h *waiters) recheck(worker int64) { h.wakeOf(worker, false) }

// wakeOf wakes the polls of a worker.
func (h *waiters) wakeOf(worker int64, dismissed bool) {
	h.version.Add(1) // for a poll that has just checked
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range slices.Clone(h.ofWorker[worker]) {
		h.remove(p)
		p.dismissed = dismissed
		close(p.wake)
	}
}

// forwardWake wakes others for the steps that a poller was woken for and does not take: its caller has left, it got
// other steps, or it may not have any.
func (h *waiters) forwardWake(p *poller) {
	if p.owed > 0 {
		h.ready(map[int64]int{p.owedRoute: p.owed})
		p.owed = 0
	}
}

// fail ends all waiting with err: this process would not learn of what the waiters wait for.
func (h *waiters) fail(err error) {
	h.version.Add(1) // a poll that has just checked finds the error at its next check
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, list := range h.ofWorker {
		for _, p := range slices.Clone(list) {
			h.remove(p)
			p.failed = err
			close(p.wake)
		}
	}
	for _, list := range h.tasks {
		for _, ch := range list {
			ch <- err
		}
	}
	clear(h.tasks)
}

// withdraw removes a poller. It returns false when the poller no longer waits: it has been woken, or a transaction
// holds it.
func (h *waiters) withdraw(p *poller) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.remove(p)
}

// remove removes a poller and reports whether it was waiting. The caller holds mu.
func (h *waiters) remove(p *poller) bool {
	mine := h.ofWorker[p.worker]
	at := slices.Index(mine, p)
	if at < 0 {
		return false
	}
	if len(mine) == 1 {
		delete(h.ofWorker, p.worker)
	} else {
		h.ofWorker[p.worker] = slices.Delete(mine, at, at+1)
	}
	h.pollers.remove(p)
	return true
}

// awaitTask returns a channel, and a function to stop waiting. The channel is closed when the task is settled, or
// receives the reason why waiting is pointless.
func (h *waiters) awaitTask(id task.ID) (<-chan error, func()) {
	ch := make(chan error, 1) // with room for one: a caller that has stopped waiting blocks no sender
	h.mu.Lock()
	h.tasks[id] = append(h.tasks[id], ch)
	h.mu.Unlock()
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		list := h.tasks[id]
		for i, c := range list {
			if c == ch {
				list = append(list[:i:i], list[i+1:]...)
				break
			}
		}
		if len(list) == 0 {
			delete(h.tasks, id)
			return
		}
		h.tasks[id] = list
	}
}
