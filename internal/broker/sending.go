package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

type sending struct {
	target      *Target
	destination string
	messages    []driver.Message
	limits      driver.Limits
	turn        context.Context //nolint:containedctx // that of the call, which ends with its turn as well
	results     []Result
	held        map[string]bool // keys of which nothing more is sent
	doubtful    map[int]bool    // messages, by place, that may have been sent and can be sent again
}

// batch sends the messages from begin to end, and retries transient failures. A missed turn is no try while others are
// decided: a slow destination needs several.
func (s *sending) batch(ctx context.Context, begin, end int) {
	open := make([]int, 0, end-begin)
	for i := begin; i < end; i++ {
		open = append(open, i)
	}
	for tries := 1; ; tries++ {
		if open = s.dropHeld(open); len(open) == 0 {
			return
		}
		before := len(open)
		rest, untried, err := s.try(ctx, open)
		if open = rest; len(open) == 0 {
			return
		}
		if len(open) < before && untried && !s.limits.Over() {
			tries--
			continue
		}
		if tries >= s.target.opts.Tries || errors.Is(err, ErrOpen) || errors.Is(err, driver.ErrClosed) ||
			pause(s.turn, tries, s.target.opts.MaxPause) != nil {
			for _, i := range open {
				s.decide(i, s.left(i), s.results[i].Err)
			}
			return
		}
	}
}

func (s *sending) dropHeld(open []int) []int {
	kept := open[:0]
	for _, i := range open {
		if key := s.messages[i].Key; key != nil && s.held[string(key)] {
			s.note(i, driver.ErrBehind)
			s.decide(i, s.left(i), s.results[i].Err)
		} else {
			kept = append(kept, i)
		}
	}
	return kept
}

// try sends messages once. It returns the undecided ones, with errors in their results, whether one missed its turn,
// and the error of a try that failed as a whole.
func (s *sending) try(ctx context.Context, open []int) (rest []int, untried bool, err error) {
	t := s.target
	if s.turn.Err() != nil {
		return s.failed(open, driver.ErrUntried)
	}
	if ok, wait := t.breaker.allow(t.opts.Now()); !ok {
		return s.failed(open, fmt.Errorf("%w for another %v", ErrOpen, wait.Round(time.Millisecond)))
	}
	d, err := t.link.get(s.turn)
	if err != nil {
		t.record(ctx, 0, err)
		if s.turn.Err() != nil {
			err = fmt.Errorf("%w: there is no connection: %w", driver.ErrUntried, err)
		}
		return s.failed(open, err)
	}
	batch := make([]driver.Message, len(open))
	for at, i := range open {
		batch[at] = s.messages[i]
	}
	errs := d.Send(ctx, s.destination, batch, s.limits)
	if errs == nil {
		errs = make([]error, len(open))
	}
	rest, sent, answered, last := s.take(open, errs)
	if answered {
		last = nil
	}
	t.record(ctx, sent, last)
	for _, err := range errs {
		if errors.Is(err, driver.ErrLost) {
			t.link.drop(d)
			break
		}
	}
	untried = slices.ContainsFunc(errs, func(err error) bool { return errors.Is(err, driver.ErrUntried) })
	return rest, untried, last
}

// take decides messages by the driver's errors. It returns those to retry, the number sent, whether the broker answered
// for any, and the last error.
func (s *sending) take(open []int, errs []error) (rest []int, sent int, answered bool, last error) {
	for at, i := range open {
		err := error(driver.ErrUncertain)
		if at < len(errs) {
			err = errs[at]
		}
		switch {
		case err == nil:
			s.decide(i, Sent, nil)
			sent++
			answered = true
			continue
		case driver.Permanent(err) && s.doubtful[i]:
			s.decide(i, Uncertain, err)
			answered = true
		case driver.Permanent(err):
			s.decide(i, Failed, err)
			answered = true
		case uncertain(err) && !errors.Is(err, driver.ErrRepeatable):
			s.decide(i, Uncertain, err)
		default:
			s.doubtful[i] = s.doubtful[i] || uncertain(err)
			s.note(i, err)
			rest = append(rest, i)
		}
		last = err
	}
	return rest, sent, answered, last
}

func begun(err error) bool {
	return !slices.ContainsFunc([]error{driver.ErrUntried, driver.ErrBehind, driver.ErrClosed, ErrOpen},
		func(not error) bool { return errors.Is(err, not) })
}

// note notes why a message is not sent yet. The error of a real try is more useful than that of a missed one.
func (s *sending) note(i int, err error) {
	if s.results[i].Err == nil || begun(err) {
		s.results[i].Err = err
	}
}

// left is the outcome after the last try. A message that any try may have sent stays uncertain.
func (s *sending) left(i int) Outcome {
	switch {
	case s.doubtful[i]:
		return Uncertain
	case begun(s.results[i].Err):
		return Unavailable
	}
	return Untried
}

// uncertain reports whether a message may have been sent. An interrupted driver may have written.
func uncertain(err error) bool {
	return errors.Is(err, driver.ErrUncertain) ||
		begun(err) && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
}

func (s *sending) failed(open []int, err error) ([]int, bool, error) {
	for _, i := range open {
		s.note(i, err)
	}
	return open, false, err
}

func (s *sending) decide(i int, o Outcome, err error) {
	s.results[i] = Result{Outcome: o, Err: err, Repeated: o == Sent && s.doubtful[i]}
	if key := s.messages[i].Key; key != nil && (o == Unavailable || o == Untried || o == Uncertain) {
		s.held[string(key)] = true
	}
}
