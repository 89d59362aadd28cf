// Package bare is a minimal queue: one table, group commits of concurrent inserts, and one transaction that records
// completions and claims the next jobs. It has no retries, priorities, leases, history or steps. It is not a peer but a
// bound: the distance to it is the price of everything else.
package bare

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/taskerhq/tasker/proof/bench/compare"
)

// most bounds the jobs of one transaction.
const most = 1000

type store interface {
	insert(ctx context.Context, bodies [][]byte) error
	// turn records completions and claims up to n other jobs.
	turn(ctx context.Context, done []int64, n int) (claimed []int64, err error)
	count(ctx context.Context) (done, others int64, err error)
	close() error
}

// queue is a compare.Queue on a store.
type queue struct {
	store   store
	inserts chan insertion
	ended   sync.WaitGroup
	waiting chan struct{} // holds a token when jobs may be waiting
	settled atomic.Int64
}

type insertion struct {
	body []byte
	err  chan error
}

var _ compare.Queue = (*queue)(nil)

func newQueue(s store) *queue {
	q := &queue{store: s, inserts: make(chan insertion, most), waiting: make(chan struct{}, 1)}
	q.ended.Go(q.commit)
	return q
}

// commit stores all jobs that arrived during the previous commit together.
func (q *queue) commit() {
	for first := range q.inserts {
		group := []insertion{first}
		for len(q.inserts) > 0 && len(group) < most {
			group = append(group, <-q.inserts)
		}
		bodies := make([][]byte, len(group))
		for i, g := range group {
			bodies[i] = g.body
		}
		err := q.store.insert(context.Background(), bodies)
		q.wake()
		for _, g := range group {
			g.err <- err
		}
	}
}

func (q *queue) wake() {
	select {
	case q.waiting <- struct{}{}:
	default:
	}
}

func (q *queue) Submit(_ context.Context, _ int, body json.RawMessage) error {
	i := insertion{body, make(chan error, 1)}
	q.inserts <- i
	return <-i.err
}

func (q *queue) SubmitMany(ctx context.Context, n int, body json.RawMessage) error {
	bodies := make([][]byte, n)
	for i := range bodies {
		bodies[i] = body
	}
	err := q.store.insert(ctx, bodies)
	q.wake()
	return err
}

func (q *queue) Work(_ context.Context, n int, handle func()) (func() error, error) {
	todo, finished, stop := make(chan int64, n), make(chan int64, n), make(chan struct{})
	var workers sync.WaitGroup
	for range n {
		workers.Go(func() {
			for id := range todo {
				handle()
				finished <- id
			}
		})
	}
	q.wake() // there may be a backlog
	failed := make(chan error, 1)
	go func() {
		failed <- q.dispatch(n, todo, finished, stop)
		close(todo)
	}()
	return sync.OnceValue(func() error {
		close(stop)
		err := <-failed
		workers.Wait()
		return err
	}), nil
}

// dispatch gives jobs to idle workers and records completions, until it is stopped and no worker is busy.
func (q *queue) dispatch(idle int, todo chan<- int64, finished <-chan int64, stop <-chan struct{}) error {
	all, backlog := idle, false
	for stopping := false; !stopping || idle < all; {
		var done []int64
		if !backlog || idle == 0 || stopping {
			select {
			case id := <-finished:
				done = append(done, id)
			case <-q.waiting:
				backlog = true
			case <-stop:
				stopping, stop = true, nil
				continue
			}
		}
		for len(finished) > 0 && len(done) < most {
			done = append(done, <-finished)
		}
		claim := 0
		if backlog && !stopping {
			claim = min(idle+len(done), most)
		}
		if len(done) == 0 && claim == 0 {
			continue
		}
		claimed, err := q.store.turn(context.Background(), done, claim)
		if err != nil {
			return fmt.Errorf("turn of a bare queue: %w", err)
		}
		q.settled.Add(int64(len(done)))
		backlog = backlog && len(claimed) == claim
		idle += len(done) - len(claimed)
		for _, id := range claimed {
			todo <- id
		}
	}
	return nil
}

func (q *queue) Settled() int64 { return q.settled.Load() }

func (q *queue) Check(ctx context.Context) error {
	done, others, err := q.store.count(ctx)
	if err == nil && (others != 0 || done != q.Settled()) {
		err = fmt.Errorf("%d jobs are done and %d are not; %d were counted", done, others, q.Settled())
	}
	return err
}

func (q *queue) Close() error {
	close(q.inserts)
	q.ended.Wait()
	return q.store.close()
}
