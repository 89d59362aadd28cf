package scenario_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/broker/dispatch/redis"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/upkeep"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
)

// Several nodes share one PostgreSQL and one Redis. Under load, no step is in two hands. Package upkeep tests how
// they agree on who hands out.

type shift struct {
	t  *testing.T
	mu sync.Mutex
	// handed counts the hand-outs of each step, late those after its result was accepted.
	handed  map[task.ID]int
	settled map[task.ID]struct{}
	late    int
	// open bounds the tasks that are not settled: on a slow machine, submissions outrun the workers.
	open chan struct{}
}

func newShift(t *testing.T) *shift {
	return &shift{t: t, handed: map[task.ID]int{}, settled: map[task.ID]struct{}{}, open: make(chan struct{}, 400)}
}

// joined starts a node on a PostgreSQL, with a Redis unless its URL is "". The node ends with the test at the latest.
func joined(t *testing.T, dsn, url string) (e *engine.Engine, stop func()) {
	t.Helper()
	s, err := postgres.Open(t.Context(), dsn, nil)
	if err != nil {
		t.Fatal(err)
	}
	opts := engine.Options{Config: settings.Config{UpkeepInterval: 200 * time.Millisecond}}
	if url != "" {
		d, err := redis.Open(t.Context(), url, nil)
		if err != nil {
			t.Fatal(err)
		}
		opts.Dispatcher = d
	}
	if e, err = engine.New(t.Context(), s, opts); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- upkeep.New(e, slog.New(slog.NewTextHandler(t.Output(), nil))).Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the upkeep ended with %v", err)
		}
		e.FlushDispatch()
		if opts.Dispatcher != nil {
			opts.Dispatcher.Close()
		}
		closeStore(t, s)
	})
	t.Cleanup(stop)
	return e, stop
}

func (c *shift) work(ctx context.Context, e *engine.Engine) {
	w, err := e.Register(ctx, task.Worker{})
	if err != nil {
		c.t.Error(err)
		return
	}
	for ctx.Err() == nil {
		leases, _, err := e.Poll(ctx, w.ID, 4, time.Second, true)
		if err != nil && ctx.Err() == nil {
			c.t.Errorf("a poll: %v", err)
			return
		}
		results := make([]engine.Result, len(leases))
		c.mu.Lock()
		for i, l := range leases {
			if _, over := c.settled[l.Step.ID]; over {
				c.late++
			}
			c.handed[l.Step.ID]++
			results[i] = engine.Result{Step: l.Step.ID, Token: l.Step.Token, Status: engine.ResultCompleted}
		}
		c.mu.Unlock()
		if len(results) == 0 {
			continue
		}
		time.Sleep(5 * time.Millisecond)
		answers, err := e.Settle(context.WithoutCancel(ctx), results)
		if err != nil {
			c.t.Errorf("a report: %v", err)
			return
		}
		c.mu.Lock()
		for i, a := range answers {
			if a.Err == nil {
				c.settled[results[i].Step] = struct{}{}
				select {
				case <-c.open:
				default: // settled twice, or stored although the submission failed; finish judges
				}
			}
		}
		c.mu.Unlock()
	}
}

func (c *shift) feed(ctx context.Context, e *engine.Engine) (n int) {
	for {
		batch := []engine.Submission{job, job, job, job}
		for range batch {
			select {
			case c.open <- struct{}{}:
			case <-ctx.Done():
				return n
			}
		}
		if _, err := e.Submit(ctx, batch, false); err == nil {
			n += len(batch)
		} else if ctx.Err() == nil {
			c.t.Errorf("a submission: %v", err)
		}
	}
}

// finish waits until everything submitted is settled, as long as there is progress, and judges.
func (c *shift) finish(tasks int) {
	c.t.Helper()
	count := func() int { c.mu.Lock(); defer c.mu.Unlock(); return len(c.settled) }
	last, since := count(), time.Now()
	for ; last < tasks; time.Sleep(10 * time.Millisecond) {
		if n := count(); n > last {
			last, since = n, time.Now()
		} else if time.Since(since) > patient {
			c.t.Errorf("%d of %d tasks are settled, and none for %s", n, tasks, patient)
			break
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	twice := 0
	for _, n := range c.handed {
		if n > 1 {
			twice++
		}
	}
	if twice > 0 || c.late > 0 {
		c.t.Errorf("of %d steps %d were handed out more than once, %d after their result had been accepted",
			len(c.handed), twice, c.late)
	}
	c.t.Logf("%d steps", len(c.handed))
}

type staff struct {
	quit, close     context.CancelFunc
	workers, feeder sync.WaitGroup
	submitted       int
}

func (c *shift) employ(e *engine.Engine) *staff {
	s := &staff{}
	feeding, quit := context.WithCancel(c.t.Context())
	working, stop := context.WithCancel(c.t.Context())
	s.quit, s.close = quit, stop
	for range 4 {
		s.workers.Go(func() { c.work(working, e) })
	}
	s.feeder.Go(func() { s.submitted = c.feed(feeding, e) })
	return s
}

func (s *staff) leave() (submitted int) {
	s.quit()
	s.feeder.Wait()
	s.close()
	s.workers.Wait()
	return s.submitted
}

// Redis forgets everything again and again; no step is handed out twice.
func TestFlushesUnderLoad(t *testing.T) {
	t.Parallel()
	server, dsn := redistest.Start(t), pgtest.DSN(t)
	c := newShift(t)
	var staffs []*staff
	for range 2 {
		e, _ := joined(t, dsn, server.URL())
		staffs = append(staffs, c.employ(e))
	}
	flush := time.NewTicker(1300 * time.Millisecond)
	defer flush.Stop()
	for range 7 {
		<-flush.C
		if err := server.Flush(); err != nil {
			t.Error(err)
		}
	}
	tasks := 0
	for _, s := range staffs {
		s.quit()
		s.feeder.Wait()
		tasks += s.submitted
	}
	c.finish(tasks)
	for _, s := range staffs {
		s.leave()
	}
}

// A loaded cluster moves to Redis and back, node by node. No step is handed out twice or lost.
func TestSwitchUnderLoad(t *testing.T) {
	t.Parallel()
	server, dsn := redistest.Start(t), pgtest.DSN(t)
	c := newShift(t)
	type post struct {
		*staff
		e    *engine.Engine
		stop func()
	}
	open := func(url string) post {
		e, stop := joined(t, dsn, url)
		return post{c.employ(e), e, stop}
	}
	posts, tasks := []post{open(""), open("")}, 0
	for i, url := range []string{server.URL(), server.URL(), "", ""} {
		time.Sleep(time.Second)
		old := posts[0]
		posts = append(posts[1:], open(url)) // the new node joins before the old one leaves
		time.Sleep(time.Second)
		tasks += old.leave()
		old.stop()
		if i == 1 {
			redisHandsOut(t, posts[0].e, posts[1].e)
		}
	}
	for _, p := range posts {
		p.quit()
		p.feeder.Wait()
		tasks += p.submitted
	}
	c.finish(tasks)
	for _, p := range posts {
		p.leave()
	}
}

func redisHandsOut(t *testing.T, nodes ...*engine.Engine) {
	t.Helper()
	for _, e := range nodes {
		for end := time.Now().Add(patient); !e.DispatchState().Active; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("the node dispatches %+v", e.DispatchState())
			}
		}
	}
}
