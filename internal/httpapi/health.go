package httpapi

import (
	"context"
	"errors"
	"log/slog"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/web"
)

// healthBody is the body of both probes.
type healthBody struct {
	Status string `json:"status" enum:"live,ready"`
}

// versionBody is the body of the version.
type versionBody struct {
	Version string `json:"version"`
}

func (s *server) getLive(context.Context, *none, *none) (answer[healthBody], error) {
	return ok(healthBody{"live"}), nil
}

// getReady answers 503 while the server stops, so that a balancer sends no new work over open connections, and while
// Options.Ready reports an error.
func (s *server) getReady(ctx context.Context, _, _ *none) (answer[healthBody], error) {
	if stopping := web.Stopping(ctx); stopping != nil && stopping.Err() != nil {
		return answer[healthBody]{}, tasker.Errorf(tasker.CodeUnavailable, "the server is stopping")
	}
	err := s.ready(ctx)
	if err == nil {
		return ok(healthBody{"ready"}), nil
	}
	var known *tasker.Error
	if errors.As(err, &known) && known.Code == tasker.CodeUnavailable {
		return answer[healthBody]{}, err
	}
	s.front.Log().WarnContext(ctx, "server is not ready", slog.Any("error", err))
	return answer[healthBody]{}, tasker.Errorf(tasker.CodeUnavailable, "the server is not ready; its log says why")
}

func (s *server) getVersion(context.Context, *none, *none) (answer[versionBody], error) {
	return ok(versionBody{s.version}), nil
}
