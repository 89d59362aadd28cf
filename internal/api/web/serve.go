package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/taskerhq/tasker/internal/model/access"
)

// Bounds of a connection.
const (
	// idleTimeout bounds the silence before a request of a connection.
	idleTimeout = 120 * time.Second
	// headerTimeout bounds the time to send the head of a request. For a connection's first request it begins with the
	// connection, so it must not be less than idleTimeout: clients keep unused connections, Go's for 90 s, and closing
	// one at its first use fails a request that cannot be repeated.
	headerTimeout = idleTimeout
	headerBytes   = 64 << 10
	// MaxWait bounds a long poll; a longer wait is cut to it.
	MaxWait = time.Minute
	// answerTimeout bounds a request from its head to the end of its response. It must outlast the body and a long
	// poll, and leave time for sending.
	answerTimeout = bodyTimeout + MaxWait + time.Minute
	// DrainTimeout is Serve's default wait for open requests.
	DrainTimeout = 15 * time.Second
)

// Serve answers requests at the listener until ctx ends, and closes the listener. Then it accepts no connections, long
// polls return the results they have, and it waits for open requests for at most drain (0: DrainTimeout). It returns
// nil after an orderly end; after drain it cuts the remaining requests and returns an error.
func Serve(ctx context.Context, ln net.Listener, h http.Handler, drain time.Duration) error {
	if drain <= 0 {
		drain = DrainTimeout
	}
	stopping, stop := context.WithCancel(context.Background())
	defer stop()
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		WriteTimeout:      answerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    headerBytes,
		// Not ctx: its end must not cut open requests.
		BaseContext: func(net.Listener) context.Context {
			return context.WithValue(context.Background(), stoppingKey{}, stopping)
		},
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve HTTP: %w", err)
	case <-ctx.Done():
	}
	stop()
	limit, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	err := srv.Shutdown(limit)
	if err != nil {
		_ = srv.Close() // the timeout is the error that matters
	}
	<-served //nolint:errcheck // Shutdown was asked for, so that is all it says
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("stop HTTP: requests were still under way after %v and were cut", drain)
	}
	if err != nil {
		return fmt.Errorf("stop HTTP: %w", err)
	}
	return nil
}

type stoppingKey struct{}

// Stopping returns a context that ends when the server begins to stop, or nil if the request does not come through
// Serve.
func Stopping(ctx context.Context) context.Context {
	stopping, _ := ctx.Value(stoppingKey{}).(context.Context)
	return stopping
}

// Patient returns a context for a long poll: it ends with the request, when the server begins to stop, and when the
// caller's key is removed or gets other rights. cut reports whether one of the last two ended it.
func Patient(ctx context.Context) (_ context.Context, cut func() bool, cancel func()) {
	waiting, stop := context.WithCancel(ctx)
	var unhook []func() bool
	for _, end := range []context.Context{Stopping(ctx), access.From(ctx).Life()} {
		if end != nil {
			unhook = append(unhook, context.AfterFunc(end, stop))
		}
	}
	return waiting, func() bool { return waiting.Err() != nil && ctx.Err() == nil }, func() {
		for _, undo := range unhook {
			undo()
		}
		stop()
	}
}
