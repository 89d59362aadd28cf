package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/store"
)

// publishInterval is the minimum time between two notifications of one process. A commit that notifies takes a lock
// shared by all such commits of the database, so there are few of them, and none in a transaction that does work.
const publishInterval = 200 * time.Millisecond

// maxIDs bounds the IDs of a kind in one notification, which is limited to 8,000 bytes.
const maxIDs = 150

// peerMessage is the payload of a notification. Nodes of different versions exchange it during an upgrade: a field may
// be added, never renamed or given another meaning.
type peerMessage struct {
	Node     string  `json:"node"`
	Routes   []int64 `json:"routes,omitempty"`
	Workers  []int64 `json:"workers,omitempty"`
	Registry bool    `json:"registry,omitempty"`
	Pauses   bool    `json:"pauses,omitempty"`
	Limits   bool    `json:"limits,omitempty"`
	Freed    []int64 `json:"freed,omitempty"`

	Feed *feedMessage `json:"tidings,omitempty"` // the name in earlier versions
}

func (b peerMessage) encode() (string, error) {
	text, err := json.Marshal(b)
	if err != nil {
		return "", fmt.Errorf("encode news: %w", err)
	}
	return string(text), nil
}

// outbox collects the events to send. Events of the same route or worker that wait together are sent once.
type outbox struct {
	mu       sync.Mutex
	routes   map[int64]struct{}
	workers  map[int64]struct{}
	registry bool
	pauses   bool
	limits   bool
	freed    map[int64]struct{}
	waiting  chan struct{}
}

func newOutbox() *outbox {
	return &outbox{routes: map[int64]struct{}{}, workers: map[int64]struct{}{}, freed: map[int64]struct{}{},
		waiting: make(chan struct{}, 1)}
}

// add adds events and wakes sendEvents. It never blocks: sets of IDs are bounded by their rows, however long the
// database does not answer.
func (r *outbox) add(n engine.PeerEvents) {
	r.mu.Lock()
	for _, id := range n.Routes {
		r.routes[id] = struct{}{}
	}
	for _, id := range n.Workers {
		r.workers[id] = struct{}{}
	}
	for _, no := range n.Freed {
		r.freed[no] = struct{}{}
	}
	r.registry, r.pauses, r.limits = r.registry || n.Registry, r.pauses || n.Pauses, r.limits || n.Limits
	r.mu.Unlock()
	select {
	case r.waiting <- struct{}{}:
	default:
	}
}

func (r *outbox) take(node string) (b peerMessage, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b = peerMessage{Node: node, Routes: pick(r.routes), Workers: pick(r.workers), Registry: r.registry,
		Pauses: r.pauses, Limits: r.limits, Freed: pick(r.freed)}
	r.registry, r.pauses, r.limits = false, false, false
	return b, len(r.routes)+len(r.workers)+len(r.freed) > 0
}

// pick removes up to maxIDs IDs from a set, lowest first, which makes the notifications of tests predictable.
func pick(set map[int64]struct{}) []int64 {
	ids := slices.Sorted(maps.Keys(set))
	ids = ids[:min(len(ids), maxIDs)]
	for _, id := range ids {
		delete(set, id)
	}
	return ids
}

// sendEvents sends peer events to the other processes: immediately after a quiet time, and at most a few times a
// second.
func (s *Store) sendEvents(ctx context.Context) {
	for {
		select {
		case <-s.news.waiting:
		case <-ctx.Done():
			return
		}
		for more := true; more; {
			var b peerMessage
			b, more = s.news.take(s.node)
			// after a lost event the other processes read a second later
			_ = s.notify(ctx, b)
		}
		select {
		case <-time.After(publishInterval):
		case <-ctx.Done():
			return
		}
	}
}

// notify sends one peer message in its own transaction. A loss is harmless: it only delays others' reads.
func (s *Store) notify(ctx context.Context, b peerMessage) error {
	payload, err := b.encode()
	if err != nil {
		return err
	}
	return s.Query(ctx, `SELECT pg_notify($1, $2)`, []any{s.channel, payload}, func(store.Row) error { return nil })
}

// Subscribe implements engine.Cluster. It calls hear in one goroutine, first with an empty event once it listens, so
// that the caller reads earlier changes. It blocks until ctx ends or the connection is lost, and returns the error; the
// caller subscribes again. Behind a pooler it receives nothing, and blocks.
func (s *Store) Subscribe(ctx context.Context, hear func(engine.PeerEvents)) error {
	if s.listens == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	c, err := s.listener(ctx)
	if err != nil {
		return fmt.Errorf("listen: %w", classify(err))
	}
	defer hangUp(c)
	hear(engine.PeerEvents{})
	for {
		n, err := c.WaitForNotification(ctx)
		if err != nil {
			return fmt.Errorf("listen: %w", classify(err))
		}
		var b peerMessage
		if err := json.Unmarshal([]byte(n.Payload), &b); err != nil || b.Node == s.node {
			continue // not readable, or our own
		}
		s.forgetVacancies(b.Routes)
		hear(engine.PeerEvents{Routes: b.Routes, Workers: b.Workers, Registry: b.Registry, Pauses: b.Pauses,
			Limits: b.Limits, Freed: b.Freed, Feed: b.feedBatch()})
	}
}

// listener opens the connection that receives peer events, outside of the pool, because LISTEN occupies it for good.
func (s *Store) listener(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	c, err := pgx.ConnectConfig(ctx, s.listens)
	if err != nil {
		return nil, err
	}
	if _, err := c.Exec(ctx, "LISTEN "+quote(s.channel)); err != nil {
		hangUp(c)
		return nil, err
	}
	return c, nil
}

func hangUp(c *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), rollbackTimeout)
	defer cancel()
	_ = c.Close(ctx)
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

func (s *Store) forgetVacancies(routes []int64) {
	ready := make(map[int64]struct{}, len(routes))
	for _, id := range routes {
		ready[id] = struct{}{}
	}
	s.routes.occupied(ready, s.Now())
}
