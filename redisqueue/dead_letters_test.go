package redisqueue_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
	"github.com/taskerhq/tasker/redisqueue"
)

func (s server) handler(o redisqueue.HandlerOptions) *redisqueue.Handler {
	s.Helper()
	h, err := redisqueue.NewHandler(o)
	if err != nil {
		s.Fatal(err)
	}
	return h
}

var once = redisqueue.RetryPolicy{MaxAttempts: 1}

var errDown = errors.New("detector: connection refused")

func fails(context.Context) (any, error) { return nil, errDown }

func (s server) errors() []string {
	var out []string
	for _, f := range s.letters() {
		out = append(out, f.Error)
	}
	return out
}

func TestHandler(t *testing.T) {
	t.Parallel()
	s := shared(t)
	clock := newSkip()
	s.push("a", "b")
	h := s.handler(redisqueue.HandlerOptions{Letters: s.deadLetters(redisqueue.DeadLetterOptions{}), Clock: clock,
		Random: func() float64 { return 0 }, ContextQueues: []string{s.queue}})
	attempts := 0
	r := h.Do(t.Context(), s.queue, []byte(`{"id": 7}`), func(context.Context) (any, error) {
		attempts++
		return nil, fmt.Errorf("attempt %d: %w", attempts, &redisqueue.HTTPError{Status: 503, Body: "over", Err: errDown})
	})
	if r.Success || !r.MovedToDLQ || r.Attempts != 3 || !errors.Is(r.Err, errDown) {
		t.Errorf("%+v", r)
	}
	if !slices.Equal(clock.slept, []time.Duration{time.Second, 2 * time.Second}) {
		t.Errorf("slept %v", clock.slept)
	}
	want := fmt.Sprintf(`{"original_job":{"id": 7},"error":"attempt 3: detector: connection refused","attempt_count":3,`+
		`"first_failed_at":"2026-03-01T12:00:00.000000","last_failed_at":"2026-03-01T12:00:03.000000","queue_name":%q,`+
		`"error_type":"*redisqueue.HTTPError","stack_trace":null,"http_status":503,"response_body":"over",`+
		`"retry_delays":[1.0,2.0],"context":{"dlq_circuit_breaker_state":"closed","%s_depth":2}}`, s.queue, s.queue)
	if got := s.dlq(); len(got) != 1 || got[0] != want {
		t.Errorf("letters\n%s, want\n%s", got, want)
	}

	r = h.Do(t.Context(), s.queue, nil, func(context.Context) (any, error) { return 7, nil })
	if out, err := r.MarshalJSON(); err != nil ||
		string(out) != `{"success":true,"result":7,"error":null,"attempts":1,"moved_to_dlq":false}` {
		t.Errorf("%s, %v", out, err)
	}
	r = h.Do(t.Context(), s.queue, nil, func(context.Context) (any, error) { return nil, redisqueue.Permanent(io.EOF) })
	if r.Attempts != 1 || !r.MovedToDLQ {
		t.Errorf("a permanent failure: %+v", r)
	}
	r = h.Do(t.Context(), s.queue, nil, func(context.Context) (any, error) { panic("no") })
	if last := s.letters()[2]; r.Attempts != 3 || last.ErrorType != "panic" ||
		!strings.Contains(last.StackTrace, "_test.go") {
		t.Errorf("a panic: %+v, %+v", r, last)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r = h.Do(ctx, s.queue, nil, func(context.Context) (any, error) { cancel(); return nil, errDown })
	if r.Success || r.MovedToDLQ || !errors.Is(r.Err, context.Canceled) || len(s.dlq()) != 3 {
		t.Errorf("a job that was interrupted: %+v", r)
	}
}

// While Redis is down, failures go to the spool, and from there to their list in order, even by the next process. The
// breaker keeps the application from waiting.
func TestOutage(t *testing.T) {
	t.Parallel()
	own := redistest.Start(t, "appendonly=yes", "appendfsync=always")
	s := connect(t, own.URL(), "jobs")
	clock := newSkip()
	dir := t.TempDir()
	letters := s.deadLetters(redisqueue.DeadLetterOptions{Dir: dir, Clock: clock, Timeout: time.Second})
	h := s.handler(redisqueue.HandlerOptions{Letters: letters, Clock: clock, Retry: once})
	var want []string
	fail := func(n int) {
		t.Helper()
		for range n {
			text := fmt.Sprint("failure ", len(want))
			want = append(want, text)
			r := h.Do(t.Context(), s.queue, nil, func(context.Context) (any, error) { return nil, errors.New(text) })
			if !r.MovedToDLQ {
				t.Fatalf("%s: %+v", text, r)
			}
		}
	}
	fail(2)
	if err := own.Stop(); err != nil {
		t.Fatal(err)
	}
	fail(3)
	for range 4 {
		if _, err := letters.Drain(t.Context()); err == nil {
			t.Fatal("letters were sent to a server that is down")
		}
	}
	st := letters.Status()
	if st.SpoolLetters != 3 || st.Breaker.State != redisqueue.BreakerOpen {
		t.Fatalf("%+v", st)
	}
	fail(2)
	// The process ends, and the server comes back before the next one begins.
	if err := letters.Close(); err != nil {
		t.Fatal(err)
	}
	letters = s.deadLetters(redisqueue.DeadLetterOptions{Dir: dir, Clock: clock})
	h = s.handler(redisqueue.HandlerOptions{Letters: letters, Clock: clock, Retry: once})
	if err := own.Restart(); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the letters arrive", func() bool {
		_, err := letters.Drain(t.Context())
		return err == nil
	})
	fail(2)
	if got := s.errors(); !slices.Equal(got, want) {
		t.Errorf("letters %q, want %q", got, want)
	}
	// After a FLUSHALL later letters arrive.
	if err := own.Flush(); err != nil {
		t.Fatal(err)
	}
	fail(1)
	if got := s.errors(); !slices.Equal(got, want[len(want)-1:]) {
		t.Errorf("after FLUSHALL: %q", got)
	}
}

