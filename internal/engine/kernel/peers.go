package kernel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Changes by other processes arrive as events, which may be lost, and by upkeep's polling. PeerEvents only name the
// rows to read.

// Shared reports whether other processes may use the store. If not, the verbs in this file do nothing.
func (e *Kernel) Shared() bool { return e.Cluster != nil }

// Turn reports whether this process has the turn at a loop, for hold unless it asks again; hold 0 returns the turn. A
// process alone always has it.
func (e *Kernel) Turn(ctx context.Context, loop string, hold time.Duration) (bool, error) {
	if e.Cluster == nil {
		return true, nil
	}
	return e.Cluster.Turn(ctx, loop, hold)
}

// Resume must be called after an outage of the store that lost heartbeats: no lease expires for the length of a
// lease. Processes that open within that time read this from the store.
func (e *Kernel) Resume(ctx context.Context) error {
	until := e.Now().Add(e.Cfg.Leases.Lease())
	e.graceUntil.Store(int64(until))
	if e.Cluster == nil {
		return nil
	}
	return e.Transact(ctx, func(ctx context.Context, tx Tx) error {
		return e.NoteStore.Note(ctx, tx, graceNote, strconv.FormatInt(int64(until), 10))
	})
}

// graceNote has the time until which no lease expires.
const graceNote = "grace"

// learnGrace ignores a malformed note.
func (e *Kernel) learnGrace(ctx context.Context) error {
	text, err := e.NoteStore.FindNote(ctx, graceNote)
	if err != nil {
		return fmt.Errorf("look for the end of an outage: %w", err)
	}
	until, _ := strconv.ParseInt(text, 10, 64)
	e.graceUntil.Store(min(until, int64(e.Now().Add(e.Cfg.Leases.Lease()))))
	return nil
}

// Grace is the time by which delayed heartbeats must arrive.
func (e *Kernel) Grace() task.Instant { return task.Instant(e.graceUntil.Load()) }

// Arriving reports whether this engine or its store was recently absent, without consequences for tasks and workers.
func (e *Kernel) Arriving() bool { return e.Now() < e.Grace() }

// absence is the time without a turn of any process after which nobody received heartbeats.
func (e *Kernel) absence() time.Duration { return max(10*time.Second, 3*e.Cfg.UpkeepInterval) }

// arrive begins a grace, unless other processes have received heartbeats all the time.
func (e *Kernel) arrive(ctx context.Context) error {
	if e.Cluster != nil {
		last, err := e.Cluster.LastTurn(ctx)
		if err != nil {
			return fmt.Errorf("look for other processes: %w", err)
		}
		if last != 0 && e.Now().Sub(last) < e.absence() {
			return e.learnGrace(ctx)
		}
	}
	return e.Resume(ctx)
}

func (e *Kernel) Publish(n PeerEvents) {
	if e.Cluster != nil {
		e.Cluster.Publish(n)
	}
}

func (e *Kernel) publishReady(u *Unit) {
	if e.Cluster != nil && len(u.Wake.queued) > 0 {
		e.Cluster.Publish(PeerEvents{Routes: slices.Sorted(maps.Keys(u.Wake.queued))})
	}
}

// SubscribePeers gathers events of other processes for HandlePeerEvents, until ctx ends or the connection is lost; it
// returns the reason.
func (e *Kernel) SubscribePeers(ctx context.Context) error {
	if e.Cluster == nil {
		return nil
	}
	defer e.feed.SetConnected(false)
	return e.Cluster.Subscribe(ctx, func(n PeerEvents) {
		e.feed.SetConnected(true)
		if n.Feed != nil {
			e.feed.Receive(n.Feed)
		}
		e.peerEvents.put(n)
	})
}

// PeerEvents receives when there are events for HandlePeerEvents.
func (e *Kernel) PeerEvents() <-chan struct{} { return e.peerEvents.notify }

