package httpapi

import (
	"context"
	"errors"
	"log/slog"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/api/web"
)

type healthBody struct {
	Status string `json:"status" enum:"live,ready"`
}

type versionBody struct {
	Version string `json:"version"`
}

// getLive checks nothing: a process whose database is down must not be restarted for that.
func (s *server) getLive(context.Context, *endpoint.None, *endpoint.None) (healthBody, error) {
	return healthBody{"live"}, nil
}

// getReady answers 503 while the server stops, so that a balancer sends no new work, and while Options.Ready reports an
// error.
func (s *server) getReady(ctx context.Context, _, _ *endpoint.None) (healthBody, error) {
	if stopping := web.Stopping(ctx); stopping != nil && stopping.Err() != nil {
		return healthBody{}, tasker.Errorf(tasker.CodeUnavailable, "the server is stopping")
	}
	err := s.ready(ctx)
	if err == nil {
		return healthBody{"ready"}, nil
	}
	var known *tasker.Error
	if errors.As(err, &known) && known.Code == tasker.CodeUnavailable {
		return healthBody{}, err
	}
	// The reason may name hosts and files, and this route needs no key.
	s.front.Log().WarnContext(ctx, "server is not ready", slog.Any("error", err))
	return healthBody{}, tasker.Errorf(tasker.CodeUnavailable,
		"the server is not ready; its log says why")
}

func (s *server) getVersion(context.Context, *endpoint.None, *endpoint.None) (versionBody, error) {
	return versionBody{s.version}, nil
}