// Letters wait while the breaker is forced open, and go out in order afterwards.
func TestBreakerIsHeldOpen(t *testing.T) {
	t.Parallel()
	s := shared(t)
	letters := s.deadLetters(redisqueue.DeadLetterOptions{})
	write := func(text string) {
		t.Helper()
		if err := letters.Write(t.Context(), redisqueue.JobFailure{Queue: s.queue, Error: text}); err != nil {
			t.Fatal(err)
		}
	}
	letters.Breaker().ForceOpen()
	for i := range 500 { // more than one script sends
		write(fmt.Sprint(i))
	}
	if n := len(s.dlq()); n != 0 {
		t.Errorf("%d letters went through", n)
	}
	letters.Breaker().Reset()
	write("500")
	if n, err := letters.Drain(t.Context()); err != nil {
		t.Error(n, err)
	}
	write("501")
	for i, text := range s.errors() {
		if text != fmt.Sprint(i) {
			t.Fatalf("letter %d is %q", i, text)
		}
	}
	if st := letters.Status(); st.Written != 502 || st.Spooled != 501 || st.SpoolLetters != 0 {
		t.Errorf("%+v", st)
	}
}

// With a full spool a failure is nowhere, its caller gets an error, and the job stays with its consumer until there is
// room.
func TestFull(t *testing.T) {
	t.Parallel()
	s := shared(t)
	clock := newSkip()
	letters := s.deadLetters(redisqueue.DeadLetterOptions{MaxLength: 3, MaxSpoolBytes: 1500, Clock: clock})
	h := s.handler(redisqueue.HandlerOptions{Letters: letters, Clock: clock, Retry: once})
	var r redisqueue.Result
	moved := 0
	for r = h.Do(t.Context(), s.queue, nil, fails); r.MovedToDLQ; r = h.Do(t.Context(), s.queue, nil, fails) {
		moved++
	}
	if !errors.Is(r.Err, redisqueue.ErrSpoolFull) || !errors.Is(r.Err, errDown) || moved < 4 || moved > 8 {
		t.Errorf("after %d: %+v", moved, r)
	}
	c := s.run(redisqueue.ConsumerOptions{HandlerOptions: redisqueue.HandlerOptions{Letters: letters, Clock: newClock(),
		Retry: redisqueue.RetryPolicy{MaxAttempts: 1}},
		Handler: func(ctx context.Context, _ redisqueue.Job) (any, error) { return fails(ctx) }})
	s.push("job")
	await.Until(t, "the job waits", func() bool { return c.Stats().Waiting == 1 })
	if s.idle() {
		t.Error("the job was acknowledged")
	}
	c.stop()
	if got := s.list(s.queue); !slices.Equal(got, []string{"job"}) {
		t.Errorf("queue %q", got)
	}
	// An operator makes room.
	s.do("DEL", redisqueue.DLQName(s.queue))
	letters.Breaker().Reset()
	for sent := 0; sent < moved-3; {
		n, err := letters.Drain(t.Context())
		if sent += n; err != nil {
			s.do("DEL", redisqueue.DLQName(s.queue))
			letters.Breaker().Reset()
		}
	}
	if r := h.Do(t.Context(), s.queue, nil, fails); !r.MovedToDLQ {
		t.Errorf("with room: %+v", r)
	}
}

// A wrong type of the dead letters' list loses nothing: jobs stay with their consumer, and failures wait.
func TestRefusedByRedis(t *testing.T) {
	t.Parallel()
	s := shared(t)
	s.do("SET", redisqueue.DLQName(s.queue), "no list")
	letters := s.deadLetters(redisqueue.DeadLetterOptions{})
	c := s.run(redisqueue.ConsumerOptions{HandlerOptions: redisqueue.HandlerOptions{Letters: letters,
		Retry: redisqueue.RetryPolicy{MaxAttempts: 1}},
		Handler: func(ctx context.Context, _ redisqueue.Job) (any, error) { return fails(ctx) }})
	s.push("1", "2")
	await.Until(t, "the failures wait", func() bool { return letters.Status().SpoolLetters == 2 })
	if s.idle() {
		t.Error("jobs were acknowledged before their letters arrived")
	}
	s.do("DEL", redisqueue.DLQName(s.queue))
	letters.Breaker().Reset()
	await.Until(t, "they arrive", func() bool { return len(s.dlq()) == 2 && s.idle() })
	c.stop()
}
