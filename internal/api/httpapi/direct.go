package httpapi

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/remote"
)

// Direct returns a client of the API in this process, without a connection. The principal in the context of a call
// (access.With) acts; a server with keys refuses a call without one. Permissions, namespaces, limits and validation are
// those of the API, but calls are neither logged nor counted as requests.
//
// Submissions of single tasks are gathered and lose the principal; use SubmitTasks.
func (a *API) Direct() (*tasker.Client, error) {
	return remote.Dial("http://localhost", &remote.Options{UserAgent: "tasker-direct",
		HTTPClient: &http.Client{Transport: direct{a.operations, a.log}}})
}

type direct struct {
	to  http.Handler
	log *slog.Logger
}

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	in := r.Clone(r.Context())
	in.RequestURI, in.RemoteAddr = r.URL.RequestURI(), "direct"
	if in.Body == nil {
		in.Body = http.NoBody
	}
	body, out := io.Pipe()
	w := &pipedResponse{header: http.Header{}, out: out, begun: make(chan struct{})}
	go func() {
		defer func() {
			if v := recover(); v != nil {
				d.log.ErrorContext(r.Context(), "direct request failed", slog.String("path", r.URL.Path),
					slog.Any("error", fmt.Errorf("panic: %v\n%s", v, debug.Stack())))
				_ = out.CloseWithError(errors.New("the operation failed"))
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			w.WriteHeader(http.StatusOK)
			_ = out.Close() // always nil
		}()
		d.to.ServeHTTP(w, in)
	}()
	select {
	case <-w.begun:
	case <-r.Context().Done():
		_ = body.Close() // further writes of the handler fail
		return nil, r.Context().Err()
	}
	return &http.Response{Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1,
		ProtoMinor: 1, Header: w.sent, Body: body, ContentLength: -1, Request: r}, nil
}

type pipedResponse struct {
	header http.Header
	out    *io.PipeWriter
	once   sync.Once
	begun  chan struct{} // closed when status and sent are set
	status int
	sent   http.Header
}

func (w *pipedResponse) Header() http.Header { return w.header }

func (w *pipedResponse) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.begun)
	})
}

// Write blocks until the caller has read.
func (w *pipedResponse) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.out.Write(b)
}

func (w *pipedResponse) Flush() { w.WriteHeader(http.StatusOK) }
