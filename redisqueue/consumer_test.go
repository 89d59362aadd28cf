package redisqueue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/broker/redislist"
	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/redisqueue"
)

type running struct {
	*redisqueue.Consumer
	stop func()
	done chan struct{}
}

func (s server) run(o redisqueue.ConsumerOptions) *running {
	s.Helper()
	o.Client, o.Queue = s.client, s.queue
	if o.Letters == nil {
		o.Letters = s.deadLetters(redisqueue.DeadLetterOptions{})
	}
	c, err := redisqueue.NewConsumer(o)
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{Consumer: c, done: make(chan struct{})}
	r.stop = func() { cancel(); <-r.done }
	go func() {
		defer close(r.done)
		if err := c.Run(ctx); err != nil {
			s.Error(err)
		}
	}()
	s.Cleanup(r.stop)
	return r
}

func (s server) idle() bool {
	if len(s.list(s.queue)) > 0 { // first: a job taken between the two looks would be in neither
		return false
	}
	for _, key := range s.keys("*" + s.queue + "*processing*") {
		if len(s.list(key)) > 0 {
			return false
		}
	}
	return len(s.list(s.queue)) == 0
}

func TestConsumer(t *testing.T) {
	t.Parallel()
	s := shared(t)
	const n = 500
	for i := range n {
		s.push(fmt.Sprint(i))
	}
	var mu sync.Mutex
	tries := map[string]int{}
	results := map[string]redisqueue.Result{}
	c := s.run(redisqueue.ConsumerOptions{
		HandlerOptions: redisqueue.HandlerOptions{Clock: newSkip()},
		Handler: func(_ context.Context, job redisqueue.Job) (any, error) {
			var i int
			if _, err := fmt.Sscan(string(job.Payload), &i); err != nil {
				return nil, err
			}
			mu.Lock()
			defer mu.Unlock()
			if tries[string(job.Payload)]++; tries[string(job.Payload)] != job.Attempt {
				t.Errorf("job %d runs %d times at attempt %d", i, tries[string(job.Payload)], job.Attempt)
			}
			switch {
			case i%10 == 1:
				return nil, errors.New("always")
			case i%10 == 2:
				return nil, redisqueue.Permanent(errors.New("bad input"))
			case i%10 == 3 && job.Attempt < 3:
				return nil, errors.New("at first")
			}
			return i, nil
		},
		OnResult: func(job redisqueue.Job, r redisqueue.Result) {
			mu.Lock()
			defer mu.Unlock()
			results[string(job.Payload)] = r
		},
	})
	await.Until(t, "all settled", func() bool { return c.Stats().Succeeded+c.Stats().Failed == n })
	// Letters that Redis does not take in time wait in the spool, and their jobs in Redis, until they are sent again.
	await.Until(t, "all letters have arrived", func() bool { return len(s.dlq()) == n*2/10 && s.idle() })
	c.stop()
	if st := c.Stats(); st.Succeeded != n*8/10 || st.Failed != n*2/10 || st.Held != 0 || st.Waiting != 0 {
		t.Errorf("%+v", st)
	}
	if letters := s.letters(); len(letters) != n*2/10 || !s.idle() {
		t.Errorf("%d dead letters, and jobs are left: %t", len(letters), !s.idle())
	}
	for i, want := range []int{1, 3, 1, 3} {
		r := results[fmt.Sprint(i)]
		if r.Attempts != want || r.Success != (i == 0 || i == 3) || r.MovedToDLQ == r.Success {
			t.Errorf("job %d: %+v", i, r)
		}
	}
	// Nothing is left of a consumer that ended.
	if ids := s.keys("*" + s.queue + "*consumers"); len(ids) != 0 {
		t.Errorf("keys %v", ids)
	}
}

func TestTwoConsumers(t *testing.T) {
	t.Parallel()
	s := shared(t)
	var runs sync.Map
	var total atomic.Int64
	handler := func(_ context.Context, job redisqueue.Job) (any, error) {
		if _, again := runs.LoadOrStore(string(job.Payload), true); again {
			t.Errorf("job %s ran twice", job.Payload)
		}
		total.Add(1)
		return nil, nil
	}
	a := s.run(redisqueue.ConsumerOptions{Handler: handler})
	b := s.run(redisqueue.ConsumerOptions{Handler: handler})
	for i := range 1000 {
		s.push(fmt.Sprint(i))
	}
	await.Until(t, "all ran", func() bool { return total.Load() == 1000 && s.idle() })
	if a.Stats().Succeeded == 0 || b.Stats().Succeeded == 0 {
		t.Errorf("%+v, %+v", a.Stats(), b.Stats())
	}
}

