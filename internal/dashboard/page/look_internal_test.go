package page

import (
	"context"
	"errors"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/model/access"
)

type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func newLooks(t *testing.T) (*looks, *clock, func(address, viewer string, load *loader) (string, error)) {
	t.Helper()
	c := &clock{at: time.Unix(1_800_000_000, 0)}
	l := &looks{now: c.now}
	return l, c, func(address, viewer string, load *loader) (string, error) {
		r := &Request{http: httptest.NewRequest("GET", address, nil), Zone: time.UTC}
		if viewer != "" {
			r.Viewer = &access.Principal{Name: viewer}
		}
		got, err := l.get(r, load.load)
		if err != nil {
			return "", err
		}
		return string(got.main), nil
	}
}

type loader struct {
	n     atomic.Int64
	err   error
	begun chan struct{} // closed at the first look
	wait  chan struct{} // closing it ends a look; nil: immediately
	once  sync.Once
	size  int
}

func (l *loader) load(context.Context, *Request) (*look, error) {
	n := l.n.Add(1)
	if l.begun != nil {
		l.once.Do(func() { close(l.begun) })
	}
	if l.wait != nil {
		<-l.wait
	}
	if l.err != nil {
		return nil, l.err
	}
	return &look{main: []byte("look " + strconv.FormatInt(n, 10) + strings.Repeat(" ", l.size))}, nil
}

func TestLooksAreShared(t *testing.T) {
	t.Parallel()
	_, c, at := newLooks(t)
	load := &loader{begun: make(chan struct{}), wait: make(chan struct{})}
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			if got, err := at("/tasks?view=error", "ann", load); err != nil || got != "look 1" {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	<-load.begun
	close(load.wait)
	all.Wait()
	for _, other := range [][2]string{{"/tasks?view=error", "ben"}, {"/tasks", "ann"}, {"/tasks?view=error", ""}} {
		before := load.n.Load()
		if _, err := at(other[0], other[1], load); err != nil || load.n.Load() != before+1 {
			t.Errorf("%v shares the look of another viewer or address", other)
		}
	}
	c.add(time.Second)
	if got, err := at("/tasks?view=error", "ann", load); err != nil || got == "look 1" {
		t.Errorf("a second later: %q, %v", got, err)
	}
	c.add(-time.Hour) // a clock that is set back does not keep a look
	before := load.n.Load()
	if _, err := at("/tasks?view=error", "ann", load); err != nil || load.n.Load() != before+1 {
		t.Errorf("after the clock was set back: %v", err)
	}
}

// TestActsMakeLooksOld: even one that began before an act and ends after it.
func TestActsMakeLooksOld(t *testing.T) {
	t.Parallel()
	l, _, at := newLooks(t)
	slow := &loader{begun: make(chan struct{}), wait: make(chan struct{})}
	first := make(chan string)
	go func() {
		got, _ := at("/", "", slow)
		first <- got
	}()
	<-slow.begun
	l.forget()
	fast := &loader{}
	if got, err := at("/", "", fast); err != nil || got != "look 1" || fast.n.Load() != 1 {
		t.Errorf("after the act: %q, %v", got, err)
	}
	close(slow.wait)
	<-first
	if _, err := at("/", "", fast); err != nil || fast.n.Load() != 1 {
		t.Errorf("the old look took the place of the new one: %v", err)
	}
}

func TestErrorsAreNotShared(t *testing.T) {
	t.Parallel()
	_, _, at := newLooks(t)
	broken := &loader{err: errors.New("down")}
	for range 3 {
		if _, err := at("/", "", broken); err == nil {
			t.Fatal("no error")
		}
	}
	if broken.n.Load() != 3 {
		t.Errorf("an error was shared: %d looks", broken.n.Load())
	}
}

// TestLooksAreBounded: 10,000 addresses of large pages stay within the bytes.
func TestLooksAreBounded(t *testing.T) {
	t.Parallel()
	l, _, at := newLooks(t)
	large := &loader{size: 64 << 10}
	for i := range 10_000 {
		if _, err := at("/tasks?name="+strconv.Itoa(i), "", large); err != nil {
			t.Fatal(err)
		}
		if l.bytes > looksBytes+128<<10 {
			t.Fatalf("%d bytes are kept", l.bytes)
		}
	}
}
