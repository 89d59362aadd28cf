package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"

	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/model/access"
)

// Reload rereads the configuration of a running server.
type Reload struct {
	// Now receives a value for each reload.
	Now <-chan os.Signal
	// Load reads the configuration from the server's original sources.
	Load func() (*config.Config, error)
}

// live is the changeable part of the configuration.
type live struct {
	cfg   atomic.Pointer[config.Config]
	keys  *access.Keyring
	level *slog.LevelVar
	log   *slog.Logger
}

// run applies changes until ctx ends.
func (l *live) run(ctx context.Context, r Reload) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.Now:
			if err := l.reload(r.Load); err != nil {
				l.log.Error("the configuration was not read again: nothing has changed", slog.Any("error", err))
			}
		}
	}
}

// After an error nothing has changed.
func (l *live) reload(load func() (*config.Config, error)) error {
	next, err := load()
	if err != nil {
		return err
	}
	now, taken, left := l.cfg.Load().Reload(next)
	if err := l.keys.Replace(now.Keys); err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	l.level.Set(level(now.Log))
	l.cfg.Store(now)
	l.log.Info("the configuration was read again", slog.String("changed", strings.Join(taken, ", ")))
	if len(left) > 0 {
		l.log.Warn("some changes of the configuration need a restart", slog.String("settings", strings.Join(left, ", ")))
	}
	return nil
}
