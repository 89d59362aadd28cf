package engine

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/taskerhq/tasker/internal/model/task"
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
	tasks    map[task.ID][]chan settledTask
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
	toQueue  bool // for the queue of the worker, with the time that a step may wait there; see Engine.Dispatch
	idle     bool // the worker may take nothing now
	brief    bool // it does not wait: that it gets nothing must be what the store says

	wake      chan struct{} // closed when there may be work, or when a field below is set
	handed    []Lease       // steps that a transaction gave to the poller
	promised  int           // number of those, or what it will be when the transaction ends
	lowest    int           // of their priority levels
	highest   int
	dismissed bool  // its worker accepts no more steps
	failed    error // why the poll must not wait any longer
	// onlyParked: the claim ended early because it met too many steps of paused templates, or steps that no worker can
	// process; there may be others behind.
	onlyParked bool

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
	return &waiters{pollers: newPollerSets(), ofWorker: map[int64][]*poller{}, tasks: map[task.ID][]chan settledTask{},
		emptying: map[int64]int{}, deep: map[int64]struct{}{},
		nextDue: make(chan task.Instant, 1)}
}

// publish wakes the waiters that a committed transaction concerns.
func (ws *waiters) publish(u *unit) {
	if u.wake.due != 0 {
		ws.publishDue(u.wake.due)
	}
	for _, p := range u.ready.pollers {
		close(p.wake)
	}
	if len(u.wake.queued) == 0 && len(u.wake.settled) == 0 {
		return
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if len(u.wake.queued) > 0 {
		ws.wake(u.wake.queued)
	}
	if len(ws.tasks) == 0 {
		return
	}
	for _, t := range u.wake.settled {
		ws.wakeCallers(t.ID, settledTask{task: t})
	}
}

// ready wakes pollers for steps that are ready on routes.
func (ws *waiters) ready(steps map[int64]int) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.wake(steps)
}

// wake wakes as many pollers of each route as there are steps. The caller holds mu.
func (ws *waiters) wake(steps map[int64]int) {
	ws.version.Add(1)
	for route, n := range steps {
		for p := range ws.pollers.on(route) {
			if n <= 0 {
				break
			}
			p.owedRoute, p.owed = route, min(n, p.capacity)
			n -= p.owed
			ws.remove(p)
			close(p.wake)
		}
	}
}

// settled wakes the callers that wait for tasks, which another process has settled.
func (ws *waiters) settled(ids []task.ID) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, id := range ids {
		ws.wakeCallers(id, settledTask{})
	}
}

// settledTask tells a caller that the task that it waits for is settled, or why waiting is pointless.
type settledTask struct {
	task *task.Task // as the transaction left it, perhaps without its context; nil: read it
	err  error
}

// wakeCallers wakes the callers that wait for a task. The caller holds mu.
func (ws *waiters) wakeCallers(id task.ID, s settledTask) {
	list := ws.tasks[id]
	if len(list) == 0 {
		return
	}
	if s.task != nil && !s.task.State.Settled() {
		s.task = nil // the transaction went on with it
	}
	if s.task != nil {
		row := *s.task // the unit's own, which may be changed
		s.task = &row
	}
	for _, ch := range list {
		ch <- s
	}
	delete(ws.tasks, id)
}

// awaitedRoutes returns the routes that pollers wait on, sorted.
func (ws *waiters) awaitedRoutes() []int64 {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.pollers.routes()
}

// awaitedTasks returns the tasks that callers wait for.
func (ws *waiters) awaitedTasks() []task.ID {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return slices.Collect(maps.Keys(ws.tasks))
}

// polling returns the workers among those given that have a waiting poll.
func (ws *waiters) polling(workers map[int64]struct{}) []int64 {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	var found []int64
	for no := range workers {
		if len(ws.ofWorker[no]) > 0 {
			found = append(found, no)
		}
	}
	slices.Sort(found)
	return found
}

// awaited reports whether a poller waits on the route.
func (ws *waiters) awaited(route int64) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.pollers.first(route) != nil
}

// reserve removes and returns a poller that waits on the route, or nil. The caller must close its wake.
func (ws *waiters) reserve(route int64) *poller {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	p := ws.pollers.first(route)
	if p != nil {
		ws.remove(p)
	}
	return p
}

// publishDue leaves a due time for the timer loop, or an earlier one that is already there. It
// does not block.
func (ws *waiters) publishDue(due task.Instant) {
	for {
		select {
		case ws.nextDue <- due:
			return
		case other := <-ws.nextDue:
			due = min(due, other)
		}
	}
}

