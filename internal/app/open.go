package app

import (
	"context"
	"log/slog"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/config"
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

// open opens the store that the configuration names.
func open(ctx context.Context, cfg *config.Config, log *slog.Logger) (backend, error) {
	b, err := local.Open(ctx, cfg.DB.DSN, local.Options{Logger: log, Engine: cfg.Engine})
	if err != nil {
		return nil, err // not b: a nil *Backend would be a backend that is not nil
	}
	return b, nil
}
