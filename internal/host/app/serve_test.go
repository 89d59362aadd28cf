package app_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	_ "github.com/taskerhq/tasker/embedded/kafka"
	_ "github.com/taskerhq/tasker/embedded/redis"

	"go.uber.org/goleak"

	"github.com/taskerhq/tasker/internal/host/app"
	"github.com/taskerhq/tasker/internal/host/config"
)

func TestMain(m *testing.M) {
	// rueidis refreshes its cluster information at most once a second, and sleeps in between.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"))
}

type loops struct {
	started chan struct{}
	ended   chan struct{}
	fail    chan error
}

func newLoops() *loops {
	return &loops{started: make(chan struct{}), ended: make(chan struct{}), fail: make(chan error, 1)}
}

func (l *loops) Run(ctx context.Context) error {
	close(l.started)
	defer close(l.ended)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-l.fail:
		return err
	}
}

func start(t *testing.T, store *loops, h http.Handler, ready func() error) (stop func(), url string, ended chan error) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	ctx, cancel := context.WithCancel(t.Context())
	ended = make(chan error, 1)
	go func() { ended <- app.Serve(ctx, &cfg, store, ln, h, ready) }()
	t.Cleanup(cancel)
	return cancel, "http://" + ln.Addr().String(), ended
}

func within(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(time.Minute):
		t.Fatalf("%s did not happen", what)
	}
}

func isReady() error { return nil }

func TestServeEndsTheLoopsAfterTheRequests(t *testing.T) {
	t.Parallel()
	store := newLoops()
	inside, release := make(chan struct{}), make(chan struct{})
	stop, url, ended := start(t, store, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(inside)
		<-release
		select {
		case <-store.ended:
			t.Error("the loops ended while a request was under way")
		default:
		}
	}), isReady)
	answered := make(chan error, 1)
	go func() {
		resp, err := http.Get(url) //nolint:noctx // the test's end closes the server
		if err == nil {
			err = resp.Body.Close()
		}
		answered <- err
	}()
	within(t, "the request", inside)
	stop()
	close(release)
	if err := <-answered; err != nil {
		t.Errorf("the request under way was not answered: %v", err)
	}
	if err := <-ended; err != nil {
		t.Errorf("Serve returned %v after an orderly end", err)
	}
	within(t, "the end of the loops", store.ended)
	http.DefaultClient.CloseIdleConnections()
}

func TestServeEndsWithTheLoops(t *testing.T) {
	t.Parallel()
	store := newLoops()
	_, _, ended := start(t, store, http.NotFoundHandler(), isReady)
	within(t, "the start of the loops", store.started)
	store.fail <- errors.New("disk on fire")
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "run background loops: disk on fire") {
		t.Errorf("Serve returned %v", err)
	}
}

func TestServeEndsWhenReadyFails(t *testing.T) {
	t.Parallel()
	store := newLoops()
	want := errors.New("cannot write the address file")
	_, _, ended := start(t, store, http.NotFoundHandler(), func() error { return want })
	if err := <-ended; !errors.Is(err, want) {
		t.Errorf("Serve returned %v", err)
	}
	within(t, "the end of the loops", store.ended)
}