// wakeAll wakes every poller: the queue in use has changed.
func (ws *waiters) wakeAll() { ws.wakeIf(func(*poller) bool { return true }) }

// wakeForRoutes wakes the pollers that can serve one of the routes, which are new.
func (ws *waiters) wakeForRoutes(routes []*task.Route) {
	ws.wakeIf(func(p *poller) bool { return p.served == nil || p.served.any(routes) })
}

// wakeIf wakes the pollers that a condition names, which is called with mu held.
func (ws *waiters) wakeIf(those func(*poller) bool) {
	ws.version.Add(1)
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, list := range ws.ofWorker {
		for _, p := range slices.Clone(list) {
			if those(p) {
				ws.remove(p)
				close(p.wake)
			}
		}
	}
}

// await registers a poller, unless steps have become ready since version.
func (ws *waiters) await(p *poller, version int64) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.version.Load() != version {
		return false
	}
	ws.enqueue(p)
	return true
}

// enqueue adds a waiting poller. The caller holds mu.
func (ws *waiters) enqueue(p *poller) {
	p.wake, p.handed, p.promised, p.owed = make(chan struct{}), nil, 0, 0
	ws.ofWorker[p.worker] = append(ws.ofWorker[p.worker], p)
	ws.pollers.add(p)
}

// dismiss ends the polls of a worker that accepts no more steps.
func (ws *waiters) dismiss(worker int64) { ws.wakeOf(worker, true) }

// recheck wakes the polls of a worker, so that they check again what it may take.
func (ws *waiters) recheck(worker int64) { ws.wakeOf(worker, false) }

// wakeOf wakes the polls of a worker.
func (ws *waiters) wakeOf(worker int64, dismissed bool) {
	ws.version.Add(1) // for a poll that has just checked
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, p := range slices.Clone(ws.ofWorker[worker]) {
		ws.remove(p)
		p.dismissed = dismissed
		close(p.wake)
	}
}

// forwardWake wakes others for the steps that a poller was woken for and does not take: its caller has left, it got
// other steps, or it may not have any.
func (ws *waiters) forwardWake(p *poller) {
	if p.owed > 0 {
		ws.ready(map[int64]int{p.owedRoute: p.owed})
		p.owed = 0
	}
}

// fail ends all waiting with err: this process would not learn of what the waiters wait for.
func (ws *waiters) fail(err error) {
	ws.version.Add(1) // a poll that has just checked finds the error at its next check
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, list := range ws.ofWorker {
		for _, p := range slices.Clone(list) {
			ws.remove(p)
			p.failed = err
			close(p.wake)
		}
	}
	for _, list := range ws.tasks {
		for _, ch := range list {
			ch <- settledTask{err: err}
		}
	}
	clear(ws.tasks)
}

// withdraw removes a poller. It returns false when the poller no longer waits: it has been woken, or a transaction
// holds it.
func (ws *waiters) withdraw(p *poller) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.remove(p)
}

// remove removes a poller and reports whether it was waiting. The caller holds mu.
func (ws *waiters) remove(p *poller) bool {
	mine := ws.ofWorker[p.worker]
	at := slices.Index(mine, p)
	if at < 0 {
		return false
	}
	if len(mine) == 1 {
		delete(ws.ofWorker, p.worker)
	} else {
		ws.ofWorker[p.worker] = slices.Delete(mine, at, at+1)
	}
	ws.pollers.remove(p)
	return true
}

// awaitTask returns a channel, and a function to stop waiting. The channel receives once: when the task is settled, or
// the reason why waiting is pointless. Callers share the task that they receive.
func (ws *waiters) awaitTask(id task.ID) (<-chan settledTask, func()) {
	ch := make(chan settledTask, 1) // with room for one: a caller that has stopped waiting blocks no sender
	ws.mu.Lock()
	ws.tasks[id] = append(ws.tasks[id], ch)
	ws.mu.Unlock()
	return ch, func() {
		ws.mu.Lock()
		defer ws.mu.Unlock()
		list := ws.tasks[id]
		for i, c := range list {
			if c == ch {
				list = append(list[:i:i], list[i+1:]...)
				break
			}
		}
		if len(list) == 0 {
			delete(ws.tasks, id)
			return
		}
		ws.tasks[id] = list
	}
}
