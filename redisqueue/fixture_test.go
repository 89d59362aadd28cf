package redisqueue_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/taskerhq/tasker/internal/testkit/redistest"
	"github.com/taskerhq/tasker/redisqueue"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// handClock is a clock that a test advances. Sleepers wake at their time.
type handClock struct {
	mu       sync.Mutex
	now      time.Time
	sleepers map[chan struct{}]time.Time
	slept    []time.Duration
}

func newClock() *handClock { return &handClock{now: noon, sleepers: map[chan struct{}]time.Time{}} }

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) Sleep(ctx context.Context, d time.Duration) error {
	woken := make(chan struct{})
	c.mu.Lock()
	c.slept = append(c.slept, d)
	c.sleepers[woken] = c.now.Add(d)
	c.mu.Unlock()
	select {
	case <-woken:
		return nil
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.sleepers, woken)
		return ctx.Err()
	}
}

func (c *handClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for woken, at := range c.sleepers {
		if !at.After(c.now) {
			close(woken)
			delete(c.sleepers, woken)
		}
	}
}

// skip is a clock on which every sleep passes immediately.
type skip struct{ handClock }

func newSkip() *skip { return &skip{handClock{now: noon}} }

func (c *skip) Sleep(ctx context.Context, d time.Duration) error {
	time.Sleep(100 * time.Microsecond) // loops would take all of the processor
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.slept = append(c.slept, d)
	return ctx.Err()
}

type server struct {
	testing.TB
	url    string
	client rueidis.Client
	queue  string
}

func shared(t testing.TB) server {
	t.Helper()
	url, prefix := redistest.Shared(t)
	s := connect(t, url, prefix+"jobs")
	t.Cleanup(func() {
		for _, key := range s.keys("*" + prefix + "*") {
			s.do("DEL", key)
		}
	})
	return s
}

func connect(t testing.TB, url, queue string) server {
	t.Helper()
	option, err := rueidis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	option.DisableCache = true
	option.Dialer.Timeout = time.Second
	client, err := rueidis.NewClient(option)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return server{t, url, client, queue}
}

func (s server) do(words ...string) rueidis.RedisMessage {
	s.Helper()
	m, err := s.client.Do(context.Background(), s.client.B().Arbitrary(words...).Build()).ToMessage()
	if err != nil && !rueidis.IsRedisNil(err) {
		s.Fatalf("%q: %v", words[0], err)
	}
	return m
}

func (s server) keys(pattern string) []string {
	var out []string
	for cursor := uint64(0); ; {
		page, err := s.client.Do(context.Background(),
			s.client.B().Scan().Cursor(cursor).Match(pattern).Count(10000).Build()).AsScanEntry()
		if err != nil {
			s.Fatal(err)
		}
		out = append(out, page.Elements...)
		if cursor = page.Cursor; cursor == 0 {
			return out
		}
	}
}

func (s server) push(jobs ...string) { s.do(append([]string{"RPUSH", s.queue}, jobs...)...) }

func (s server) list(key string) []string {
	s.Helper()
	m := s.do("LRANGE", key, "0", "-1")
	out, err := m.AsStrSlice()
	if err != nil {
		s.Fatal(err)
	}
	return out
}

func (s server) dlq() []string { return s.list(redisqueue.DLQName(s.queue)) }

func (s server) letters() []redisqueue.JobFailure {
	s.Helper()
	var out []redisqueue.JobFailure
	for _, text := range s.dlq() {
		f, err := redisqueue.ParseJobFailure([]byte(text))
		if err != nil {
			s.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

// deadLetters opens the dead letters with defaults for unset fields.
func (s server) deadLetters(o redisqueue.DeadLetterOptions) *redisqueue.DeadLetters {
	s.Helper()
	o.Client = s.client
	if o.Dir == "" {
		o.Dir = s.TempDir()
	}
	d, err := redisqueue.OpenDeadLetters(o)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { d.Close() })
	return d
}
