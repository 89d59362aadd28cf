package web

import (
	"context"
	"net/http"
)

// Watcher observes requests, for metrics and traces.
type Watcher interface {
	// WatchRequest runs when a request arrives; the request runs under the returned context. traceparent is the trace
	// context of submitted tasks without their own, "" for none. done runs once, at the end, with the pattern of the
	// matched route, and the status.
	WatchRequest(r *http.Request) (ctx context.Context, traceparent string, done func(pattern string, status int))
}

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

// TraceParent returns the trace context for tasks that the request submits, "" for none.
func TraceParent(ctx context.Context) string {
	traceparent, _ := ctx.Value(traceparentKey{}).(string)
	return traceparent
}
