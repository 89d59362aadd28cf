package memory

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Way is a process's path to a Server, which a test can cut or block.
type Way struct {
	*Dispatcher
	// Cut makes every call fail immediately.
	Cut atomic.Bool
	// Frozen, if set, blocks every call until it is closed.
	Frozen atomic.Pointer[chan struct{}]
	// Answers, if set, blocks answers to claims until it is closed.
	Answers atomic.Pointer[chan struct{}]
}

var errCut = errors.New("no route to host")

func (w *Way) pass() error {
	if thaw := w.Frozen.Load(); thaw != nil {
		<-*thaw
	}
	if w.Cut.Load() {
		return errCut
	}
	return nil
}

// Check implements engine.Dispatcher.
func (w *Way) Check(ctx context.Context) error {
	if err := w.pass(); err != nil {
		return err
	}
	return w.Dispatcher.Check(ctx)
}

// Offer implements engine.Dispatcher.
func (w *Way) Offer(ctx context.Context, steps []engine.Offered) error {
	if err := w.pass(); err != nil {
		return err
	}
	return w.Dispatcher.Offer(ctx, steps)
}

// Remove implements engine.Dispatcher.
func (w *Way) Remove(ctx context.Context, steps []engine.Removal) error {
	if err := w.pass(); err != nil {
		return err
	}
	return w.Dispatcher.Remove(ctx, steps)
}

// Claim implements engine.Dispatcher.
func (w *Way) Claim(ctx context.Context, claims []engine.Claim, now task.Instant) ([][]engine.Hold, error) {
	if err := w.pass(); err != nil {
		return nil, err
	}
	holds, err := w.Dispatcher.Claim(ctx, claims, now)
	if thaw := w.Answers.Load(); thaw != nil {
		<-*thaw
	}
	return holds, err
}
