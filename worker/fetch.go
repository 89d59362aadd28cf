package worker

import (
	"context"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/kit/backoff"
	"github.com/taskerhq/tasker/worker/protocol"
)

// polls is the number of outstanding polls. While the answer to one is on its way, another waits at the server, so a
// step that becomes ready need not go through the queue.
const polls = 2

// loops is at most one polling loop per slot.
func (s *session) loops() int { return min(polls, s.opts.Concurrency) }

func (s *session) fetch(ctx context.Context) {
	var loops sync.WaitGroup
	for range s.loops() {
		loops.Go(func() { s.fetchLoop(ctx) })
	}
	loops.Wait()
}

// fetchLoop keeps one poll outstanding while there is room for steps.
func (s *session) fetchLoop(ctx context.Context) {
	var mine *outage
	early := 0 // consecutive polls that returned empty before their time
	for {
		room, ok := s.awaitRoom(ctx, mine)
		if !ok {
			return
		}
		me := s.me()
		wait := s.pollWait(&me)
		begun := time.Now()
		resp, err := s.backend.Poll(ctx, protocol.PollRequest{
			WorkerID: me.WorkerID, Capacity: room, WaitMS: int(wait / time.Millisecond), Start: true,
		})
		if err == nil {
			s.accept(resp.Steps, ctx.Err() == nil)
		}
		s.answered(room)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			if mine, ok = s.pollFailed(ctx, err, room, me.WorkerID, mine); !ok {
				return
			}
			continue
		}
		if mine != nil {
			s.recovered(mine)
			mine = nil
		}
		if resp.ShouldDrain {
			s.log.Info("server asks the worker to drain")
			s.stopFetch()
			return
		}
		if len(resp.Steps) > 0 || time.Since(begun) >= max(wait/2, time.Millisecond) {
			early = 0
			continue
		}
		// A poll may return empty because another worker was faster. But a server that holds no polls must not be
		// polled in a tight loop, nor more often by two loops than by one.
		early++
		interval := time.Duration(me.PollIntervalMS) * time.Millisecond
		if !backoff.Sleep(ctx, backoff.Early(early, interval)*time.Duration(s.loops())) {
			return
		}
	}
}

const maxFetch = 1000

// pollWait is that of the options, at most the server's.
func (s *session) pollWait(me *protocol.RegisteredWorker) time.Duration {
	if bound := time.Duration(me.MaxLongPollSeconds) * time.Second; bound > 0 {
		return min(s.opts.PollWait, bound)
	}
	return s.opts.PollWait
}

// awaitRoom blocks until a poll is worthwhile and returns its number of steps, which count as asked for until the
// answer. During an outage only the loop that handles it polls.
func (s *session) awaitRoom(ctx context.Context, mine *outage) (int, bool) {
	loops := s.loops()
	share := (s.opts.Concurrency + loops - 1) / loops // leave some for the other loops
	for ctx.Err() == nil {
		s.awaitBatch(ctx, s.fetchWake)
		s.mu.Lock()
		if o := s.outage; o != nil && o != mine {
			s.fetchWake.send() // pass the signal on to the loop that handles the outage
			s.mu.Unlock()
			select {
			case <-o.over:
			case <-ctx.Done():
			}
			continue
		}
		room := min(s.room(), share, s.limit)
		s.asked += room
		s.wakeFetch()
		s.mu.Unlock()
		if room > 0 {
			return room, true
		}
		select {
		case <-s.fetchWake:
		case <-ctx.Done():
		}
	}
	return 0, false
}

func (s *session) answered(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked -= n
	s.wakeFetch()
}

// room returns how many steps to poll for; 0 means none yet. While results are being reported, slots are about to
// become free, and a poll per slot would cost a transaction per step; so room waits for a quarter of the slots.
// Results that the server does not accept stop the intake. The caller holds mu.
func (s *session) room() int {
	free := s.opts.Concurrency - s.running - s.asked
	unreported := len(s.done.list) + s.settling
	switch {
	case free <= 0 || unreported >= 2*s.opts.Concurrency:
		return 0
	case unreported > 0 && 4*free < s.opts.Concurrency:
		return 0
	}
	return free
}

// wakeFetch wakes a loop that waits for room, if there is room. The caller holds mu.
func (s *session) wakeFetch() {
	if s.room() > 0 {
		s.fetchWake.send()
	}
}