// A stopping consumer lets running jobs end, and gives the others back in time.
func TestDrain(t *testing.T) {
	t.Parallel()
	s := shared(t)
	begun, end := make(chan struct{}, 10), make(chan struct{})
	c := s.run(redisqueue.ConsumerOptions{
		Concurrency: 2,
		Handler: func(ctx context.Context, job redisqueue.Job) (any, error) {
			if string(job.Payload) == "fails" {
				return nil, errors.New("try again in a second")
			}
			begun <- struct{}{}
			select {
			case <-end:
				return nil, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
		HandlerOptions: redisqueue.HandlerOptions{Clock: newClock()},
	})
	finish := sync.OnceFunc(func() { close(end) })
	t.Cleanup(finish) // a test that has failed must not wait for its jobs
	s.push("fails")   // alone: the others would take all slots before it runs
	await.Until(t, "it waits for its second attempt", func() bool { return c.Stats().Waiting == 1 })
	s.push("1", "2", "3", "4")
	<-begun
	<-begun
	stopped := make(chan struct{})
	go func() { c.stop(); close(stopped) }()
	await.Until(t, "the others are given back", func() bool {
		got := s.list(s.queue)
		return len(got) == 3 && slices.Contains(got, "fails")
	})
	select {
	case <-stopped:
		t.Error("it stopped while jobs ran")
	default:
	}
	finish()
	<-stopped
	if st := c.Stats(); st.Succeeded != 2 || st.Failed != 0 || st.Released < 2 { // one may not have been taken
		t.Errorf("%+v", st)
	}
}

// Jobs that still run after the time are cancelled and given back.
func TestDrainEnds(t *testing.T) {
	t.Parallel()
	s := shared(t)
	clock := newClock()
	begun := make(chan struct{})
	c := s.run(redisqueue.ConsumerOptions{
		HandlerOptions: redisqueue.HandlerOptions{Clock: clock},
		DrainTimeout:   time.Minute,
		Handler: func(ctx context.Context, _ redisqueue.Job) (any, error) {
			close(begun)
			<-ctx.Done()
			return nil, ctx.Err()
		},
	})
	s.push("endless")
	<-begun
	stopped := make(chan struct{})
	go func() { c.stop(); close(stopped) }()
	await.Until(t, "the time is over", func() bool {
		clock.advance(time.Minute)
		select {
		case <-stopped:
			return true
		default:
			return false
		}
	})
	if got := s.list(s.queue); !slices.Equal(got, []string{"endless"}) {
		t.Errorf("queue %q", got)
	}
}

// crash leaves the state of a killed consumer: it took jobs, and is silent.
func (s server) crash(n int) {
	s.Helper()
	list, err := redislist.New(s.client, s.queue, redislist.Options{})
	if err != nil {
		s.Fatal(err)
	}
	id := redislist.NewID()
	if _, err := list.Take(context.Background(), id, n, 1<<20); err != nil {
		s.Fatal(err)
	}
	s.silence(id)
}

// silence makes a consumer silent for a minute.
func (s server) silence(id string) {
	s.do("ZADD", redislist.Consumers(s.queue), "XX", fmt.Sprint(time.Now().Add(-time.Minute).UnixMilli()), id)
}

// The jobs of a crashed consumer run, after the others had time for heartbeats.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	s := shared(t)
	s.push("1", "2", "3")
	s.crash(2)
	clock := newClock()
	c := s.run(redisqueue.ConsumerOptions{
		HandlerOptions: redisqueue.HandlerOptions{Clock: clock},
		Handler:        func(context.Context, redisqueue.Job) (any, error) { return nil, nil },
	})
	await.Until(t, "the free one ran", func() bool { return c.Stats().Succeeded == 1 })
	clock.advance(8 * time.Second)
	if n := c.Stats().TakenOver; n != 0 {
		t.Errorf("%d jobs were taken over at once", n)
	}
	await.Until(t, "the others ran", func() bool {
		clock.advance(8 * time.Second)
		return c.Stats().Succeeded == 3 && s.idle()
	})
	if n := c.Stats().TakenOver; n != 2 {
		t.Errorf("%d jobs were taken over", n)
	}
}

// Jobs that Redis moved for a consumer without its knowledge run.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	s := shared(t)
	clock := newClock()
	var ran atomic.Int64
	s.run(redisqueue.ConsumerOptions{
		HandlerOptions: redisqueue.HandlerOptions{Clock: clock},
		Handler:        func(context.Context, redisqueue.Job) (any, error) { ran.Add(1); return nil, nil },
	})
	s.push("1")
	await.Until(t, "one ran", func() bool { return ran.Load() == 1 && s.idle() })
	ids := s.do("ZRANGE", redislist.Consumers(s.queue), "0", "-1")
	id, err := ids.AsStrSlice()
	if err != nil || len(id) != 1 {
		t.Fatal(id, err)
	}
	s.do("RPUSH", redislist.Processing(s.queue, id[0]), "2", "2")
	await.Until(t, "the others ran", func() bool {
		clock.advance(8 * time.Second)
		return ran.Load() == 3 && s.idle()
	})
}

