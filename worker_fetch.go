package tasker

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
)

// fetchLoop keeps one poll outstanding while there is room for steps.
func (s *shift) fetchLoop(ctx context.Context) {
	var pause backoff
	early := 0        // polls in a row that came back empty before their time
	limit := maxFetch // of one poll
	for {
		room, ok := s.awaitRoom(ctx)
		if !ok {
			return
		}
		me := s.me()
		wait := s.pollWait(&me)
		begun := time.Now()
		resp, err := s.backend.Poll(ctx, PollRequest{
			WorkerID: me.WorkerID, Capacity: min(room, limit), WaitMS: int(wait / time.Millisecond), Start: true,
		})
		switch {
		case err == nil:
			pause = backoff{}
		case ctx.Err() != nil:
			return
		default:
			if errors.Is(err, errAnswerTooLong) {
				limit = max(min(room, limit)/4, 1)
			}
			if !s.pollFailed(ctx, err, me.WorkerID, &pause) {
				return
			}
			continue
		}
		s.accept(resp.Steps, ctx.Err() == nil)
		if resp.ShouldDrain {
			s.log.Info("server asks the worker to drain")
			return
		}
		if len(resp.Steps) > 0 || time.Since(begun) >= max(wait/2, time.Millisecond) {
			early = 0
			continue
		}
		// Waking for nothing happens, another worker was quicker. A server that
		// does not hold polls at all must not be asked in a tight loop.
		early++
		if !sleep(ctx, earlyPause(early, me.PollIntervalMS)) {
			return
		}
	}
}

// maxFetch bounds the steps of one poll, and with it the size of the answer.
const maxFetch = 1000

// pollFailed pauses after a failed poll and reports whether to go on. A worker
// that is running outlives even a refusal: a key may be put right on the server.
func (s *shift) pollFailed(ctx context.Context, err error, me uuid.UUID, pause *backoff) bool {
	if ErrorCode(err) == CodeNotFound {
		s.registerAgain(ctx, me)
		if pause.failures == 0 {
			pause.failures++
			return ctx.Err() == nil // the new id deserves a try at once
		}
	} else {
		s.log.Warn("poll for steps", "error", err)
	}
	return pause.wait(ctx, err)
}

func (s *shift) pollWait(me *RegisteredWorker) time.Duration {
	if bound := time.Duration(me.MaxLongPollSeconds) * time.Second; bound > 0 {
		return min(s.opts.PollWait, bound)
	}
	return s.opts.PollWait
}

// earlyPause grows from 1 ms to the poll interval that the server asks for.
func earlyPause(early, intervalMS int) time.Duration {
	bound := time.Duration(intervalMS) * time.Millisecond
	if bound <= 0 {
		bound = time.Second
	}
	d := min(time.Millisecond<<min(early-1, 12), bound)
	return d/2 + rand.N(d/2+1)
}

// awaitRoom blocks until a poll is worth it and returns for how many steps.
func (s *shift) awaitRoom(ctx context.Context) (int, bool) {
	for ctx.Err() == nil {
		s.awaitWave(ctx, s.fetchWake)
		s.mu.Lock()
		room := s.room()
		s.waiting = room == 0
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

// room returns how many steps to poll for; 0 means not now. While results are
// on their way more slots are about to come free, and polling for one slot at a
// time would cost a transaction a step; so it waits for a quarter of the slots. Steps whose
// results pile up because the server does not take them stop the intake.
// The caller holds mu.
func (s *shift) room() int {
	free := s.opts.Concurrency - s.running
	unreported := len(s.done.list) + s.settling
	switch {
	case free <= 0 || unreported >= 2*s.opts.Concurrency:
		return 0
	case unreported > 0 && 4*free < s.opts.Concurrency:
		return 0
	}
	return free
}

// wakeFetch wakes fetching when it waits and there is room. The caller holds mu.
func (s *shift) wakeFetch() {
	if s.waiting && s.room() > 0 {
		s.waiting = false
		s.fetchWake.send()
	}
}
