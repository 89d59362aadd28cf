package httpapi_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/remote"
)

func TestEventsOnTheWire(t *testing.T) {
	t.Parallel()
	a := newAPI(t, &fake{}, httpapi.Options{})
	got := a.do(t, "GET", "/v1/events", "")
	head := "retry: 1000\nid: run-1\nevent: stream.open\ndata: " +
		"{\"id\":\"run-1\",\"type\":\"stream.open\",\"at\":\"2026-01-31T12:00:00.123456Z\"}\n\nid: run-2\nevent: " +
		"task.state\ndata: {"
	if got.status != 200 || !strings.HasPrefix(got.body, head) {
		t.Errorf("the stream is %d %q, want it to begin with %q", got.status, got.body, head)
	}
	if !strings.Contains(got.body, "\n\n: alive\nid: run-4\n\nid: run-4\nevent: queue.stats\n") ||
		!strings.HasSuffix(got.body, "\n\n") {
		t.Errorf("the stream is %q", got.body)
	}
	for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-store",
		"X-Accel-Buffering": "no", "Content-Length": ""} {
		if got.header.Get(name) != want {
			t.Errorf("%s is %q", name, got.header.Get(name))
		}
	}
}

func TestEventsFilter(t *testing.T) {
	t.Parallel()
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{})
	a.do(t, "GET", "/v1/events?task="+taskID.String()+"&task="+otherID.String()+
		"&until=settled&type=task.state,case.opened&namespace=a&namespace=b"+
		"&name=n&state=error&state=complete&tag=t&correlation_id=c&queue=true", "", "Last-Event-ID: run-7")
	want := tasker.EventFilter{Tasks: []uuid.UUID{taskID, otherID}, UntilSettled: true,
		Types:      []tasker.EventType{tasker.EventTaskState, tasker.EventCaseOpened},
		Namespaces: []string{"a", "b"}, Name: "n", States: []tasker.TaskState{tasker.TaskError, tasker.TaskComplete},
		Tag: "t", CorrelationID: "c",
		Queue: true, LastEventID: "run-7"}
	if diff := cmp.Diff(want, last[tasker.EventFilter](f)); diff != "" {
		t.Errorf("the filter differs (-want +got):\n%s", diff)
	}
	for _, query := range []string{"task=x", "task=" + strings.ReplaceAll(taskID.String(), "-", ""), "state=done",
		"until=never", "queue=perhaps", "unknown=1", "name=" + strings.Repeat("n", 256)} {
		if got := a.do(t, "GET", "/v1/events?"+query, ""); got.status != 400 || got.problem(t).Code != tasker.CodeInvalid {
			t.Errorf("%s is answered %d %s", query, got.status, got.body)
		}
	}
	if got := a.do(t, "GET", "/v1/events?"+strings.Repeat("namespace=n&", 101), ""); got.status != 413 {
		t.Errorf("a long list is answered %d %s", got.status, got.body)
	}
	// Any text is only an unknown position.
	for _, hostile := range []string{"-", "run-18446744073709551616", "'; DROP TABLE x", strings.Repeat("9", 10_000),
		"<script>"} {
		if got := a.do(t, "GET", "/v1/events", "", "Last-Event-ID: "+hostile); got.status != 200 {
			t.Errorf("Last-Event-ID %.20q is answered %d %s", hostile, got.status, got.body)
		}
	}
}

func TestHeaderIsText(t *testing.T) {
	t.Parallel()
	a := newAPI(t, &fake{}, httpapi.Options{})
	for _, hostile := range []string{"\xff\xfe", "a\tb", "\u0085"} {
		got := a.do(t, "GET", "/v1/events", "", "Last-Event-ID: "+hostile)
		if p := got.problem(t); got.status != 400 || at(p) != "header.Last-Event-Id" {
			t.Errorf("Last-Event-ID %q is answered %d %s", hostile, got.status, got.body)
		}
	}
}

func TestEventsOfNamespaces(t *testing.T) {
	t.Parallel()
	ring, key := ringOf(t, "k", "read", "default", "more")
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{Front: web.New(web.Options{Keys: ring})})
	if got := a.do(t, "GET", "/v1/events?queue=true", "", key); got.status != 200 ||
		cmp.Diff([]string{"default", "more"}, last[tasker.EventFilter](f).Namespaces) != "" {
		t.Errorf("answer is %d, the filter %+v", got.status, last[tasker.EventFilter](f))
	}
	a.do(t, "GET", "/v1/events?namespace=more", "", key)
	if diff := cmp.Diff([]string{"more"}, last[tasker.EventFilter](f).Namespaces); diff != "" {
		t.Error(diff)
	}
	if got := a.do(t, "GET", "/v1/events?namespace=more&namespace=secret", "", key); got.status != 403 {
		t.Errorf("another namespace is answered %d %s", got.status, got.body)
	}
	if got := a.do(t, "GET", "/v1/events?task="+taskID.String(), "", key); got.status != 200 {
		t.Errorf("a task of the namespace is answered %d %s", got.status, got.body)
	}
	if got := a.do(t, "GET", "/v1/events?task="+taskID.String()+"&task="+otherID.String(), "", key); got.status != 404 {
		t.Errorf("a task of another namespace is answered %d %s", got.status, got.body)
	}
}

func lasting(ctx context.Context, yield func([]tasker.Event, error) bool) {
	for yield([]tasker.Event{{ID: "run-1", Type: tasker.EventStreamAlive}}, nil) {
		<-ctx.Done()
		yield(nil, ctx.Err())
		return
	}
}