// A consumer that was silent too long continues under another ID, and a failure of a job that another one has is no
// dead letter.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	s := shared(t)
	clock := newClock()
	letters := s.deadLetters(redisqueue.DeadLetterOptions{Clock: clock})
	begun, end := make(chan struct{}, 2), make(chan struct{})
	var runs atomic.Int64
	c := s.run(redisqueue.ConsumerOptions{
		HandlerOptions: redisqueue.HandlerOptions{Clock: clock, Letters: letters},
		Handler: func(context.Context, redisqueue.Job) (any, error) {
			if runs.Add(1) > 1 {
				return nil, nil
			}
			begun <- struct{}{}
			<-end
			return nil, redisqueue.Permanent(errors.New("no"))
		},
	})
	s.push("1")
	<-begun
	ids := s.do("ZRANGE", redislist.Consumers(s.queue), "0", "-1")
	id, err := ids.AsStrSlice()
	if err != nil || len(id) != 1 {
		t.Fatal(id, err)
	}
	list, err := redislist.New(s.client, s.queue, redislist.Options{})
	if err != nil {
		t.Fatal(err)
	}
	await.Until(t, "it is given up", func() bool {
		s.silence(id[0])
		n, err := list.TakeOver(t.Context())
		return n == 1 && err == nil
	})
	await.Until(t, "the job ran again", func() bool { return c.Stats().Succeeded == 1 && s.idle() })
	close(end)
	await.Until(t, "its failure is settled", func() bool {
		return letters.Status().Superseded == 1 && c.Stats().Held == 0
	})
	if got := s.dlq(); len(got) != 0 || c.Stats().Failed != 0 {
		t.Errorf("dead letters %q, %+v", got, c.Stats())
	}
}

func TestConsumerOptions(t *testing.T) {
	t.Parallel()
	s := shared(t)
	letters := s.deadLetters(redisqueue.DeadLetterOptions{})
	good := redisqueue.ConsumerOptions{Client: s.client, Queue: "q",
		Handler:        func(context.Context, redisqueue.Job) (any, error) { return nil, nil },
		HandlerOptions: redisqueue.HandlerOptions{Letters: letters}}
	if _, err := redisqueue.NewConsumer(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*redisqueue.ConsumerOptions){
		"NoClient":    func(o *redisqueue.ConsumerOptions) { o.Client = nil },
		"NoHandler":   func(o *redisqueue.ConsumerOptions) { o.Handler = nil },
		"NoLetters":   func(o *redisqueue.ConsumerOptions) { o.Letters = nil },
		"NoQueue":     func(o *redisqueue.ConsumerOptions) { o.Queue = "" },
		"BadQueue":    func(o *redisqueue.ConsumerOptions) { o.Queue = "a}b" },
		"Concurrency": func(o *redisqueue.ConsumerOptions) { o.Concurrency = 10_001 },
		"MaxWaiting":  func(o *redisqueue.ConsumerOptions) { o.MaxWaiting = -1 },
		"Lease":       func(o *redisqueue.ConsumerOptions) { o.Lease = time.Second },
		"Drain":       func(o *redisqueue.ConsumerOptions) { o.DrainTimeout = 2 * time.Hour },
		"Attempts":    func(o *redisqueue.ConsumerOptions) { o.Retry.MaxAttempts = 1001 },
		"Context":     func(o *redisqueue.ConsumerOptions) { o.ContextQueues = make([]string, 17) },
	} {
		o := good
		change(&o)
		if _, err := redisqueue.NewConsumer(o); err == nil {
			t.Errorf("%s: it was accepted", name)
		}
	}
}
