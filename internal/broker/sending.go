package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

// sending is one call of Send.
type sending struct {
	target      *Target
	destination string
	messages    []driver.Message
	results     []Result
	// held has the keys of which nothing more is sent.
	held map[string]bool
	// doubtful are the messages, by their places, that may have been sent and can be sent again.
	doubtful map[int]bool
}

// batch sends the messages from begin to end, and tries again those that fail for a moment. A message whose turn did
// not come is not counted as tried as long as others are decided: a slow destination needs several tries.
func (s *sending) batch(ctx context.Context, begin, end int) {
	open := make([]int, 0, end-begin) // not decided yet
	for i := begin; i < end; i++ {
		open = append(open, i)
	}
	for tries := 1; ; tries++ {
		if open = s.dropHeld(open); len(open) == 0 {
			return
		}
		before := len(open)
		rest, err := s.try(ctx, open)
		if open = rest; len(open) == 0 {
			return
		}
		if len(open) < before && s.untried(open) {
			tries--
			continue
		}
		if tries >= s.target.opts.Tries || errors.Is(err, ErrOpen) || errors.Is(err, driver.ErrClosed) ||
			pause(ctx, tries, s.target.opts.MaxPause) != nil {
			for _, i := range open {
				s.decide(i, s.left(i), s.results[i].Err)
			}
			return
		}
	}
}

// untried reports whether the turn of a message did not come.
func (s *sending) untried(open []int) bool {
	return slices.ContainsFunc(open, func(i int) bool { return errors.Is(s.results[i].Err, driver.ErrUntried) })
}

// dropHeld decides the messages whose keys are held, and returns the others.
func (s *sending) dropHeld(open []int) []int {
	kept := open[:0]
	for _, i := range open {
		if key := s.messages[i].Key; key != nil && s.held[string(key)] {
			s.decide(i, s.left(i), driver.ErrBehind)
		} else {
			kept = append(kept, i)
		}
	}
	return kept
}

// try sends messages once. It returns those that are not decided, with the errors in their results, and the error if
// the try failed as a whole.
func (s *sending) try(ctx context.Context, open []int) ([]int, error) {
	t := s.target
	if err := ctx.Err(); err != nil {
		return s.failed(open, err)
	}
	if ok, wait := t.breaker.allow(t.opts.Now()); !ok {
		err := fmt.Errorf("%w for another %v", ErrOpen, wait.Round(time.Millisecond))
		for _, i := range open {
			if s.results[i].Err == nil { // else it was tried, and why that failed says more
				s.results[i].Err = err
			}
		}
		return open, err
	}
	bounded, cancel := context.WithTimeout(ctx, t.opts.Timeout)
	defer cancel()
	d, err := t.link.get(bounded)
	if err != nil {
		t.record(ctx, 0, err)
		return s.failed(open, err)
	}
	batch := make([]driver.Message, len(open))
	for at, i := range open {
		batch[at] = s.messages[i]
	}
	errs := d.Send(bounded, s.destination, batch)
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
	return rest, last
}

// take decides messages by the errors of a driver. It returns those that may be tried again, how many were sent,
// whether the broker answered for any, and the last error.
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
			s.results[i].Err = err
			rest = append(rest, i)
		}
		last = err
	}
	return rest, sent, answered, last
}

// left is the outcome of a message that is not decided after the last try. One that may have been sent by any try stays
// uncertain, whatever the later ones failed with.
func (s *sending) left(i int) Outcome {
	if s.doubtful[i] {
		return Uncertain
	}
	return Unavailable
}

// uncertain reports whether a message may have been sent, in spite of the error. A driver that was interrupted and does
// not say more may have written.
func uncertain(err error) bool {
	return errors.Is(err, driver.ErrUncertain) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// failed gives all messages one error, and leaves them undecided.
func (s *sending) failed(open []int, err error) ([]int, error) {
	for _, i := range open {
		s.results[i].Err = err
	}
	return open, err
}

// decide decides a message.
func (s *sending) decide(i int, o Outcome, err error) {
	s.results[i] = Result{Outcome: o, Err: err, Repeated: o == Sent && s.doubtful[i]}
	if key := s.messages[i].Key; key != nil && (o == Unavailable || o == Uncertain) {
		s.held[string(key)] = true
	}
}
