package tasker

import (
	"context"
	"errors"

	"github.com/google/uuid"
)

// outage is a time in which polls fail. The loop whose poll failed first has it
// in hand: it pauses and tries again, alone, until a poll succeeds. So a server in
// trouble gets no more tries from several loops than from one, and a Retry-After
// holds for all.
type outage struct {
	pause backoff
	over  chan struct{} // closed when a poll has succeeded
}

// pollFailed deals with a failed poll for room steps by the worker known as me,
// and reports whether to go on. mine is the outage that the loop has in hand, or
// nil. It returns the one that the loop has in hand from now on, after the pause;
// nil when another loop has it.
func (s *shift) pollFailed(ctx context.Context, err error, room int, me uuid.UUID, mine *outage) (*outage, bool) {
	s.mu.Lock()
	if errors.Is(err, errAnswerTooLong) {
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
	return mine, s.sitOut(ctx, err, me, &mine.pause)
}

// sitOut pauses and reports whether to go on. A worker that is running outlives
// even a refusal: a key may be put right on the server.
func (s *shift) sitOut(ctx context.Context, err error, me uuid.UUID, pause *backoff) bool {
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

// recovered ends an outage, for all loops.
func (s *shift) recovered(o *outage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outage = nil
	close(o.over)
}
