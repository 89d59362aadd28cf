package web

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"
)

const requestIDHeader = "X-Request-Id"

// recorder records the response for the log line.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int
	key    string // name of the API key
	body   requestBody
	left   bool // the answer began before the body had arrived
}

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
		w.leaveBody()
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	n, err := w.ResponseWriter.Write(b)
	w.bytes += n
	return n, err
}

func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func noteKey(w http.ResponseWriter, name string) {
	if rec, ok := w.(*recorder); ok {
		rec.key = name
	}
}

// Underneath returns the server's own ResponseWriter, which net/http needs to close a connection whose body was too
// large.
func Underneath(w http.ResponseWriter) http.ResponseWriter {
	if rec, ok := w.(*recorder); ok {
		return rec.ResponseWriter
	}
	return w
}

func (f *Front) observe(quiet func(pattern string) bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		rec := &recorder{ResponseWriter: w}
		r, watched := f.watch(r)
		r = rec.follow(r)
		defer rec.drainBody() // last: the log line must not include the rest of a body
		header := w.Header()
		id := f.requestID(r)
		header.Set(requestIDHeader, id)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-store")
		defer func() { watched(r.Pattern, rec.status) }() // a torn answer panics on
		defer func() {
			if v := recover(); v != nil {
				f.answerPanic(rec, r, v)
			}
			f.logRequest(rec, r, id, time.Since(start), quiet != nil && quiet(r.Pattern))
		}()
		next.ServeHTTP(rec, r)
	})
}

func (f *Front) answerPanic(w *recorder, r *http.Request, v any) {
	if v == http.ErrAbortHandler { //nolint:errorlint // net/http compares it like this too
		panic(v)
	}
	err := fmt.Errorf("panic: %v\n%s", v, debug.Stack())
	if w.status == 0 {
		f.Refuse(w, r, r.Pattern, err)
		return
	}
	f.log.ErrorContext(r.Context(), "request failed after its answer had begun", slog.String("operation", r.Pattern),
		slog.String("request_id", w.Header().Get(requestIDHeader)), slog.Any("error", err))
	panic(http.ErrAbortHandler) // cuts the connection, so that the client sees a torn answer
}

// logRequest logs quiet requests, which come for every task, at level debug.
func (f *Front) logRequest(w *recorder, r *http.Request, id string, took time.Duration, quiet bool) {
	level := slog.LevelInfo
	switch {
	case w.status >= 500:
		level = slog.LevelWarn
	case quiet:
		level = slog.LevelDebug
	}
	ctx := r.Context() // may belong to a trace
	if !f.log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", w.status),
		slog.Duration("took", took), slog.Int("bytes", w.bytes), slog.String("request_id", id),
		slog.String("remote", r.RemoteAddr),
	}
	if w.key != "" {
		attrs = append(attrs, slog.String("key", w.key))
	}
	f.log.LogAttrs(ctx, level, "request", attrs...)
}

// requestID keeps a proxy's harmless ID, or makes one: the process's random prefix and a number.
func (f *Front) requestID(r *http.Request) string {
	if given := r.Header.Get(requestIDHeader); harmless(given) {
		return given
	}
	return f.idPrefix + strconv.FormatUint(f.lastID.Add(1), 36)
}

// harmless reports whether an ID is safe in a log and a header.
func harmless(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for _, c := range []byte(id) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}