func listening(t *testing.T, h http.Handler) (url string, stop func() error) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return "http://" + ln.Addr().String(), serveOn(t, ln, h)
}

func serveOn(t *testing.T, ln net.Listener, h http.Handler) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(ctx, ln, h, time.Minute) }()
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-ended
	}
	t.Cleanup(func() { _ = stop() })
	return stop
}

func listenTo(t *testing.T, url string) (*http.Response, *bufio.Reader) {
	t.Helper()
	resp, err := http.Get(url + "/v1/events")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp, bufio.NewReader(resp.Body)
}

func TestEventsLimit(t *testing.T) {
	t.Parallel()
	url, _ := listening(t, httpapi.New(&fake{stream: lasting}, httpapi.Options{Limits: httpapi.Limits{Streams: 2}}))
	first, lines := listenTo(t, url)
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	listenTo(t, url)
	third, _ := listenTo(t, url)
	if third.StatusCode != 429 || third.Header.Get("Retry-After") != "5" {
		t.Errorf("one too many is answered %d, Retry-After %q", third.StatusCode, third.Header.Get("Retry-After"))
	}
	first.Body.Close()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for range 12_000 { // wait until the server notices
		if resp, _ := listenTo(t, url); resp.StatusCode == 200 {
			return
		}
		<-again.C
	}
	t.Error("the place of a stream that is over is not free again")
}

func TestEventsEndWithTheServer(t *testing.T) {
	t.Parallel()
	url, stop := listening(t, httpapi.New(&fake{stream: lasting}, httpapi.Options{}))
	client, err := remote.Dial(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	alive := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		for batch, err := range client.StreamEvents(t.Context(), tasker.EventFilter{}) {
			if err != nil {
				ended <- err
				return
			}
			if batch[0].Type == tasker.EventStreamAlive {
				close(alive)
			}
		}
		ended <- nil
	}()
	<-alive
	if err := stop(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	if err := <-ended; tasker.ErrorCode(err) != tasker.CodeUnavailable {
		t.Errorf("the stream ended with %v", err)
	}
}

func TestEventsSlowReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		big := strings.Repeat("x", 1<<20)
		sent := 0
		f := &fake{stream: func(_ context.Context, yield func([]tasker.Event, error) bool) {
			for yield([]tasker.Event{{ID: "run-1", Type: tasker.EventTaskState, Cause: big}}, nil) {
				sent++
			}
		}}
		here, there := net.Pipe()
		defer here.Close()
		server := &http.Server{Handler: httpapi.New(f, httpapi.Options{})}
		served := make(chan error, 1)
		go func() { served <- server.Serve(&oneConn{conn: there, closed: make(chan struct{})}) }()
		if _, err := here.Write([]byte("GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		if _, err := here.Read(make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if sent > 1 {
			t.Errorf("%d batches were sent", sent)
		}
		here.SetReadDeadline(time.Now().Add(time.Second))
		buf := make([]byte, 64<<10)
		var err error
		for err == nil {
			_, err = here.Read(buf)
		}
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			t.Errorf("the connection is not closed: %v", err)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		<-served
	})
}

type oneConn struct {
	conn   net.Conn
	closed chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	if c := l.conn; c != nil {
		l.conn = nil
		return c, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error { close(l.closed); return nil }

func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

func TestEventsWatched(t *testing.T) {
	t.Parallel()
	w := &watcher{}
	f := &fake{}
	a := newAPI(t, f, httpapi.Options{Streams: w})
	a.do(t, "GET", "/v1/events", "")
	f.stream = func(_ context.Context, yield func([]tasker.Event, error) bool) {
		_ = yield([]tasker.Event{{ID: "run-1", Type: tasker.EventStreamAlive}}, nil) && yield(nil, errors.New("broken"))
	}
	a.do(t, "GET", "/v1/events", "")
	f.stream = func(_ context.Context, yield func([]tasker.Event, error) bool) {
		yield(nil, tasker.Errorf(tasker.CodeNotFound, "there is no such task"))
	}
	if got := a.do(t, "GET", "/v1/events", ""); got.status != 404 {
		t.Errorf("an unknown task is answered %d %s", got.status, got.body)
	}
	if diff := cmp.Diff([]string{"done", "failed"}, w.closed); diff != "" || w.opened != 2 {
		t.Errorf("%d streams were opened, and closed as (-want +got):\n%s", w.opened, diff)
	}
}

func TestEventsOverDial(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(httpapi.New(&fake{}, httpapi.Options{}))
	defer s.Close()
	client, err := remote.Dial(s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var got, want []tasker.Event
	for batch, err := range client.StreamEvents(t.Context(), tasker.EventFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, batch...)
	}
	for _, batch := range cannedEvents() {
		want = append(want, batch...)
	}
	for i := range got {
		if got[i].Type == tasker.EventStreamAlive {
			got[i].At = noon // it does not travel
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events differ (-want +got):\n%s", diff)
	}
	for event, err := range client.Events(t.Context(), tasker.EventFilter{}) {
		if err != nil || event.Type == tasker.EventStreamAlive {
			t.Errorf("%+v, %v", event, err)
		}
	}
	for _, err := range client.StreamEvents(t.Context(), tasker.EventFilter{States: []tasker.TaskState{"done"}}) {
		if tasker.ErrorCode(err) != tasker.CodeInvalid {
			t.Errorf("an invalid filter is answered %v", err)
		}
	}
}
