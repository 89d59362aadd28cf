package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/api/web"
)

type watcher struct {
	traceparent string
	ended       []string
	statuses    []int
	opened      int      // streams
	closed      []string // why
}

func (w *watcher) WatchRequest(r *http.Request) (context.Context, string, func(string, int)) {
	return context.WithValue(r.Context(), watchedKey{}, true), w.traceparent, func(pattern string, status int) {
		w.ended, w.statuses = append(w.ended, pattern), append(w.statuses, status)
	}
}

func (w *watcher) WatchStream() func(string) {
	w.opened++
	return func(why string) { w.closed = append(w.closed, why) }
}

type watchedKey struct{}

type watchedOnly struct{ slog.Handler }

func (h watchedOnly) Handle(ctx context.Context, r slog.Record) error {
	if ctx.Value(watchedKey{}) == nil {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

const (
	traceA = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	traceB = "00-1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-00"
)

func TestWatcher(t *testing.T) {
	t.Parallel()
	t.Run("RouteAndStatus", func(t *testing.T) {
		t.Parallel()
		w := &watcher{}
		a := newAPI(t, &fake{}, httpapi.Options{Front: web.New(web.Options{Watcher: w})})
		w.ended, w.statuses = nil, nil
		a.do(t, "GET", "/v1/tasks/"+taskID.String(), "")
		a.do(t, "POST", "/v1/tasks", `{"nonsense":1}`)
		a.do(t, "GET", "/nowhere", "")
		want := "GET /v1/tasks/{uuid}, POST /v1/tasks, /"
		if got := strings.Join(w.ended, ", "); got != want {
			t.Errorf("routes are %s, want %s", got, want)
		}
		if w.statuses[0] != 200 || w.statuses[1] != 400 || w.statuses[2] != 404 {
			t.Errorf("statuses are %v", w.statuses)
		}
	})
	t.Run("SubmittedInTheRequestsTrace", func(t *testing.T) {
		t.Parallel()
		f := &fake{}
		a := newAPI(t, f, httpapi.Options{Front: web.New(web.Options{Watcher: &watcher{traceparent: traceA}})})
		a.do(t, "POST", "/v1/tasks", `{"name":"import"}`)
		if got := last[tasker.SubmitRequest](f).Tasks[0].TraceParent; got != traceA {
			t.Errorf("the task is submitted in %q, want the request's %q", got, traceA)
		}
		a.do(t, "POST", "/v1/tasks/batch", `{"tasks":[{"name":"import"},{"name":"import","traceparent":"`+traceB+`"}]}`)
		tasks := last[tasker.SubmitRequest](f).Tasks
		if tasks[0].TraceParent != traceA || tasks[1].TraceParent != traceB {
			t.Errorf("tasks are submitted in %q and %q, want %q and the second's own %q", tasks[0].TraceParent,
				tasks[1].TraceParent, traceA, traceB)
		}
	})
	t.Run("LoggedInTheRequestsTrace", func(t *testing.T) {
		t.Parallel()
		var log bytes.Buffer
		a := newAPI(t, panicking{&fake{err: errors.New("disk on fire")}},
			httpapi.Options{
				Front: web.New(web.Options{Watcher: &watcher{}, Logger: slog.New(watchedOnly{slog.NewTextHandler(&log, nil)})})})
		a.do(t, "GET", "/v1/tasks", "")
		a.do(t, "GET", "/v1/tasks/"+taskID.String()+"/workflow_steps", "")
		for _, want := range []string{"disk on fire", "bug in /secret", "path=/v1/tasks status=500"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log of watched requests has no %q: %s", want, log.String())
			}
		}
	})
	t.Run("ToldOfATornAnswer", func(t *testing.T) {
		t.Parallel()
		w := &watcher{}
		h := httpapi.New(&fake{}, httpapi.Options{Front: web.New(web.Options{Watcher: w}),
			Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "half of")
				panic("the rest")
			})})
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the connection is not cut")
				}
			}()
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil))
		}()
		if len(w.ended) != 1 {
			t.Errorf("the watcher was told of %d ends, want 1", len(w.ended))
		}
	})
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "up 1\n") })
	get := func(opts httpapi.Options, header string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", "/metrics", nil)
		if name, value, ok := strings.Cut(header, ": "); ok {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		httpapi.New(&fake{}, opts).ServeHTTP(w, r)
		return w
	}
	t.Run("OpenServer", func(t *testing.T) {
		t.Parallel()
		if w := get(httpapi.Options{Metrics: metrics}, ""); w.Code != 200 || w.Body.String() != "up 1\n" {
			t.Errorf("answer is %d %s", w.Code, w.Body)
		}
	})
	t.Run("None", func(t *testing.T) {
		t.Parallel()
		if w := get(httpapi.Options{}, ""); w.Code != 404 {
			t.Errorf("answer is %d %s", w.Code, w.Body)
		}
	})
	for _, tt := range []struct {
		name, permission string
		namespaces       []string
		bare             bool
		status           int
	}{
		{"WithoutKey", "read", nil, true, 401},
		{"Reader", "read", nil, false, 200},
		{"Worker", "work", nil, false, 403},
		{"ReaderOfSomeNamespaces", "read", []string{"billing"}, false, 403},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ring, key := ringOf(t, "k", tt.permission, tt.namespaces...)
			if tt.bare {
				key = ""
			}
			if w := get(httpapi.Options{Metrics: metrics, Front: web.New(web.Options{Keys: ring})}, key); w.Code != tt.status {
				t.Errorf("answer is %d %s, want %d", w.Code, w.Body, tt.status)
			}
		})
	}
}
