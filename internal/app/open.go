package app

import (
	"context"
	"log/slog"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/local"
)

// backend is the engine over its store, as Run needs it.
type backend interface {
	tasker.Backend
	// Run runs the background loops until ctx ends. It blocks.
	Run(ctx context.Context) error
	// Ready reports why the store does not answer, nil when it does.
	Ready(ctx context.Context) error
}

// open opens the engine on the store that a DSN names.
func open(ctx context.Context, dsn string, cfg engine.Config, log *slog.Logger) (backend, error) {
	b, err := local.Open(ctx, dsn, local.Options{Logger: log, Engine: cfg})
	if err != nil {
		return nil, err // not b: a nil *Backend would be a backend that is not nil
	}
	return b, nil
}
