package httpapi

import (
	"context"
	"net/http"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/access"
)

// Watcher is told of requests, for metrics and traces.
type Watcher interface {
	// WatchRequest is called when a request comes in. It is served under the
	// context returned. traceparent is what tasks are submitted under that name no
	// trace context of their own, "" for nothing. done is called once, at the end,
	// with the pattern of the route that took the request, and the status.
	WatchRequest(r *http.Request) (ctx context.Context, traceparent string, done func(pattern string, status int))
	// WatchStream is called when a stream of events opens. ended is called once, when it
	// is over, with why: done (nothing more was to come), gone (the client went), slow
	// (it did not read), stopped (the server does), failed.
	WatchStream() (ended func(why string))
}

// watch tells the watcher of a request, and returns the request to serve.
func (s *server) watch(r *http.Request) (*http.Request, func(pattern string, status int)) {
	if s.watcher == nil {
		return r, func(string, int) {}
	}
	ctx, traceparent, done := s.watcher.WatchRequest(r)
	if traceparent != "" {
		ctx = context.WithValue(ctx, traceparentKey{}, traceparent)
	}
	return r.WithContext(ctx), done
}

type traceparentKey struct{}

// inTrace puts tasks that name no trace context into that of the request.
func inTrace(ctx context.Context, tasks []tasker.TaskRequest) {
	traceparent, ok := ctx.Value(traceparentKey{}).(string)
	if !ok {
		return
	}
	for i := range tasks {
		if tasks[i].TraceParent == "" {
			tasks[i].TraceParent = traceparent
		}
	}
}

// serveMetrics serves GET /metrics. The labels name handlers and templates of all
// namespaces, so on a server with keys it takes one that reads them all.
func (s *server) serveMetrics(metrics http.Handler) {
	if metrics == nil {
		return
	}
	s.mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		principal, err := s.admit(r, []access.Permission{access.Read})
		if err == nil && principal.Limited() {
			err = &tasker.Error{Code: tasker.CodeForbidden, Message: "the key " + principal.Name + " is limited to some namespaces",
				Hint: "metrics are about all of them; use a key that is not limited"}
		}
		if err != nil {
			s.refuseHTTP(w, r, "metrics", err)
			return
		}
		if principal != nil {
			noteKey(w, principal.Name)
		}
		metrics.ServeHTTP(w, r)
	})
	s.hot["GET /metrics"] = true // every few seconds: logged at level debug
}
