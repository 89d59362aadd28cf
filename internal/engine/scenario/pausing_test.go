package scenario_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
)

// pausingStore is PostgreSQL whose transactions pause while its node plays an actor. The test carries its PeerEvents.
type pausingStore struct {
	*postgres.Store
	ids      *task.Source
	schedule atomic.Pointer[turn]
	observer *observer
	private  *privateNotes // nil: its notes are those of all nodes

	mu        sync.Mutex
	news      []engine.PeerEvents
	marks     chan int64 // negative numbers of workers in news that came in
	violation error
	// hidden are ready steps that were locked elsewhere when this node looked: it may miss them for a while.
	hidden map[task.ID]bool
}

type turn struct {
	*schedule
	actor *actor
}

// openPausing opens a store; set its observer before it plays an actor.
func openPausing(ctx context.Context, dsn string, seedOfIDs uint64) (*pausingStore, error) {
	s, err := postgres.Open(ctx, dsn, nil)
	if err != nil {
		return nil, err
	}
	ids := task.NewSource(seedOfIDs, 0)
	return &pausingStore{Store: s, ids: ids, hidden: map[task.ID]bool{}, marks: make(chan int64, 100)}, nil
}

func (s *pausingStore) IDs() *task.Source { return s.ids }

func (s *pausingStore) Publish(n engine.PeerEvents) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.news = append(s.news, n)
}

func (s *pausingStore) carry() {
	s.mu.Lock()
	news := s.news
	s.news = nil
	s.mu.Unlock()
	for _, n := range news {
		s.Store.Publish(n)
	}
}

// connected marks the begin of incoming news.
const connected = 0

func (s *pausingStore) Subscribe(ctx context.Context, hear func(engine.PeerEvents)) error {
	return s.Store.Subscribe(ctx, func(n engine.PeerEvents) {
		hear(n)
		if len(n.Workers) == 0 && len(n.Routes) == 0 && !n.Registry && n.Feed == nil {
			s.marks <- connected
		}
		for _, no := range n.Workers {
			if no < 0 {
				s.marks <- no
			}
		}
	})
}

func (s *pausingStore) heardOf(mark int64) error {
	timeout := time.After(patient)
	for {
		select {
		case got := <-s.marks:
			if got == mark {
				return nil
			}
		case <-timeout:
			return fmt.Errorf("the news with the mark %d do not come", mark)
		}
	}
}

func (s *pausingStore) Write(ctx context.Context, fn func(ctx context.Context, tx engine.Tx) error) error {
	turn := s.schedule.Load()
	if turn == nil {
		return s.Store.Write(ctx, fn)
	}
	var last *pausingTx
	runs := 0
	err := s.Store.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		last = &pausingTx{Tx: tx, store: s, turn: turn, left: map[int64]int{}}
		if runs++; runs > 1 {
			last.pause("begins its transaction again")
		}
		if err := fn(ctx, last); err != nil {
			return err
		}
		if last.asked {
			last.pause("commits")
		}
		return nil
	})
	if err == nil && last != nil {
		s.checkVacant(last.left)
	}
	return err
}

func (s *pausingStore) violated(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.violation = errors.Join(s.violation, fmt.Errorf(format, args...))
}

func (s *pausingStore) violations() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.violation
	s.violation = nil
	return err
}

// checkVacant receives the number of free ready steps that a claim saw on each route and did not take. The claim must
// not have learned that such routes are empty.
func (s *pausingStore) checkVacant(left map[int64]int) {
	for route, n := range left {
		vacant := false
		err := s.Store.Write(context.Background(), func(ctx context.Context, tx engine.Tx) (err error) {
			// does not query the database
			vacant, err = tx.Vacant(ctx, route)
			return err
		})
		if err != nil {
			s.violated("is the route %d vacant? %w", route, err)
		}
		if vacant {
			s.violated("a claim took route %d for empty, though %d steps were ready there that nobody had locked", route, n)
		}
	}
}

type pausingTx struct {
	engine.Tx
	store *pausingStore
	turn  *turn
	left  map[int64]int // ready and free steps on a route that Ready did not return
	asked bool          // the database, anything
}

func (x *pausingTx) pause(at string) {
	x.asked = true
	x.turn.pause(x.turn.actor, at)
}

// Ready also looks at what the answer leaves out, while no other actor runs.
func (x *pausingTx) Ready(ctx context.Context, routes []int64, limit int) ([]engine.Work, error) {
	x.pause("Ready")
	var known []int64
	for _, r := range routes {
		vacant, err := x.Tx.Vacant(ctx, r)
		if err != nil {
			return nil, err
		}
		if !vacant {
			known = append(known, r)
		}
	}
	works, err := x.Tx.Ready(ctx, routes, limit)
	if err != nil {
		return nil, err
	}
	return works, x.lookBeside(known, works)
}

func (x *pausingTx) lookBeside(routes []int64, works []engine.Work) error {
	found := make([]task.ID, len(works))
	for i, w := range works {
		found[i] = w.Step.ID
	}
	all, free, err := x.store.observer.ready(routes, found)
	if err != nil {
		return err
	}
	x.store.mu.Lock()
	defer x.store.mu.Unlock()
	clear(x.left)
	for id, route := range all {
		switch {
		case free[id] == 0:
			x.store.hidden[id] = true
		case !x.store.hidden[id]:
			x.left[route]++
		}
	}
	return nil
}

// ready returns the routes of the other committed ready steps, and of those that are unlocked.
func (o *observer) ready(routes []int64, but []task.ID) (all, free map[task.ID]int64, err error) {
	const query = `SELECT id, queue FROM tasker_workflow_steps WHERE queue = ANY($1) AND NOT id = ANY($2::uuid[])`
	ids := make([]string, len(but))
	for i, id := range but {
		ids[i] = id.String()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	read := func(query string) (map[task.ID]int64, error) {
		rows, err := o.conn.Query(o.t.Context(), query, routes, ids)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		found := map[task.ID]int64{}
		for rows.Next() {
			var id [16]byte
			var route int64
			if err := rows.Scan(&id, &route); err != nil {
				return nil, err
			}
			found[task.ID(id)] = route
		}
		return found, rows.Err()
	}
	if all, err = read(query); err != nil || len(all) == 0 {
		return nil, nil, err
	}
	free, err = read(query + ` FOR UPDATE SKIP LOCKED`)
	return all, free, err
}

func openObserver(t *testing.T, dsn string) (*observer, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, err
	}
	q := u.Query()
	q.Set("search_path", q.Get("schema"))
	q.Del("schema")
	u.RawQuery = q.Encode()
	conn, err := pgx.Connect(t.Context(), u.String())
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return &observer{t: t, conn: conn}, nil
}
