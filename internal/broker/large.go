package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

// errAgain ends a session so that the next one looks at the left messages.
var errAgain = errors.New("messages that were left are looked at again")

// takeBack gives back messages left by an earlier receiver that fit now, and records the others; there: there are any.
func (s *Source) takeBack(ctx context.Context, r driver.Receiver) (there bool, err error) {
	if s.opts.MaxBytes == 0 {
		return false, nil
	}
	left, err := r.Return(ctx, s.opts.MaxBytes)
	if err == nil && len(left) > 0 {
		err = s.opts.Left(ctx, left)
	}
	if err != nil {
		return false, fmt.Errorf("look at large messages of %q: %w", s.queue, err)
	}
	return len(left) > 0, nil
}

func (s *Source) leave(ctx context.Context, r driver.Receiver, large []driver.Message) (again bool, err error) {
	if len(large) == 0 {
		return false, nil
	}
	if again, err = r.Leave(ctx, large); err != nil {
		err = fmt.Errorf("leave %d messages on %q: %w", len(large), s.queue, err)
	}
	return again, err
}

type decoded struct {
	batch, large []driver.Message
	store        func(context.Context) error
}

func (d *decoded) size() int { return len(d.batch) + len(d.large) }

func (s *Source) decode(batch []driver.Message, capture CaptureFunc) decoded {
	large := func(m driver.Message) bool { return s.opts.MaxBytes > 0 && m.Size() > s.opts.MaxBytes }
	if !slices.ContainsFunc(batch, large) {
		return decoded{batch: batch, store: capture(batch)}
	}
	var d decoded
	var left []driver.Left
	for _, m := range batch {
		if large(m) {
			d.large, left = append(d.large, m), append(left, driver.Left{Message: m, Bytes: m.Size()})
		} else {
			d.batch = append(d.batch, m)
		}
	}
	rest := func(context.Context) error { return nil }
	if len(d.batch) > 0 {
		rest = capture(d.batch)
	}
	d.store = func(ctx context.Context) error {
		if err := s.opts.Left(ctx, left); err != nil { // first: after its error nothing is stored
			return err
		}
		return rest(ctx)
	}
	return d
}
