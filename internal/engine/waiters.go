package engine

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/taskerhq/tasker/internal/task"
)

// waiters wakes those who wait for something that a transaction of this process
// made happen: pollers for ready steps, callers for settled tasks, the timer
// loop for an earlier due time. It only saves waiting time; who misses a wake-up
// (another process did the work) finds out by looking again.
type waiters struct {
	version atomic.Int64 // grows with every publication of ready steps

	mu       sync.Mutex
	pollers  pollerSets          // those that wait, by route
	ofWorker map[int64][]*poller // those that wait, by worker
	tasks    map[task.ID][]chan error
	emptying map[int64]int      // claims under way that expect to take all of a route; see beside.go
	deep     map[int64]struct{} // routes where the last claim found as much as it could take

	nextDue chan task.Instant // the earliest time set since it was read last
}

// poller is one poll.
type poller struct {
	worker   int64
	served   *servedRoutes // what its worker serves
	routes   []int64       // those it waits on, sorted; shared with every poller that serves the same
	capacity int
	start    bool // begin the attempts at once

	wake      chan struct{} // closed when there may be work, or what follows is set
	handed    []Lease       // steps that a transaction put into the poller's hands
	promised  int           // how many those are, or will be when it is done
	lowest    int           // of their levels
	highest   int
	dismissed bool  // its worker takes nothing more
	failed    error // why waiting on makes no sense

	// how many steps of which route it was woken for; if it does not take them, it
	// has to wake others for them
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

func (p *poller) serves(route int64) bool {
	_, found := slices.BinarySearch(p.routes, route)
	return found
}

func newWaiters() *waiters {
	return &waiters{pollers: newPollerSets(), ofWorker: map[int64][]*poller{}, tasks: map[task.ID][]chan error{},
		emptying: map[int64]int{}, deep: map[int64]struct{}{},
		nextDue: make(chan task.Instant, 1)}
}

// publish tells what a committed transaction did.
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

// wake wakes as many pollers of each route as there are steps for. The caller
// holds mu.
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

// settled wakes those who wait for the tasks.
func (h *waiters) settled(ids []task.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wakeCallers(ids)
}

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

// awaitedRoutes are those that pollers wait on, sorted.
func (h *waiters) awaitedRoutes() []int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.pollers.routes()
}

// awaitedTasks are those that callers wait for.
func (h *waiters) awaitedTasks() []task.ID {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.tasks))
}

// polling returns those of the workers that have a poll waiting.
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

// reserve takes a poller that waits on the route, or nil. Whoever takes it has
// to close its wake.
func (h *waiters) reserve(route int64) *poller {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.pollers.first(route)
	if p != nil {
		h.remove(p)
	}
	return p
}

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

// wakeAll wakes every poller: the queue is another one.
func (h *waiters) wakeAll() { h.wakeIf(func(*poller) bool { return true }) }

// wakeForRoutes wakes the pollers that can serve one of the routes, which are new.
func (h *waiters) wakeForRoutes(routes []*task.Route) {
	h.wakeIf(func(p *poller) bool { return p.served == nil || p.served.any(routes) })
}

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

// await registers a poller, unless something has become ready since version.
func (h *waiters) await(p *poller, version int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.version.Load() != version {
		return false
	}
	h.enqueue(p)
	return true
}

// enqueue lets a poller wait; the caller holds mu.
func (h *waiters) enqueue(p *poller) {
	p.wake, p.handed, p.promised, p.owed = make(chan struct{}), nil, 0, 0
	h.ofWorker[p.worker] = append(h.ofWorker[p.worker], p)
	h.pollers.add(p)
}

// dismiss ends the polls of a worker that takes nothing more.
func (h *waiters) dismiss(worker int64) { h.wakeOf(worker, true) }

// recheck lets the polls of a worker look at what it may take now.
func (h *waiters) recheck(worker int64) { h.wakeOf(worker, false) }

func (h *waiters) wakeOf(worker int64, dismissed bool) {
	h.version.Add(1) // for one that has just looked
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range slices.Clone(h.ofWorker[worker]) {
		h.remove(p)
		p.dismissed = dismissed
		close(p.wake)
	}
}

// forwardWake wakes others for the steps that a poller was woken for and does not take:
// its caller has gone, or it has got other ones, or may not have any.
func (h *waiters) forwardWake(p *poller) {
	if p.owed > 0 {
		h.ready(map[int64]int{p.owedRoute: p.owed})
		p.owed = 0
	}
}

// fail ends all waiting with err: what would end it well, nobody here would hear of.
func (h *waiters) fail(err error) {
	h.version.Add(1) // a poll that has just looked meets the error when it looks again
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

// withdraw takes a poller out. It reports false when the poller was not waiting
// any more: it has been woken, or a transaction has it in hand.
func (h *waiters) withdraw(p *poller) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.remove(p)
}

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

// awaitTask returns a channel that is closed when the task is settled, or says
// why it makes no sense to wait on, and a function to stop waiting.
func (h *waiters) awaitTask(id task.ID) (<-chan error, func()) {
	ch := make(chan error, 1) // whoever has stopped waiting keeps nobody up
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
