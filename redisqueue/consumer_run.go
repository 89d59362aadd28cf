package redisqueue

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/taskerhq/tasker/internal/broker/redislist"
)

// holding are the jobs under one ID of the consumer.
type holding struct {
	id string

	mu    sync.Mutex
	jobs  map[string]int // by payload: equal jobs are interchangeable
	total int64
	more  atomic.Bool // Redis seems to have more
}

func (c *Consumer) newHolding() *holding {
	h := &holding{id: redislist.NewID(), jobs: map[string]int{}}
	// A job whose failure waits in the spool stays in Redis's list until the failure arrives.
	c.o.Letters.observers.Store(h.id, func(job []byte) { h.drop(string(job)) })
	return h
}

func (h *holding) add(entry string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.jobs[entry]++
	h.total++
}

func (h *holding) drop(entry string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.jobs[entry]--; h.jobs[entry] <= 0 {
		delete(h.jobs, entry)
	}
	h.total--
}

func (h *holding) count() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.total
}

func (h *holding) snapshot() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make(map[string]int, len(h.jobs))
	for entry, n := range h.jobs {
		out[entry] = n
	}
	return out
}

// compare notes whether Redis has more jobs than the consumer had before and after: jobs may have been taken or settled
// in between, so only a difference both times is worth a look.
func (h *holding) compare(known, inRedis int64) { h.more.Store(inRedis > max(known, h.count())) }

func (h *holding) surplus() bool { return h.more.Load() }

type held struct {
	h       *holding
	entry   string
	delayed bool // it waited for another attempt, so it is near the old end of its list
}

func (c *Consumer) start(ctx context.Context, h *holding, entries []string) {
	if len(entries) == 0 {
		return
	}
	c.change(len(entries), 0, len(entries))
	for _, entry := range entries {
		h.add(entry)
		j := &held{h: h, entry: entry}
		c.jobs.Go(func() {
			c.run(ctx, j)
			c.change(-1, 0, 0)
		})
	}
}

// run brings a job to an end: it succeeds, becomes a dead letter, or is given back.
func (c *Consumer) run(ctx context.Context, j *held) {
	job := Job{Payload: []byte(j.entry), Queue: c.o.Queue}
	var t trial
	queued := true
	for {
		if !c.slot(&queued) {
			c.release(j)
			return
		}
		job.Attempt = t.attempts + 1
		value, err := c.handler.attempt(ctx, &t, func(ctx context.Context) (any, error) { return c.o.Handler(ctx, job) })
		<-c.slots
		if err == nil {
			c.finish(ctx, j, job, t.succeeded(value))
			return
		}
		if ctx.Err() != nil {
			c.release(j)
			return
		}
		delay, more := c.handler.next(&t)
		if !more {
			break
		}
		j.delayed = true
		if !c.pause(ctx, func(ctx context.Context) error { return c.o.Clock.Sleep(ctx, delay) }) {
			c.release(j)
			return
		}
		queued = true
		c.change(0, 0, 1)
	}
	c.bury(ctx, j, job, &t)
}

// slot waits for the right to run; false when the consumer stops. queued: the job counts as waiting for it.
func (c *Consumer) slot(queued *bool) bool {
	ok := false
	select {
	case <-c.stop: // first, since a free slot would win half of the time
	default:
		select {
		case c.slots <- struct{}{}:
			ok = true
		case <-c.stop:
		}
	}
	*queued = false
	c.change(0, 0, -1)
	return ok
}

func (c *Consumer) pause(ctx context.Context, wait func(context.Context) error) bool {
	c.change(0, 1, 0)
	defer c.change(0, -1, 0)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- wait(ctx) }()
	select {
	case err := <-ended:
		return err == nil
	case <-c.stop:
		return false
	}
}

// finish acknowledges a job that succeeded. While Redis does not answer it retries, until the consumer has to end: then
// the job runs again elsewhere.
func (c *Consumer) finish(ctx context.Context, j *held, job Job, r Result) {
	for {
		err, groupErr := c.acks.Do(context.WithoutCancel(ctx), j)
		if err == nil && groupErr == nil {
			break
		}
		if c.o.Clock.Sleep(ctx, troublePause) != nil {
			j.h.drop(j.entry)
			return
		}
	}
	j.h.drop(j.entry)
	c.succeeded.Add(1)
	c.tell(job, r)
}

// bury makes a job a dead letter. While no place takes it, the job waits unacknowledged.
func (c *Consumer) bury(ctx context.Context, j *held, job Job, t *trial) {
	l := c.handler.letter(t, c.o.Queue, job.Payload)
	l.consumer = j.h.id
	for {
		out, err := c.o.Letters.write(ctx, l)
		if err == nil {
			// Redis keeps the job of a letter in the spool until it is sent on.
			if out != inSpool {
				j.h.drop(j.entry)
			}
			if out == superseded {
				return // another consumer runs it
			}
			break
		}
		again := func(ctx context.Context) error { return c.o.Clock.Sleep(ctx, drainPause) }
		if !c.pause(ctx, again) {
			c.release(j)
			return
		}
	}
	c.failed.Add(1)
	c.tell(job, t.moved())
}

func (c *Consumer) tell(job Job, r Result) {
	if c.o.OnResult != nil {
		c.o.OnResult(job, r)
	}
}

func (c *Consumer) release(j *held) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	n, err := c.list.Release(ctx, j.h.id, []string{j.entry})
	if err != nil {
		c.o.Logger.Warn("a job cannot be given back; it is taken over later", "queue", c.o.Queue, "error", err)
	}
	c.released.Add(n)
	j.h.drop(j.entry)
}

// ackSome acknowledges jobs; calls must not be concurrent.
func (c *Consumer) ackSome(jobs []*held) ([]error, error) {
	type group struct {
		h       *holding
		delayed bool
	}
	groups := map[group][]string{}
	for _, j := range jobs {
		g := group{j.h, j.delayed}
		groups[g] = append(groups[g], j.entry)
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	c.mu.Lock()
	crowded := c.waiting > c.inHand/2
	c.mu.Unlock()
	failed := map[group]error{}
	for g, entries := range groups {
		// Jobs that wait for another attempt gather at the old end; those that never waited are behind them.
		_, failed[g] = c.list.Ack(ctx, g.h.id, entries, crowded && !g.delayed)
	}
	out := make([]error, len(jobs))
	for i, j := range jobs {
		out[i] = failed[group{j.h, j.delayed}]
	}
	return out, nil
}
