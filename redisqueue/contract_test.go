package redisqueue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/testkit/redistest"
	"github.com/taskerhq/tasker/redisqueue"
)

const detection, analysis, overflow = "detection_queue", "analysis_queue", "dlq:overflow:detection_queue"

// contract is an application on its own server.
type contract struct {
	server
	own     *redistest.Server
	clock   *handClock
	letters *redisqueue.DeadLetters
}

// TestContract goes through what an application of such queues relies on: names, formats, defaults, limits and states,
// each in a subtest of its name. A name with Differs marks a deliberate difference; docs/reference/dlq-api.md and
// docs/guides/redis-queues.md explain it.
func TestContract(t *testing.T) {
	t.Parallel()
	own := redistest.Start(t)
	for name, subject := range map[string]func(*testing.T, *contract){"Names": contractNames,
		"JobFailure": contractJobFailure, "Enrichment": contractEnrichment, "Retry": contractRetry,
		"Breaker": contractBreaker, "BreakerManagement": contractBreakerManagement, "Overflow": contractOverflow,
		"Management": contractManagement} {
		t.Run(name, func(t *testing.T) {
			s := connect(t, own.URL(), detection)
			s.do("FLUSHALL")
			c := &contract{server: s, own: own, clock: newClock()}
			c.letters = s.deadLetters(redisqueue.DeadLetterOptions{Clock: c.clock})
			subject(t, c)
		})
	}
}

// fail fails a job for good at its first attempt, and returns the members of its letter.
func (c *contract) fail(queue string, err error, o redisqueue.HandlerOptions) map[string]json.RawMessage {
	c.Helper()
	o.Letters, o.Clock = c.letters, newSkip()
	o.Random = func() float64 { return 0 }
	r := c.handler(o).Do(context.Background(), queue, []byte(`{"camera_id":"front_door"}`),
		func(context.Context) (any, error) { return nil, err })
	if !r.MovedToDLQ {
		c.Fatalf("%+v", r)
	}
	all := c.list(redisqueue.DLQName(queue))
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(all[len(all)-1]), &members); err != nil {
		c.Fatal(err)
	}
	return members
}

func contractNames(t *testing.T, _ *contract) {
	for name, of := range map[string]struct{ got, want string }{
		"PrefixOfDeadLetters":            {redisqueue.DLQPrefix, "dlq:"},
		"PrefixOfOverflow":               {redisqueue.DLQOverflowPrefix, "dlq:overflow:"},
		"DetectionQueue":                 {redisqueue.DLQName(detection), "dlq:detection_queue"},
		"AnalysisQueue":                  {redisqueue.DLQName(analysis), "dlq:analysis_queue"},
		"PrefixIsAddedOnce":              {redisqueue.DLQName("dlq:detection_queue"), "dlq:detection_queue"},
		"OverflowOfQueue":                {redisqueue.DLQOverflowName(detection), overflow},
		"OverflowOfDeadLetters":          {redisqueue.DLQOverflowName("dlq:detection_queue"), overflow},
		"OverflowOfOverflow":             {redisqueue.DLQOverflowName("dlq:overflow:detection_queue"), overflow},
		"OverflowPrefixWithoutDLQPrefix": {redisqueue.DLQOverflowName("overflow:detection_queue"), overflow},
		"BreakerOfDeadLetters":           {redisqueue.DefaultBreakerName, "dlq_overflow"},
	} {
		t.Run(name, func(t *testing.T) {
			if of.got != of.want {
				t.Errorf("%q, want %q", of.got, of.want)
			}
		})
	}
}

// failureMembers are the members of a JobFailure in order.
var failureMembers = []string{"original_job", "error", "attempt_count", "first_failed_at", "last_failed_at",
	"queue_name", "error_type", "stack_trace", "http_status", "response_body", "retry_delays", "context"}

// remote is a failed call of a service, with its stack.
type remote struct {
	answer redisqueue.HTTPError
	stack  string
}

func (*remote) Error() string   { return "the service is down" }
func (r *remote) Stack() string { return r.stack }
func (r *remote) Unwrap() error { return &r.answer }

