package redisqueue_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/taskerhq/tasker/redisqueue"
)

func call(b *redisqueue.Breaker, success bool) bool {
	p, ok := b.Allow()
	if ok {
		p.Done(success)
	}
	return ok
}

func TestBreaker(t *testing.T) {
	t.Parallel()
	clock := newClock()
	b, err := redisqueue.NewBreaker("dlq", redisqueue.BreakerConfig{}, clock)
	if err != nil {
		t.Fatal(err)
	}
	want := func(what string, state redisqueue.BreakerState) {
		t.Helper()
		if s := b.Status(); s.State != state {
			t.Errorf("%s: %+v", what, s)
		}
	}
	for range 4 {
		call(b, false)
	}
	call(b, true)
	for range 4 {
		call(b, false)
	}
	want("four in a row", redisqueue.BreakerClosed)
	late, _ := b.Allow()
	call(b, false)
	want("five in a row", redisqueue.BreakerOpen)
	late.Done(true)
	if call(b, true) {
		t.Error("a call went through an open breaker")
	}
	clock.advance(time.Minute - 1)
	want("just before the end", redisqueue.BreakerOpen)
	clock.advance(1)
	want("after a minute", redisqueue.BreakerHalfOpen)
	var permits []redisqueue.Permit
	for range 3 {
		p, ok := b.Allow()
		if !ok {
			t.Fatal("a test call was refused")
		}
		permits = append(permits, p)
	}
	if call(b, true) {
		t.Error("a fourth test call went through")
	}
	permits[0].Cancel()
	permits[1].Done(true)
	want("one success", redisqueue.BreakerHalfOpen)
	permits[2].Done(false)
	want("a failure", redisqueue.BreakerOpen)
	clock.advance(time.Minute)
	for range 2 {
		if !call(b, true) {
			t.Error("a test call was refused")
		}
	}
	want("two successes", redisqueue.BreakerClosed)
	if s := b.Status(); s.FailureCount != 0 || s.OpenedAt != nil || !s.LastFailureAt.Equal(noon.Add(time.Minute)) ||
		s.TotalCalls != 18 || s.RejectedCalls != 2 {
		t.Errorf("%+v", s)
	}
}

func TestBreakerByHand(t *testing.T) {
	t.Parallel()
	clock := newClock()
	var registry redisqueue.BreakerRegistry
	b, err := registry.GetOrCreate("b", redisqueue.BreakerConfig{FailureThreshold: 1}, clock)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := registry.GetOrCreate("b", redisqueue.BreakerConfig{}, nil); again != b || err != nil {
		t.Error("a second breaker of the name", err)
	}
	if _, err := registry.GetOrCreate("a", redisqueue.BreakerConfig{SuccessThreshold: 11}, nil); err == nil {
		t.Error("a config out of bounds was accepted")
	}
	if _, err := registry.GetOrCreate("a", redisqueue.BreakerConfig{}, nil); err != nil {
		t.Fatal(err)
	}
	b.ForceOpen()
	clock.advance(24 * time.Hour)
	if call(b, true) {
		t.Error("a call went through a breaker that is held open")
	}
	if names := registry.Names(); !slices.Equal(names, []string{"a", "b"}) || registry.Get("c") != nil {
		t.Errorf("names %v", names)
	}
	if s := registry.Status(); s[0].State != redisqueue.BreakerClosed || s[1].State != redisqueue.BreakerOpen {
		t.Errorf("%+v", s)
	}
	registry.Reset()
	if !call(b, false) || b.Status().State != redisqueue.BreakerOpen {
		t.Errorf("after the reset: %+v", b.Status())
	}
	out, err := json.Marshal(registry.Get("a").Status())
	const want = `{"name":"a","state":"closed","failure_count":0,"success_count":0,"total_calls":0,"rejected_calls":0,` +
		`"last_failure_time":null,"opened_at":null,"config":{"failure_threshold":5,"half_open_max_calls":3,` +
		`"success_threshold":2,"recovery_timeout":60}}`
	if err != nil || string(out) != want {
		t.Errorf("%s, %v", out, err)
	}
}
