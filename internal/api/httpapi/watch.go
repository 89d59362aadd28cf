package httpapi

import (
	"context"
	"net/http"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/internal/model/access"
)

// StreamWatcher is notified of streams of events, for metrics.
type StreamWatcher interface {
	// WatchStream runs when a stream of events opens. ended runs once, at its end, with the reason: done (no further
	// events), gone (the client disconnected), slow (the client did not read), stopped (the server stops), failed.
	WatchStream() (ended func(why string))
}

// inTrace puts tasks without a trace context into the request's trace.
func inTrace(ctx context.Context, tasks []tasker.TaskRequest) {
	traceparent := web.TraceParent(ctx)
	for i := range tasks {
		if tasks[i].TraceParent == "" {
			tasks[i].TraceParent = traceparent
		}
	}
}

// serveMetrics requires, on a server with keys, one for all namespaces: the labels name handlers and templates of all.
func (s *server) serveMetrics(metrics http.Handler) {
	if metrics == nil {
		return
	}
	const pattern = "GET /metrics"
	s.api.Handle(pattern, true,
		s.front.Mount(web.Policy{Needs: []access.Permission{access.Read}, AllNamespaces: "metrics"},
			metrics))
}