// HandlePeerEvents reads the rows that the events name. After an error, PollPeers finds them.
func (e *Kernel) HandlePeerEvents(ctx context.Context) error {
	n := e.peerEvents.take()
	if e.Cluster == nil {
		return nil
	}
	if n.pauses {
		if err := e.RefreshPauses(ctx); err != nil {
			return err
		}
	}
	if n.limits {
		if err := e.RefreshLimits(ctx); err != nil {
			return err
		}
	}
	e.Catalog.permitsFreed(n.freed)
	routes := n.routes
	if err := e.handleWorkerEvents(ctx, n.workers); err != nil {
		return err
	}
	if n.registry {
		if err := e.Catalog.loadNew(ctx); err != nil {
			return fmt.Errorf("look for new routes: %w", err)
		}
	}
	if len(routes) == 0 {
		return nil
	}
	if err := e.Catalog.ensureRoutes(ctx, maps.Keys(routes)); err != nil {
		return fmt.Errorf("look for routes: %w", err)
	}
	// a poll that checked and does not wait yet checks again
	e.waiters.version.Add(1)
	waiting := slices.DeleteFunc(e.waiters.awaitedRoutes(), func(r int64) bool {
		_, named := routes[r]
		return !named
	})
	return e.pollReady(ctx, waiting)
}

// Workers without a waiting poll are read when they poll.
func (e *Kernel) handleWorkerEvents(ctx context.Context, workers map[int64]struct{}) error {
	if len(workers) == 0 {
		return nil
	}
	e.workers.drop(workers)
	e.waiters.version.Add(1) // a poll that has just checked checks again
	for _, no := range e.waiters.polling(workers) {
		w, err := e.Store.FindWorkerByNo(ctx, no)
		if err != nil {
			return fmt.Errorf("look at a worker: %w", err)
		}
		if w == nil || w.State.Leaving() {
			e.waiters.dismiss(no)
		} else {
			e.waiters.recheck(no)
		}
	}
	return nil
}

// PollPeers finds changes by other processes without their events: the order, new routes, ready steps, settled tasks.
// Without the store all waiters get an error, because another process may still reach it.
func (e *Kernel) PollPeers(ctx context.Context) error {
	if e.Cluster == nil {
		return nil
	}
	err := errors.Join(e.followOrdering(ctx), e.RefreshPauses(ctx), e.RefreshLimits(ctx), e.pollRoutes(ctx),
		e.pollReady(ctx, e.waiters.awaitedRoutes()),
		e.pollSettled(ctx, e.waiters.awaitedTasks()),
		e.followPeerFeeds(ctx))
	var why *task.Error
	if errors.As(err, &why) && why.Code == task.Unavailable {
		e.waiters.fail(why)
		e.feed.Fail(why)
	}
	return err
}

// pollRoutes reads one page, so that a new route is found within a few rounds without its event.
func (e *Kernel) pollRoutes(ctx context.Context) error {
	if err := e.Catalog.loadNextPage(ctx); err != nil {
		return fmt.Errorf("look for new routes: %w", err)
	}
	return nil
}

const (
	maxOccupied = 1000
	maxAsked    = 5000
)

func (e *Kernel) pollReady(ctx context.Context, routes []int64) error {
	if len(routes) == 0 {
		return nil
	}
	ready, err := e.Queue.readyOn(ctx, routes)
	if err != nil {
		return fmt.Errorf("look for ready steps: %w", err)
	}
	if len(ready) > 0 {
		e.waiters.ready(ready)
	}
	return nil
}

func (e *Kernel) pollSettled(ctx context.Context, ids []task.ID) error {
	for some := range slices.Chunk(ids, maxAsked) {
		settled, err := e.Cluster.Settled(ctx, some)
		if err != nil {
			return fmt.Errorf("look for settled tasks: %w", err)
		}
		e.waiters.settled(settled)
	}
	return nil
}

type peerMailbox struct {
	notify chan struct{} // one token while there are events

	mu sync.Mutex
	gatheredEvents
}

type gatheredEvents struct {
	routes, workers, freed   map[int64]struct{}
	registry, pauses, limits bool
}

func newPeerMailbox() *peerMailbox { return &peerMailbox{notify: make(chan struct{}, 1)} }

// put never blocks: it runs in the goroutine that reads the connection.
func (m *peerMailbox) put(n PeerEvents) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.routes, m.workers = added(m.routes, n.Routes), added(m.workers, n.Workers)
	m.freed = added(m.freed, n.Freed)
	m.registry, m.pauses, m.limits = m.registry || n.Registry, m.pauses || n.Pauses, m.limits || n.Limits
	select {
	case m.notify <- struct{}{}:
	default:
	}
}

func added(set map[int64]struct{}, list []int64) map[int64]struct{} {
	if set == nil {
		set = make(map[int64]struct{}, len(list))
	}
	for _, v := range list {
		set[v] = struct{}{}
	}
	return set
}

func (m *peerMailbox) take() gatheredEvents {
	m.mu.Lock()
	defer m.mu.Unlock()
	taken := m.gatheredEvents
	m.gatheredEvents = gatheredEvents{}
	return taken
}
