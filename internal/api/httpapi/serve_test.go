package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/worker/protocol"
)

type running struct {
	url    string
	client *http.Client
	stop   context.CancelFunc
	served chan error
}

func serve(t *testing.T, h http.Handler, drain time.Duration) *running {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &running{"http://" + ln.Addr().String(), &http.Client{Transport: &http.Transport{}}, stop, make(chan error, 1)}
	go func() { s.served <- web.Serve(ctx, ln, h, drain) }()
	t.Cleanup(func() { stop(); s.client.CloseIdleConnections() })
	return s
}

func (s *running) send(t *testing.T, path, body string) <-chan response {
	t.Helper()
	out := make(chan response, 1)
	go func() {
		defer close(out)
		method := http.MethodGet
		if body != "" {
			method = http.MethodPost
		}
		r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		r.Header.Set("Content-Type", "application/json")
		answer, err := s.client.Do(r)
		if err != nil {
			out <- response{body: err.Error()}
			return
		}
		defer answer.Body.Close()
		content, _ := io.ReadAll(answer.Body)
		out <- response{answer.StatusCode, answer.Header, string(content)}
	}()
	return out
}

func TestStopEndsLongPolls(t *testing.T) {
	t.Parallel()
	waiting := make(chan struct{}, 2)
	f := &fake{
		poll: func(ctx context.Context) (*protocol.PollResponse, error) {
			waiting <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		},
		wait: func(ctx context.Context, _ time.Duration) (*tasker.Task, error) {
			waiting <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}
	s := serve(t, httpapi.New(f, httpapi.Options{}), time.Minute)
	poll := s.send(t, "/internal/workers/"+workerID.String()+"/poll", `{"wait_ms":60000}`)
	task := s.send(t, "/v1/tasks/"+taskID.String()+"?wait_ms=60000", "")
	<-waiting
	<-waiting
	s.stop()
	if got := <-poll; got.status != 200 || got.body != `{"steps":[]}`+"\n" {
		t.Errorf("the poll is answered %d %s", got.status, got.body)
	}
	if got := <-task; got.status != 200 || !strings.Contains(got.body, `"state":"error"`) {
		t.Errorf("the wait is answered %d %s", got.status, got.body)
	}
	if err := <-s.served; err != nil {
		t.Errorf("Serve = %v", err)
	}
}

func TestStopLetsRequestsFinish(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}, 2), make(chan struct{})
	api := httpapi.New(&fake{}, httpapi.Options{})
	var stopped bool // when the earlier request continues
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-release
		stopped = r.Context().Err() != nil
		api.ServeHTTP(w, r)
	}), time.Minute)
	submit := s.send(t, "/v1/tasks", `{"name":"x"}`)
	<-entered
	s.stop()
	waitStopping(t, s)
	select {
	case err := <-s.served:
		t.Fatalf("Serve = %v before the request was over", err)
	default:
	}
	close(release)
	if got := <-submit; got.status != 201 || stopped {
		t.Errorf("the request is answered %d %s; its context had ended: %v", got.status, got.body, stopped)
	}
	if err := <-s.served; err != nil {
		t.Errorf("Serve = %v", err)
	}
	if got := <-s.send(t, "/version", ""); got.status != 0 {
		t.Errorf("a stopped server answers %d", got.status)
	}
}

func waitStopping(t *testing.T, s *running) {
	t.Helper()
	for t.Context().Err() == nil {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			return
		}
		_ = conn.Close()
	}
}

func TestNotReadyWhileStopping(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}, 2), make(chan struct{})
	f := &fake{poll: func(ctx context.Context) (*protocol.PollResponse, error) {
		entered <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	api := httpapi.New(f, httpapi.Options{})
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/health/ready" {
			entered <- struct{}{}
			<-release
		}
		api.ServeHTTP(w, r)
	}), time.Minute)
	ready := s.send(t, "/health/ready", "")
	poll := s.send(t, "/internal/workers/"+workerID.String()+"/poll", `{"wait_ms":60000}`)
	<-entered
	<-entered
	s.stop()
	<-poll // ends when the server begins to stop
	close(release)
	if got := <-ready; got.status != 503 || !strings.Contains(got.body, "stopping") {
		t.Errorf("ready is answered %d %s", got.status, got.body)
	}
	if err := <-s.served; err != nil {
		t.Errorf("Serve = %v", err)
	}
}

func TestDrainTimeout(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{})
	s := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done() // the cut connection ends it
	}), time.Millisecond)
	answer := s.send(t, "/", "")
	<-entered
	s.stop()
	if err := <-s.served; err == nil || !strings.Contains(err.Error(), "still under way after 1ms") {
		t.Errorf("Serve = %v", err)
	}
	if got := <-answer; got.status != 0 {
		t.Errorf("a request that was cut is answered %d", got.status)
	}
}

func TestServeReportsABrokenListener(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = ln.Close()
	if err := web.Serve(context.Background(), ln, http.NotFoundHandler(), 0); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve = %v", err)
	}
}

// TestClientGoneEndsPoll: a poll that continues would claim steps without a worker.
func TestClientGoneEndsPoll(t *testing.T) {
	t.Parallel()
	entered, ended := make(chan struct{}), make(chan error, 1)
	f := &fake{poll: func(ctx context.Context) (*protocol.PollResponse, error) {
		close(entered)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}}
	s := serve(t, httpapi.New(f, httpapi.Options{}), time.Minute)
	ctx, leave := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/internal/workers/"+workerID.String()+"/poll",
		strings.NewReader(`{"wait_ms":60000}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	gone := make(chan error, 1)
	go func() {
		answer, err := s.client.Do(r)
		if err == nil {
			err = answer.Body.Close()
		}
		gone <- err
	}()
	<-entered
	leave()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the poll ended with %v", err)
	}
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("the client ended with %v", err)
	}
	s.stop()
	if err := <-s.served; err != nil {
		t.Errorf("Serve = %v", err)
	}
}

func TestHugeBodyOverTheWire(t *testing.T) {
	t.Parallel()
	f := &fake{}
	s := serve(t, httpapi.New(f, httpapi.Options{}), time.Minute)
	r, err := http.NewRequest(http.MethodPost, s.url+"/v1/tasks", bytes.NewReader(make([]byte, 64<<20)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Expect", "100-continue") // the client sends the body only after the server agrees
	s.client.Transport.(*http.Transport).ExpectContinueTimeout = time.Minute
	answer, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != 413 || f.called() != 0 {
		t.Errorf("64 MiB are answered %d", answer.StatusCode)
	}
}
