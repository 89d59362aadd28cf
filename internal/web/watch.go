package web

import (
	"context"
	"net/http"
)

// Watcher is told of requests, for metrics and traces.
type Watcher interface {
	// WatchRequest is called when a request comes in. It is served under the
	// context returned. traceparent is what tasks are submitted under that name no
	// trace context of their own, "" for nothing. done is called once, at the end,
	// with the pattern of the route that took the request, and the status.
	WatchRequest(r *http.Request) (ctx context.Context, traceparent string, done func(pattern string, status int))
}

// watch tells the watcher of a request, and returns the request to serve.
func (f *Front) watch(r *http.Request) (*http.Request, func(pattern string, status int)) {
	if f.watcher == nil {
		return r, func(string, int) {}
	}
	ctx, traceparent, done := f.watcher.WatchRequest(r)
	if traceparent != "" {
		ctx = context.WithValue(ctx, traceparentKey{}, traceparent)
	}
	return r.WithContext(ctx), done
}

type traceparentKey struct{}

// TraceParent is the trace context of a request that its tasks are submitted in, ""
// for none.
func TraceParent(ctx context.Context) string {
	traceparent, _ := ctx.Value(traceparentKey{}).(string)
	return traceparent
}
