package worker

import (
	"context"
	"time"
)

// batchTime bounds how long settling and fetching wait for the other steps of the last poll. It is latency that a
// worker may add to a step, so it is far below a typical round trip.
const batchTime = time.Millisecond

// stepBatch is the batch of steps from one poll, or from two that returned together, if it fills a good part of the
// slots. Short steps of a batch end within moments of each other, and each report or poll costs a transaction. So the
// first to end wait a little for the others; otherwise each transaction carries half of them. A few steps on a worker
// with free slots are no batch.
type stepBatch struct {
	no      int
	running int       // handlers of the batch that have not returned
	until   time.Time // afterwards nothing waits for the batch
}

// beginBatch records n accepted steps. Two polls that return together form one batch. The caller holds mu.
func (s *session) beginBatch(n int, now time.Time) {
	if s.lastBatch.running > 0 && now.Before(s.lastBatch.until) && !s.draining {
		s.lastBatch.running += n
		return
	}
	s.lastBatch = stepBatch{no: s.lastBatch.no + 1}
	if 4*n >= s.opts.Concurrency && !s.draining {
		s.lastBatch.running, s.lastBatch.until = n, now.Add(batchTime)
	}
}

// leaveBatch records the return of job's handler. The caller holds mu.
func (s *session) leaveBatch(job *Job) {
	if job.batch != s.lastBatch.no || s.lastBatch.running == 0 {
		return
	}
	if s.lastBatch.running--; s.lastBatch.running == 0 {
		s.settleWake.send()
		s.fetchWake.send()
	}
}

// awaitBatch blocks while steps of the last batch may be about to end. It may consume wake, the caller's signal.
func (s *session) awaitBatch(ctx context.Context, wake signal) {
	var timer *time.Timer
	for ctx.Err() == nil {
		s.mu.Lock()
		left := time.Duration(0)
		if s.lastBatch.running > 0 {
			left = time.Until(s.lastBatch.until)
		}
		s.mu.Unlock()
		if left <= 0 {
			return
		}
		if timer == nil {
			timer = time.NewTimer(left)
			defer timer.Stop()
		}
		select {
		case <-wake:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