func contractJobFailure(t *testing.T, c *contract) {
	full := c.fail(detection, fmt.Errorf("detect: %w", &remote{redisqueue.HTTPError{Status: 503, Body: "over"},
		"File a.py"}), redisqueue.HandlerOptions{})
	text := c.dlq()[0]
	t.Run("MembersInTheirOrder", func(t *testing.T) {
		last := -1
		for _, name := range failureMembers {
			at := strings.Index(text, `"`+name+`":`)
			if at <= last {
				t.Errorf("%s is at %d, behind %d: %s", name, at, last, text)
			}
			last = at
		}
		if len(full) != len(failureMembers) {
			t.Errorf("%d members: %s", len(full), text)
		}
	})
	for name, want := range map[string]string{"original_job": `{"camera_id":"front_door"}`,
		"error":         `"detect: the service is down"`,
		"attempt_count": "3", "first_failed_at": `"2026-03-01T12:00:00.000000"`,
		"last_failed_at": `"2026-03-01T12:00:03.000000"`, "queue_name": `"detection_queue"`,
		"error_type": `"*redisqueue_test.remote"`, "stack_trace": `"File a.py"`, "http_status": "503",
		"response_body": `"over"`, "retry_delays": "[1.0,2.0]", "context": `{"dlq_circuit_breaker_state":"closed"}`} {
		t.Run("Member_"+name, func(t *testing.T) {
			if got := string(full[name]); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
	plain := c.fail(detection, errors.New("no"), redisqueue.HandlerOptions{})
	for _, name := range []string{"stack_trace", "http_status", "response_body"} {
		t.Run("NullWithout_"+name, func(t *testing.T) {
			if got := string(plain[name]); got != "null" {
				t.Errorf("%s", got)
			}
		})
	}
	t.Run("EntriesWithoutEnrichmentAreRead", func(t *testing.T) {
		f, err := redisqueue.ParseJobFailure([]byte(`{"original_job":{"a":1},"error":"e","attempt_count":3,` +
			`"first_failed_at":"2024-01-15T10:30:01","last_failed_at":"2024-01-15T10:30:15","queue_name":"q"}`))
		if err != nil || f.Attempts != 3 || f.LastFailedAt.Second() != 15 || f.RetryDelays != nil || f.Context != nil {
			t.Errorf("%+v, %v", f, err)
		}
	})
	t.Run("DelaysLieBetweenAttempts_Differs", func(t *testing.T) {
		// The published example has as many delays as attempts, although nothing waits after the last one.
		var delays []float64
		if err := json.Unmarshal(full["retry_delays"], &delays); err != nil || len(delays) != 2 {
			t.Errorf("%v, %v", delays, err)
		}
	})
}

func contractEnrichment(t *testing.T, c *contract) {
	long := strings.Repeat("x", 10_000)
	f := c.fail(detection, &remote{redisqueue.HTTPError{Status: 500, Body: long}, long},
		redisqueue.HandlerOptions{ContextQueues: []string{detection, analysis}})
	for name, limit := range map[string]int{"stack_trace": 4096, "response_body": 2048} {
		t.Run("Limit_"+name, func(t *testing.T) {
			var text string
			err := json.Unmarshal(f[name], &text)
			if err != nil || len(text) != limit || !strings.HasSuffix(text, "[truncated]") {
				t.Errorf("%d bytes, %v", len(text), err)
			}
		})
	}
	t.Run("ContextHasDepthsAndBreaker", func(t *testing.T) {
		c.push("1", "2")
		// A second later: depths are read once a second.
		f := c.fail(analysis, errDown, redisqueue.HandlerOptions{ContextQueues: []string{detection, analysis}})
		var got map[string]any
		want := map[string]any{"detection_queue_depth": 2.0, "analysis_queue_depth": 0.0,
			"dlq_circuit_breaker_state": "closed"}
		if err := json.Unmarshal(f["context"], &got); err != nil || !maps.Equal(got, want) {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	})
	t.Run("ContextNeverBlocksALetter", func(t *testing.T) {
		c.do("SET", "no_list", "x")
		f := c.fail(analysis, errDown, redisqueue.HandlerOptions{ContextQueues: []string{"no_list"}})
		if got := string(f["context"]); got != `{"dlq_circuit_breaker_state":"closed"}` {
			t.Errorf("%s", got)
		}
	})
}

func contractRetry(t *testing.T, c *contract) {
	clock := newSkip()
	h := c.handler(redisqueue.HandlerOptions{Letters: c.letters, Clock: clock, Random: func() float64 { return 0 }})
	do := func(fn func(context.Context) (any, error)) redisqueue.Result {
		return h.Do(context.Background(), detection, []byte("1"), fn)
	}
	t.Run("ThreeAttemptsAfterOneAndTwoSeconds", func(t *testing.T) {
		r := do(fails)
		if want := []time.Duration{time.Second, 2 * time.Second}; r.Attempts != 3 || !slices.Equal(clock.slept, want) {
			t.Errorf("%+v, delays %v", r, clock.slept)
		}
	})
	t.Run("DelaysDoubleUpToThirtySeconds", func(t *testing.T) {
		for n, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
			if got := (redisqueue.RetryPolicy{}).Delay(n+1, 0); got != want*time.Second {
				t.Errorf("after attempt %d: %v", n+1, got)
			}
		}
	})
	t.Run("JitterAddsUpToAQuarter", func(t *testing.T) {
		var p redisqueue.RetryPolicy
		if got := p.Delay(1, 0.999999); got <= 1249*time.Millisecond || got > 1250*time.Millisecond {
			t.Errorf("%v", got)
		}
		p.NoJitter = true
		if got := p.Delay(1, 0.999999); got != time.Second {
			t.Errorf("without jitter %v", got)
		}
	})
	for name, tc := range map[string]struct {
		fn   func(context.Context) (any, error)
		want string
	}{
		"ResultOfASuccess": {func(context.Context) (any, error) { return map[string]int{"n": 7}, nil },
			`{"success":true,"result":{"n":7},"error":null,"attempts":1,"moved_to_dlq":false}`},
		"ResultOfAFailure": {fails,
			`{"success":false,"result":null,"error":"detector: connection refused","attempts":3,"moved_to_dlq":true}`},
		"PermanentFailuresAreNotRepeated_Differs": {
			func(context.Context) (any, error) { return nil, redisqueue.Permanent(errDown) },
			`{"success":false,"result":null,"error":"detector: connection refused","attempts":1,"moved_to_dlq":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := json.Marshal(do(tc.fn))
			if err != nil || string(out) != tc.want {
				t.Errorf("%s, %v; want %s", out, err, tc.want)
			}
		})
	}
}
