package redisqueue_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/taskerhq/tasker/redisqueue"
)

func contractBreaker(t *testing.T, c *contract) {
	c.do("SET", redisqueue.DLQName(detection), "no list") // writes of letters fail
	write := func() redisqueue.DeadLetterStatus {
		t.Helper()
		// The spool must be empty before each try: each failure is one drain or one write.
		if c.letters.Status().SpoolLetters > 0 {
			_, _ = c.letters.Drain(t.Context())
		} else if err := c.letters.Write(t.Context(), redisqueue.JobFailure{Job: []byte("1"), Error: "e",
			Queue: detection}); err != nil {
			t.Fatal(err)
		}
		return c.letters.Status()
	}
	state := func(t *testing.T, want redisqueue.BreakerState) {
		t.Helper()
		if got := c.letters.Status().Breaker.State; got != want {
			t.Errorf("it is %s, want %s", got, want)
		}
	}
	t.Run("ClosedAtFirst", func(t *testing.T) { state(t, redisqueue.BreakerClosed) })
	t.Run("OpensAfterFiveFailedWrites", func(t *testing.T) {
		for range 4 {
			write()
		}
		state(t, redisqueue.BreakerClosed)
		write()
		state(t, redisqueue.BreakerOpen)
	})
	t.Run("OpenWritesNothing", func(t *testing.T) {
		before := c.letters.Status().Breaker
		if after := write().Breaker; after.FailureCount != before.FailureCount {
			t.Errorf("%+v, before %+v", after, before)
		}
	})
	t.Run("OpenLosesNothing_Differs", func(t *testing.T) {
		err := c.letters.Write(t.Context(), redisqueue.JobFailure{Job: []byte("2"), Error: "e", Queue: detection})
		if s := c.letters.Status(); err != nil || s.SpoolLetters != 2 {
			t.Errorf("%+v, %v", s, err)
		}
	})
	t.Run("HalfOpenAfterSixtySeconds", func(t *testing.T) {
		c.clock.advance(time.Minute - 1)
		state(t, redisqueue.BreakerOpen)
		c.clock.advance(1)
		state(t, redisqueue.BreakerHalfOpen)
	})
	t.Run("OpenAgainAfterAFailure", func(t *testing.T) {
		write()
		state(t, redisqueue.BreakerOpen)
	})
	t.Run("ClosedAfterTwoSuccesses", func(t *testing.T) {
		c.do("DEL", redisqueue.DLQName(detection))
		c.clock.advance(time.Minute)
		if n, err := c.letters.Drain(t.Context()); n != 2 || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
		state(t, redisqueue.BreakerHalfOpen)
		write()
		state(t, redisqueue.BreakerClosed)
	})
	t.Run("WhatWaitedArrivesInOrder_Differs", func(t *testing.T) {
		var got []string
		for _, e := range c.entries(c.newDLQ(detection)) {
			got = append(got, string(e.Job))
		}
		if !slices.Equal(got, []string{"1", "2", "1"}) {
			t.Errorf("%q", got)
		}
	})
	t.Run("HalfOpenLetsThreeCallsThrough", func(t *testing.T) {
		b, err := redisqueue.NewBreaker("b", redisqueue.BreakerConfig{}, c.clock)
		if err != nil {
			t.Fatal(err)
		}
		b.ForceOpen()
		b.Reset()
		for range 5 {
			call(b, false)
		}
		c.clock.advance(time.Minute)
		for n := range 4 {
			if _, ok := b.Allow(); ok != (n < 3) {
				t.Errorf("call %d: %t", n, ok)
			}
		}
	})
	t.Run("AFullListCountsAsFailure", func(t *testing.T) {
		d := c.deadLetters(redisqueue.DeadLetterOptions{MaxLength: 1, Clock: c.clock,
			Breaker: redisqueue.BreakerConfig{FailureThreshold: 1}})
		err := d.Write(t.Context(), redisqueue.JobFailure{Job: []byte("1"), Error: "e", Queue: detection})
		if s := d.Status(); err != nil || s.Breaker.State != redisqueue.BreakerOpen || s.SpoolLetters != 1 {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

func contractBreakerManagement(t *testing.T, c *contract) {
	b := c.letters.Breaker()
	var status map[string]any
	text, err := json.Marshal(b.Status())
	if err == nil {
		err = json.Unmarshal(text, &status)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"name": "dlq_overflow", "state": "closed", "failure_count": 0.0,
		"success_count": 0.0, "total_calls": 0.0, "rejected_calls": 0.0, "last_failure_time": nil, "opened_at": nil} {
		t.Run("Status_"+name, func(t *testing.T) {
			if got, ok := status[name]; !ok || got != want {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
	config, _ := status["config"].(map[string]any)
	for name, want := range map[string]float64{"failure_threshold": 5, "recovery_timeout": 60, "half_open_max_calls": 3,
		"success_threshold": 2} {
		t.Run("Default_"+name, func(t *testing.T) {
			if got := config[name]; got != want {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
	for name, bad := range map[string][]redisqueue.BreakerConfig{
		"failure_threshold":   {{FailureThreshold: -1}, {FailureThreshold: 51}},
		"recovery_timeout":    {{RecoveryTimeout: -1}, {RecoveryTimeout: 10*time.Minute + 1}},
		"half_open_max_calls": {{HalfOpenMaxCalls: -1}, {HalfOpenMaxCalls: 11}},
		"success_threshold":   {{SuccessThreshold: -1}, {SuccessThreshold: 11}},
	} {
		t.Run("Bounds_"+name, func(t *testing.T) {
			for _, of := range bad {
				if _, err := redisqueue.NewBreaker("b", of, nil); err == nil {
					t.Errorf("%+v is accepted", of)
				}
			}
		})
	}
	t.Run("ForceOpen", func(t *testing.T) {
		b.ForceOpen()
		c.clock.advance(time.Hour)
		if b.Status().State != redisqueue.BreakerOpen || call(b, true) || b.Status().RejectedCalls != 1 {
			t.Errorf("%+v", b.Status())
		}
	})
	t.Run("Reset", func(t *testing.T) {
		b.Reset()
		if b.Status().State != redisqueue.BreakerClosed || !call(b, true) {
			t.Errorf("%+v", b.Status())
		}
	})
	t.Run("Registry", func(t *testing.T) {
		var r redisqueue.BreakerRegistry
		one, err := r.GetOrCreate("one", redisqueue.BreakerConfig{}, c.clock)
		same, err2 := r.GetOrCreate("one", redisqueue.BreakerConfig{}, c.clock)
		_, err3 := r.GetOrCreate("two", redisqueue.BreakerConfig{}, c.clock)
		if errors.Join(err, err2, err3) != nil || one != same || r.Get("one") != one || r.Get("none") != nil {
			t.Error(err, err2, err3)
		}
		one.ForceOpen()
		all := r.Status()
		if !slices.Equal(r.Names(), []string{"one", "two"}) || len(all) != 2 || all[0].State != redisqueue.BreakerOpen {
			t.Errorf("%q, %+v", r.Names(), all)
		}
		r.Reset()
		if one.Status().State != redisqueue.BreakerClosed {
			t.Error("it is open after a reset of all")
		}
	})
}
