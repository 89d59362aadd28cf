package redisqueue

import (
	"context"
	"errors"
	"time"

	"github.com/taskerhq/tasker/internal/broker/redislist"
)

// take takes jobs and starts them until ctx ends; work is the context of the jobs. It reports whether the consumer's
// list in Redis has only known jobs.
func (c *Consumer) take(ctx, work context.Context) (sure bool) {
	sure = true
	trouble := false
	for c.room(ctx) > 0 {
		h := c.current()
		if !sure {
			sure = c.releaseUnknown(h) == nil
		}
		var err error
		if sure {
			err = c.takeSome(ctx, work, h)
		}
		switch {
		case errors.Is(err, redislist.ErrTakenOver):
			c.renew(h)
		case err != nil || !sure:
			if err != nil && !trouble {
				c.o.Logger.Warn("jobs cannot be taken", "queue", c.o.Queue, "error", err)
			}
			sure, trouble = false, true
			_ = c.o.Clock.Sleep(ctx, troublePause) // its error ends the loop
		case trouble:
			c.o.Logger.Info("jobs can be taken again", "queue", c.o.Queue)
			trouble = false
		}
		if h.surplus() {
			sure = false
		}
	}
	if !sure {
		_ = c.releaseUnknown(c.current()) // the rest is taken over later
	}
	return sure
}

// takeSome takes jobs, waiting a while for the first. The end of ctx does not interrupt it: a command without a reader
// of its answer could move a job for a consumer that is gone.
func (c *Consumer) takeSome(ctx, work context.Context, h *holding) error {
	n := min(c.room(ctx), takeAtOnce)
	if n <= 0 {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	entries, err := c.takeNow(ctx, h, n)
	if err == nil && len(entries) == 0 {
		entries, err = c.wait(ctx, h, n)
	}
	c.start(work, h, entries)
	return err
}

func (c *Consumer) takeNow(ctx context.Context, h *holding, n int) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return c.list.Take(ctx, h.id, n, takeBytes)
}

// wait waits a while for a job, and takes others with it. It follows the registration of a take, so that it ends long
// before the lease.
func (c *Consumer) wait(ctx context.Context, h *holding, n int) ([]string, error) {
	call, cancel := context.WithTimeout(ctx, waitAtOnce+callTimeout)
	defer cancel()
	entry, ok, err := c.list.Wait(call, h.id, waitAtOnce)
	if err != nil || !ok {
		return nil, err
	}
	more, err := c.takeNow(ctx, h, n)
	if errors.Is(err, redislist.ErrTakenOver) {
		// The consumer was taken over during the wait. The job is for its new ID, or another consumer.
		if _, err := c.list.Release(call, h.id, []string{entry}); err == nil {
			return nil, redislist.ErrTakenOver
		}
	}
	return append([]string{entry}, more...), err
}

// room blocks until jobs may be taken, and returns how many; 0 when ctx ended. It holds twice as many jobs as can run:
// the next ones are ready, and few wait here that another consumer could run.
func (c *Consumer) room(ctx context.Context) int {
	for ctx.Err() == nil {
		c.mu.Lock()
		n := 2*c.o.Concurrency - (c.inHand - c.waiting)
		// A few at a time only when none is ready: a step in Redis costs the same for many.
		if c.waiting < c.o.MaxWaiting && n > 0 && (c.queued == 0 || n >= min(c.o.Concurrency, takeAtOnce)) {
			c.mu.Unlock()
			return n
		}
		c.asleep = true
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return 0
}

func (c *Consumer) change(inHand, waiting, queued int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inHand += inHand
	c.waiting += waiting
	c.queued += queued
	if !c.asleep {
		return
	}
	if c.queued == 0 || 2*c.o.Concurrency-(c.inHand-c.waiting) >= min(c.o.Concurrency, takeAtOnce) {
		close(c.changed)
		c.changed, c.asleep = make(chan struct{}), false
	}
}

func (c *Consumer) current() *holding {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.holding
}

// renew continues under a new ID after a takeover. Running jobs continue, and run elsewhere too.
func (c *Consumer) renew(old *holding) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holding != old {
		return
	}
	c.o.Logger.Error("the consumer was silent for longer than its lease, and its jobs were given back to the queue",
		"queue", c.o.Queue, "consumer", old.id)
	c.o.Letters.observers.Delete(old.id)
	c.holding = c.newHolding()
}

// beat sends heartbeats, and takes over from silent consumers.
func (c *Consumer) beat(ctx context.Context) {
	var since time.Time // start of uninterrupted heartbeats; zero: the last one failed
	for c.o.Clock.Sleep(ctx, c.o.Lease/4) == nil {
		if !c.beatOnce(ctx) {
			since = time.Time{}
			continue
		}
		now := c.o.Clock.Now()
		if since.IsZero() {
			since = now
		}
		// After an outage every consumer seems silent: others get a lease's time. And this process's jobs from before a
		// restart are not given back while their failures are about to be sent.
		if now.Sub(since) >= c.o.Lease && c.o.Letters.spool.Stats().Records == 0 {
			c.takeOver(ctx)
		}
	}
}

func (c *Consumer) beatOnce(ctx context.Context) bool {
	h := c.current()
	ctx, cancel := context.WithTimeout(ctx, max(callTimeout, c.o.Lease/8))
	defer cancel()
	known := h.count()
	inRedis, err := c.list.Beat(ctx, h.id)
	switch {
	case errors.Is(err, redislist.ErrTakenOver):
		c.renew(h)
	case err != nil:
		c.o.Logger.Warn("Redis did not hear that the consumer lives", "queue", c.o.Queue, "error", err)
	default:
		h.compare(known, inRedis)
	}
	return err == nil
}

func (c *Consumer) takeOver(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, max(callTimeout, c.o.Lease/8))
	defer cancel()
	moved, err := c.list.TakeOver(ctx)
	c.takenOver.Add(moved)
	switch {
	case err != nil:
		c.o.Logger.Warn("jobs of silent consumers cannot be taken over", "queue", c.o.Queue, "error", err)
	case moved > 0:
		c.o.Logger.Warn("jobs of silent consumers were given back to the queue", "queue", c.o.Queue, "jobs", moved)
	}
}

// releaseUnknown gives back unknown jobs in the consumer's list: the answer with them was lost, or Redis came back with
// old data. No take may run meanwhile.
func (c *Consumer) releaseUnknown(h *holding) error {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	known := h.snapshot() // before the list: a job that is settled in between is not in the list
	entries, err := c.list.Held(ctx, h.id)
	if err != nil {
		return err
	}
	var unknown []string
	for _, entry := range entries {
		if known[entry] > 0 {
			known[entry]--
		} else {
			unknown = append(unknown, entry)
		}
	}
	n, err := c.list.Release(ctx, h.id, unknown)
	c.released.Add(n)
	if err == nil {
		h.compare(0, 0)
	}
	return err
}

// leave ends the consumer's place in Redis, unless Redis may still move a job for it. Remaining jobs are taken over
// later.
func (c *Consumer) leave(sure bool) {
	h := c.current()
	c.o.Letters.observers.Delete(h.id)
	if !sure {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	inRedis, err := c.list.Leave(ctx, h.id)
	if err != nil || inRedis > 0 {
		c.o.Logger.Warn("the consumer ended and still holds jobs; others take them over",
			"queue", c.o.Queue, "jobs", inRedis, "after", c.o.Lease.Round(time.Second), "error", err)
	}
}
