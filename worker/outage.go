package worker

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/wire"
	"github.com/taskerhq/tasker/internal/kit/backoff"
)

// outage is a time in which polls fail. Only the loop whose poll failed first pauses and retries until a poll
// succeeds. So several loops send a struggling server no more tries than one, and a Retry-After applies to all.
type outage struct {
	pause backoff.Pauses
	over  chan struct{} // closed when a poll has succeeded
}

// pollFailed handles a failed poll for room steps by the worker called me, and reports whether to continue. mine is
// the outage that the loop handles, or nil. After the pause it returns the outage that the loop handles from now on,
// or nil if another loop does.
func (s *session) pollFailed(ctx context.Context, err error, room int, me uuid.UUID, mine *outage) (*outage, bool) {
	s.mu.Lock()
	if errors.Is(err, wire.ErrTooLong) {
		s.limit = max(min(s.limit, room/4), 1)
	}
	if s.outage == nil {
		mine = &outage{over: make(chan struct{})}
		s.outage = mine
	}
	s.mu.Unlock()
	if mine == nil {
		return nil, true
	}
	return mine, s.waitOut(ctx, err, me, &mine.pause)
}

// waitOut pauses and reports whether to continue. A running worker outlives even a refusal: an operator may fix the
// key on the server.
func (s *session) waitOut(ctx context.Context, err error, me uuid.UUID, pause *backoff.Pauses) bool {
	if tasker.ErrorCode(err) == tasker.CodeNotFound {
		s.registerAgain(ctx, me)
		if pause.Failures == 0 {
			pause.Failures++
			return ctx.Err() == nil
		}
	} else {
		s.log.Warn("poll for steps", "error", err)
	}
	return pause.Wait(ctx, tasker.ErrorRetryAfter(err))
}

func (s *session) recovered(o *outage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outage = nil
	close(o.over)
}
