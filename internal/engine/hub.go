package engine

import (
	"sync"
	"sync/atomic"

	"github.com/taskerhq/tasker/internal/task"
)

// hub wakes those who wait for something that a transaction of this process
// made happen: pollers for ready steps, callers for settled tasks, the timer
// loop for an earlier due time. It only saves waiting time; who misses a wake-up
// (another process did the work) finds out by looking again.
type hub struct {
	version atomic.Int64 // grows with every publication of ready steps

	mu      sync.Mutex
	pollers map[int64]map[*poller]struct{} // by route
	tasks   map[task.ID][]chan struct{}

	nextDue chan task.Instant // the earliest time set since it was read last
}

// poller is one waiting poll.
type poller struct {
	routes   []int64
	capacity int
	wake     chan struct{}
}

func newHub() *hub {
	return &hub{pollers: map[int64]map[*poller]struct{}{}, tasks: map[task.ID][]chan struct{}{},
		nextDue: make(chan task.Instant, 1)}
}

// publish tells what a committed transaction did.
func (h *hub) publish(ready map[int64]int, settled []task.ID, due task.Instant) {
	if due != 0 {
		h.publishDue(due)
	}
	if len(ready) == 0 && len(settled) == 0 {
		return
	}
	h.version.Add(int64(len(ready)))
	h.mu.Lock()
	defer h.mu.Unlock()
	for route, n := range ready {
		for p := range h.pollers[route] {
			if n <= 0 {
				break
			}
			n -= p.capacity
			h.remove(p)
			close(p.wake)
		}
	}
	if len(h.tasks) == 0 {
		return
	}
	for _, id := range settled {
		for _, ch := range h.tasks[id] {
			close(ch)
		}
		delete(h.tasks, id)
	}
}

func (h *hub) publishDue(due task.Instant) {
	for {
		select {
		case h.nextDue <- due:
			return
		case other := <-h.nextDue:
			due = min(due, other)
		}
	}
}

// wakeAll wakes every poller: the set of routes has changed.
func (h *hub) wakeAll() {
	h.version.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, set := range h.pollers {
		for p := range set {
			h.remove(p)
			close(p.wake)
		}
	}
}

// await registers a poller, unless something has become ready since version.
func (h *hub) await(p *poller, version int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.version.Load() != version {
		return false
	}
	p.wake = make(chan struct{})
	for _, r := range p.routes {
		set := h.pollers[r]
		if set == nil {
			set = map[*poller]struct{}{}
			h.pollers[r] = set
		}
		set[p] = struct{}{}
	}
	return true
}

// forget takes a poller out; it may have been woken already.
func (h *hub) forget(p *poller) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remove(p)
}

func (h *hub) remove(p *poller) {
	for _, r := range p.routes {
		delete(h.pollers[r], p)
	}
}

// awaitTask returns a channel that is closed when the task is settled, and a
// function to stop waiting.
func (h *hub) awaitTask(id task.ID) (<-chan struct{}, func()) {
	ch := make(chan struct{})
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
