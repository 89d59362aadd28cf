// Package engine carries out the verbs on a store: it is the door to the kernel and its rooms.
package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine/acts"
	"github.com/taskerhq/tasker/internal/engine/cases"
	"github.com/taskerhq/tasker/internal/engine/figures"
	"github.com/taskerhq/tasker/internal/engine/flow"
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/engine/office"
	"github.com/taskerhq/tasker/internal/engine/submit"
)

// Engine has the verbs of all rooms. It is safe for concurrent use. It has no goroutine and no Close: package upkeep
// calls the periodic verbs, and package node closes the store.
type Engine struct {
	*theKernel
	*submission
	*operation
	*investigation
	*orchestration
	*statistics
	*sessions
}

// The rooms are embedded under names that no verb has.
type (
	theKernel     = kernel.Kernel
	submission    = submit.Room
	operation     = acts.Room
	investigation = cases.Room
	orchestration = flow.Room
	statistics    = figures.Room
	sessions      = office.Room
)

// New returns an Engine. Invalid: the configuration breaks a rule. Other errors are the store's.
func New(ctx context.Context, db Database, opts Options) (*Engine, error) {
	list, err := featuresWithout(opts.Without)
	if err != nil {
		return nil, err
	}
	k, rows, err := kernel.New(ctx, db, opts, list)
	if err != nil {
		return nil, err
	}
	return &Engine{k, submit.New(k, rows), acts.New(k), cases.New(k, rows), flow.New(k, rows), figures.New(k),
		office.New(k)}, nil
}
