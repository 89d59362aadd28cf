package kernel

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/taskerhq/tasker/internal/model/task"
)

// waiters wakes pollers for ready steps, callers for settled tasks, and the timer loop for an earlier due time, after
// transactions of this process. It only shortens waits: the next check finds other processes' work. mu guards all but
// version and nextDue. A poller is removed before its wake-up, so it is woken once.
type waiters struct {
	version atomic.Int64 // grows with each publication of ready steps

	mu       sync.Mutex
	pollers  pollerSets
	ofWorker map[int64][]*poller
	tasks    map[task.ID][]chan settledTask
	emptying map[int64]int      // running claims that expect to empty a route; see split_claim.go
	deep     map[int64]struct{} // routes where the last claim was full

	nextDue chan task.Instant // the earliest time since the last read
}

type poller struct {
	worker   int64
	served   *servedRoutes
	routes   []int64 // sorted; shared with pollers that serve the same
	capacity int
	start    bool // begin the attempts immediately
	toQueue  bool // for the worker's queue, with the longest wait there; see Engine.Dispatch
	idle     bool // the worker may take nothing now
	brief    bool // it does not wait, so an empty answer must come from the store

	wake      chan struct{} // closed when there may be work, or a field below is set
	handed    []Lease       // from a transaction
	promised  int           // number of those, or after the transaction
	lowest    int
	highest   int
	dismissed bool  // its worker is leaving
	failed    error // why the poll must end
	// onlyParked: the claim stopped after too many steps of paused templates, or steps without a capable worker;
	// others may follow.
	onlyParked bool

	// the steps, and their route, of the wake-up: if the poller leaves them, it must wake others
	owed      int
	owedRoute int64
}

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
	return &waiters{pollers: newPollerSets(), ofWorker: map[int64][]*poller{}, tasks: map[task.ID][]chan settledTask{},
		emptying: map[int64]int{}, deep: map[int64]struct{}{},
		nextDue: make(chan task.Instant, 1)}
}

func (ws *waiters) publish(u *Unit) {
	if u.Wake.due != 0 {
		ws.publishDue(u.Wake.due)
	}
	for _, p := range u.Ready.pollers {
		close(p.wake)
	}
	if len(u.Wake.queued) == 0 && len(u.Wake.settled) == 0 {
		return
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if len(u.Wake.queued) > 0 {
		ws.wake(u.Wake.queued)
	}
	if len(ws.tasks) == 0 {
		return
	}
	for _, t := range u.Wake.settled {
		ws.wakeCallers(t.ID, settledTask{task: t})
	}
}

func (ws *waiters) ready(steps map[int64]int) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.wake(steps)
}

// wake wakes a poller per step on each route. The caller holds mu.
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

func (ws *waiters) settled(ids []task.ID) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, id := range ids {
		ws.wakeCallers(id, settledTask{})
	}
}

type settledTask struct {
	task *task.Task // as committed, perhaps without context; nil: read it
	err  error
}

// The caller holds mu.
func (ws *waiters) wakeCallers(id task.ID, s settledTask) {
	list := ws.tasks[id]
	if len(list) == 0 {
		return
	}
	if s.task != nil && !s.task.State.Settled() {
		s.task = nil // the transaction continued to change it
	}
	if s.task != nil {
		row := *s.task // the unit may change its own
		s.task = &row
	}
	for _, ch := range list {
		ch <- s
	}
	delete(ws.tasks, id)
}

func (ws *waiters) awaitedRoutes() []int64 {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.pollers.routes()
}

func (ws *waiters) awaitedTasks() []task.ID {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return slices.Collect(maps.Keys(ws.tasks))
}

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

func (ws *waiters) awaited(route int64) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.pollers.first(route) != nil
}

// reserve removes and returns a poller of the route, or nil. The caller must close its wake.
func (ws *waiters) reserve(route int64) *poller {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	p := ws.pollers.first(route)
	if p != nil {
		ws.remove(p)
	}
	return p
}

// publishDue keeps the earlier time, without blocking.
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

// wakeAll: the queue in use has changed.
func (ws *waiters) wakeAll() { ws.wakeIf(func(*poller) bool { return true }) }

// wakeForRoutes wakes the pollers that can serve a new route.
func (ws *waiters) wakeForRoutes(routes []*task.Route) {
	ws.wakeIf(func(p *poller) bool { return p.served == nil || p.served.any(routes) })
}

// wakeIf calls those with mu held.
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

// await registers a poller, unless steps became ready since version.
func (ws *waiters) await(p *poller, version int64) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.version.Load() != version {
		return false
	}
	ws.enqueue(p)
	return true
}

// The caller holds mu.
func (ws *waiters) enqueue(p *poller) {
	p.wake, p.handed, p.promised, p.owed = make(chan struct{}), nil, 0, 0
	ws.ofWorker[p.worker] = append(ws.ofWorker[p.worker], p)
	ws.pollers.add(p)
}

// dismiss ends the polls of a leaving worker.
func (ws *waiters) dismiss(worker int64) { ws.wakeOf(worker, true) }

func (ws *waiters) recheck(worker int64) { ws.wakeOf(worker, false) }

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

// forwardWake wakes others for the steps that a woken poller leaves.
func (ws *waiters) forwardWake(p *poller) {
	if p.owed > 0 {
		ws.ready(map[int64]int{p.owedRoute: p.owed})
		p.owed = 0
	}
}

// fail ends all waiting with err, because this process would miss the events.
func (ws *waiters) fail(err error) {
	ws.version.Add(1) // a poll that has just checked finds the error next
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

// withdraw returns false for a poller that was woken, or that a transaction holds.
func (ws *waiters) withdraw(p *poller) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.remove(p)
}

// remove reports whether the poller was waiting. The caller holds mu.
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

// The channel receives once, when the task is settled or waiting is pointless; the function stops waiting. Callers
// share the task.
func (ws *waiters) awaitTask(id task.ID) (<-chan settledTask, func()) {
	ch := make(chan settledTask, 1) // buffered: a caller that stopped waiting blocks no sender
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

// Polled reports whether a poll of the worker waits, for tests.
func (e *Kernel) Polled(worker int64) bool {
	return len(e.waiters.polling(map[int64]struct{}{worker: {}})) > 0
}
