package tasker

import (
	"context"
	"time"
)

// waveTime bounds how long settling and fetching wait for the steps of the last poll to end together.
const waveTime = time.Millisecond

// wave is the batch of steps from one poll, or from two that returned together, when it fills a good part of
// the slots. Short steps in it end within moments of each other, and each report or poll costs the server a
// transaction; so the first to end wait a little for the others. Otherwise the steps fall into two halves,
// one being fetched while the other is reported, and each transaction carries half. A few steps on a worker
// with free slots make no wave and wait for no other.
type wave struct {
	no      int
	running int       // handlers of the wave that have not returned
	until   time.Time // afterwards nothing waits for the wave
}

// beginWave records n accepted steps. Those of two polls that return together are one wave. The caller holds
// mu.
func (s *shift) beginWave(n int, now time.Time) {
	if s.wave.running > 0 && now.Before(s.wave.until) && !s.draining {
		s.wave.running += n
		return
	}
	s.wave = wave{no: s.wave.no + 1}
	if 4*n >= s.opts.Concurrency && !s.draining {
		s.wave.running, s.wave.until = n, now.Add(waveTime)
	}
}

// leaveWave records that the handler of job has returned. The caller holds mu.
func (s *shift) leaveWave(job *Job) {
	if job.wave != s.wave.no || s.wave.running == 0 {
		return
	}
	if s.wave.running--; s.wave.running == 0 {
		s.settleWake.send()
		s.fetchWake.send()
	}
}

// awaitWave blocks while steps of the last wave may be about to end. wake is the signal of the calling part;
// awaitWave may consume it.
func (s *shift) awaitWave(ctx context.Context, wake signal) {
	var timer *time.Timer
	for ctx.Err() == nil {
		s.mu.Lock()
		left := time.Duration(0)
		if s.wave.running > 0 {
			left = time.Until(s.wave.until)
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
