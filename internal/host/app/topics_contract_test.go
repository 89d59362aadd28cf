package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/testkit/await"
)

// TestTopicsContract covers the uses of a dead-letter processor by operators of an event platform, on a real Kafka:
// reports, environment, policies, routes, headers, statuses, metrics and hooks.
func TestTopicsContract(t *testing.T) {
	t.Parallel()
	s := newTopicStory(t)
	for _, part := range []func(*testing.T, *topicStory){contractReport, contractEnvironment, contractPolicies,
		contractRetries, contractRoutes, contractHooks, contractMetrics, contractProcessorDown} {
		part(t, s)
	}
}

func contractReport(t *testing.T, s *topicStory) {
	t.Run("Report/FailureContext", func(t *testing.T) {
		began := time.Now().Add(-time.Second)
		s.fail(t, s.event("orders", "reported"))
		m := s.message(t, "reported", "scheduled", 0)
		m.has(t, object{"event_id": "reported", "event_type": "order.created", "original_topic": s.prefix + "orders",
			"error": "out of memory", "attempt_count": 4.0, "producer_id": "orders-consumer-1", "source": "platform"})
		for _, name := range []string{"failed_at", "last_failed_at", "created_at", "last_updated"} {
			text, _ := m[name].(string)
			if at, err := time.Parse(time.RFC3339Nano, text); err != nil || at.Before(began) || at.After(time.Now()) {
				t.Errorf("%s is %q", name, text)
			}
		}
		sameText(t, "age", m["age_seconds"].(float64) < 60, true)
	})
	t.Run("Report/NoJSON", func(t *testing.T) {
		e := s.event("orders", "binary")
		e.Value, e.Headers = []byte{0xff, 0x00}, append(e.Headers, kgo.RecordHeader{Key: "event_id", Value: []byte("binary")})
		s.fail(t, e)
		m := s.message(t, "binary", "scheduled", 0)
		m.has(t, object{"original_topic": s.prefix + "orders", "error": "out of memory"})
		sameText(t, "event", m["event"], map[string]any{"base64": "/wA="})
	})
}

func contractEnvironment(t *testing.T, s *topicStory) {
	t.Run("Environment/RetryDelayHours", func(t *testing.T) {
		m := s.message(t, "reported", "scheduled", 0)
		about(t, "the first retry", seconds(t, m, "last_updated", "next_retry_at"), 1800)
	})
	t.Run("Environment/MaxRetryAttempts", func(t *testing.T) {
		s.fail(t, s.event("orders", "hopeless"))
		for n := range 2 {
			s.message(t, "hopeless", "scheduled", n)
			s.must(t, "POST", "/api/v1/dlq/retry", `{"event_ids":["hopeless"]}`)
			s.fail(t, s.arrived(t, "orders", "hopeless", n+1))
		}
		m := s.message(t, "hopeless", "discarded", 2)
		if reason := fmt.Sprint(m["discard_reason"]); !strings.HasPrefix(reason, "policy: ") {
			t.Error(reason)
		}
	})
	t.Run("Environment/MaxAgeDays", func(t *testing.T) {
		for id, age := range map[string]time.Duration{"old": 73 * time.Hour, "young": 71 * time.Hour} {
			s.sendTo(t, s.open(func() time.Time { return time.Now().Add(-age) }), s.event("orders", id))
		}
		m := s.message(t, "old", "discarded", 0)
		if reason := fmt.Sprint(m["discard_reason"]); !strings.HasPrefix(reason, "policy: ") {
			t.Error(reason)
		}
		s.message(t, "young", "scheduled", 0)
	})
}

func contractPolicies(t *testing.T, s *topicStory) {
	for name, c := range map[string]struct {
		settings, status string
		delay            float64
	}{
		"exponential": {`"strategy":"exponential_backoff","base_delay_seconds":600,"max_delay_seconds":7200,
			"retry_multiplier":3,"max_retries":3`, "scheduled", 600},
		"capped": {`"strategy":"exponential_backoff","base_delay_seconds":300,"max_delay_seconds":300`, "scheduled", 300},
		"fixed":  {`"strategy":"fixed_interval","base_delay_seconds":900,"max_retries":10`, "scheduled", 900},
		"timed":  {`"strategy":"scheduled","base_delay_seconds":3600`, "scheduled", 3600},
		"manual": {`"strategy":"manual"`, "pending", 0},
		"tests":  {`"strategy":"manual","discard_test_events":true`, "pending", 0},
	} {
		t.Run("RetryPolicy/"+name, func(t *testing.T) {
			s.policy(t, name, c.settings)
			s.fail(t, s.event(name, "by-"+name))
			m := s.message(t, "by-"+name, c.status, 0)
			if c.status == "scheduled" {
				about(t, "the retry", seconds(t, m, "last_updated", "next_retry_at"), c.delay)
			}
		})
	}
	t.Run("RetryPolicy/TestEvents", func(t *testing.T) {
		s.fail(t, s.event("tests", "test-1"))
		if m := s.message(t, "test-1", "discarded", 0); !strings.Contains(fmt.Sprint(m["discard_reason"]), "test") {
			t.Error(m["discard_reason"])
		}
	})
	t.Run("RetryPolicy/Unknown", func(t *testing.T) {
		if status, answer := s.ask(t, "POST", "/api/v1/dlq/retry-policy", `{"topic":"t","strategy":"hope"}`); status != 400 {
			t.Errorf("%d %v", status, answer)
		}
	})
}

func contractRetries(t *testing.T, s *topicStory) {
	t.Run("Retries/Immediate", func(t *testing.T) {
		s.policy(t, "immediate", `"strategy":"immediate","max_retries":2`)
		first := s.event("immediate", "cycle")
		s.fail(t, first)
		for n := 1; n <= 2; n++ {
			r := s.arrived(t, "immediate", "cycle", n)
			if string(r.Value) != string(first.Value) || !r.Timestamp.Equal(first.Timestamp) {
				t.Errorf("the event has become %s of %s", r.Value, r.Timestamp)
			}
			s.headers(t, r, n)
			s.message(t, "cycle", "retried", n)
			s.fail(t, r)
		}
		s.message(t, "cycle", "discarded", 2)
	})
	t.Run("Retries/CopyForWatchers", func(t *testing.T) {
		s.policy(t, "copied", `"strategy":"immediate","copy_retries":true`)
		s.fail(t, s.event("copied", "copied"))
		s.headers(t, s.arrived(t, "copied", "copied", 1), 1)
		s.headers(t, s.arrived(t, "copied-retry", "copied", 1), 1)
	})
	t.Run("Retries/NoTopicForCopies", func(t *testing.T) {
		s.policy(t, "immediate", `"strategy":"immediate","max_retries":2,"copy_retries":true`)
		s.fail(t, s.event("immediate", "uncopied"))
		s.arrived(t, "immediate", "uncopied", 1)
		s.message(t, "uncopied", "retried", 1)
	})
}

func (s *topicStory) headers(t *testing.T, r *kgo.Record, retry int) {
	t.Helper()
	values := map[string][]string{}
	for _, h := range r.Headers {
		values[h.Key] = append(values[h.Key], string(h.Value))
	}
	sameText(t, "dlq_retry_count", values["dlq_retry_count"], []int{retry})
	sameText(t, "dlq_original_error", values["dlq_original_error"], "[out of memory]")
	sameText(t, "trace", values["trace"], "["+strings.Replace(string(r.Key), "key-", "t-", 1)+"]")
	if at := values["dlq_retry_timestamp"]; len(at) != 1 {
		t.Errorf("dlq_retry_timestamp: %v", at)
	} else if _, err := time.Parse(time.RFC3339Nano, at[0]); err != nil {
		t.Error(err)
	}
}

func contractRoutes(t *testing.T, s *topicStory) {
	t.Run("Routes/Stats", func(t *testing.T) {
		o := s.must(t, "GET", "/api/v1/dlq/stats", "")
		hasNames(t, o, "by_status", "by_topic", "by_event_type", "age_stats", "timestamp")
		status, _ := o["by_status"].(map[string]any)
		sum := 0.0
		for _, name := range []string{"pending", "scheduled", "retried", "discarded"} {
			n, ok := status[name].(float64)
			if sum += n; !ok || n == 0 {
				t.Errorf("%s is %v", name, status[name])
			}
		}
		total := 0.0
		topics, _ := o["by_topic"].([]any)
		for _, topic := range topics {
			of, _ := topic.(map[string]any)
			hasNames(t, of, "topic", "count", "avg_retry_count")
			n, _ := of["count"].(float64)
			total += n
		}
		sameText(t, "messages of all topics", total, sum)
		sameText(t, "types", o["by_event_type"], fmt.Sprintf("[map[count:%v event_type:order.created]]", sum-1))
		ages, _ := o["age_stats"].(map[string]any)
		hasNames(t, ages, "min", "max", "avg")
		if oldest, _ := ages["max"].(float64); oldest < 71*3600 || oldest > 72*3600 {
			t.Errorf("the oldest has %v s", oldest)
		}
	})
	t.Run("Routes/Topics", func(t *testing.T) {
		_, answer := s.ask(t, "GET", "/api/v1/dlq/topics", "")
		list, _ := answer.([]any)
		i := slices.IndexFunc(list, func(v any) bool { return v.(map[string]any)["topic"] == s.prefix+"immediate" })
		if i < 0 {
			t.Fatalf("%v", answer)
		}
		object(list[i].(map[string]any)).has(t, object{"total_messages": 2.0, "avg_retry_count": 1.5, "max_retry_count": 2.0})
		hasNames(t, list[i].(map[string]any), "status_breakdown", "oldest_message", "newest_message")
	})
	t.Run("Routes/Messages", func(t *testing.T) {
		page := s.must(t, "GET", "/api/v1/dlq/messages?status=discarded&event_type=order.created&limit=1&topic="+
			s.prefix+"immediate", "")
		page.has(t, object{"total": 1.0, "limit": 1.0, "offset": 0.0})
		list, _ := page["messages"].([]any)
		if len(list) == 0 {
			t.Fatalf("none is found: %v", page)
		}
		sameText(t, "found", list[0].(map[string]any)["event_id"], "cycle")
	})
	t.Run("Routes/Retry", func(t *testing.T) {
		o := s.must(t, "POST", "/api/v1/dlq/retry", `{"event_ids":["reported","unknown"]}`)
		o.has(t, object{"total": 2.0, "successful": 1.0, "failed": 1.0})
		details, _ := o["details"].([]any)
		sameText(t, "details", len(details), 2)
		s.headers(t, s.arrived(t, "orders", "reported", 1), 1)
		s.message(t, "reported", "retried", 1)
	})
	t.Run("Routes/Discard", func(t *testing.T) {
		s.must(t, "DELETE", "/api/v1/dlq/messages/by-manual?reason=nobody+wants+it", "")
		m := s.message(t, "by-manual", "discarded", 0)
		sameText(t, "reason", m["discard_reason"], "manual: nobody wants it")
		if status, answer := s.ask(t, "DELETE", "/api/v1/dlq/messages/by-tests", ""); status != 400 {
			t.Errorf("without a reason: %d %v", status, answer)
		}
	})
	t.Run("Routes/UnknownMessage", func(t *testing.T) {
		if status, answer := s.ask(t, "GET", "/api/v1/dlq/messages/unknown", ""); status != 404 {
			t.Errorf("%d %v", status, answer)
		}
	})
}

func contractHooks(t *testing.T, s *topicStory) {
	for name, c := range map[string]struct {
		kind                 deadletters.WebhookType
		topic, id, how, hint string
	}{
		"BeforeRetry":     {deadletters.WebhookLetterRetrying, "immediate", "cycle", "", ""},
		"AfterRetry":      {deadletters.WebhookLetterRetried, "immediate", "cycle", "sent", ""},
		"AfterMaxRetries": {deadletters.WebhookLetterDiscarded, "immediate", "cycle", "max_retries", ""},
		"AfterMaxAge":     {deadletters.WebhookLetterDiscarded, "orders", "old", "max_age", ""},
		"TestEvent":       {deadletters.WebhookLetterDiscarded, "tests", "test-1", "test_event", ""},
		"ByAnOperator":    {deadletters.WebhookLetterDiscarded, "manual", "by-manual", "manual", "nobody wants it"},
	} {
		t.Run("Hooks/"+name, func(t *testing.T) {
			await.Until(t, "the hook is called", func() bool {
				s.seen.mu.Lock()
				defer s.seen.mu.Unlock()
				return slices.ContainsFunc(s.seen.hooks, func(e deadletters.WebhookEvent) bool {
					l := e.Data.Letters
					return e.Type == c.kind && l != nil && l.Source == "platform" && l.Origin == s.prefix+c.topic &&
						l.Result+l.Kind == c.how && strings.Contains(l.Reason, c.hint) && l.Count > 0 &&
						slices.ContainsFunc(l.First, func(m tasker.EventLetter) bool { return m.MessageID == c.id })
				})
			})
		})
	}
}

func contractMetrics(t *testing.T, s *topicStory) {
	of := fmt.Sprintf(`namespace="default",origin="%simmediate"`, s.prefix)
	for name, series := range map[string]string{
		"Received": fmt.Sprintf(`tasker_dead_letters_received_total{event_type="order.created",%s,outcome="captured",`+
			`source="platform"} 2`, of),
		"Returned": fmt.Sprintf(`tasker_dead_letters_received_total{event_type="order.created",%s,outcome="returned",`+
			`source="platform"} 2`, of),
		"Retried":   fmt.Sprintf(`tasker_dead_letters_sent_total{%s,result="sent",source="platform"} 3`, of),
		"Discarded": fmt.Sprintf(`tasker_dead_letters_discarded_total{%s,reason="max_retries",source="platform"} 1`, of),
		"Age":       fmt.Sprintf(`tasker_dead_letters_age_seconds_count{%s,source="platform"} 4`, of),
		"Size":      fmt.Sprintf(`tasker_dead_letters_undecided{namespace="default",origin="%smanual"} 0`, s.prefix),
		"Duration":  `tasker_dead_letters_processing_seconds_count{operation="capture"} `,
		"Lag":       `tasker_dead_letters_waiting{namespace="default",source="platform"} 0`,
		"Up":        `tasker_dead_letter_source_up{namespace="default",source="platform"} 1`,
	} {
		t.Run("Metrics/"+name, func(t *testing.T) {
			var text string
			t.Cleanup(func() {
				if t.Failed() {
					t.Log(deadLetterSeries(text))
				}
			})
			await.Until(t, series, func() bool { // some are counted every few seconds
				_, answer := s.ask(t, "GET", "/metrics", "")
				text, _ = answer.(string)
				return strings.Contains(text, "\n"+series)
			})
		})
	}
}

func deadLetterSeries(metrics string) string {
	var out []string
	for line := range strings.Lines(metrics) {
		if strings.HasPrefix(line, "tasker_dead_letter") && !strings.Contains(line, "_bucket") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}

// contractProcessorDown comes last: messages that die meanwhile wait in Kafka, and the next process continues in
// batches of the configured size. The whole topic can be read again.
func contractProcessorDown(t *testing.T, s *topicStory) {
	before := s.count(t)
	s.end()
	const n = 20
	for i := range n {
		s.fail(t, s.event("manual", fmt.Sprint("meanwhile-", i)))
	}
	s.start()
	t.Run("ProcessorDown/GoesOn", func(t *testing.T) {
		await.Until(t, "all are captured", func() bool { return s.count(t) >= before+n })
		sameText(t, "messages", s.count(t), before+n)
	})
	t.Run("Environment/BatchSize", func(t *testing.T) {
		batches := 0
		await.Until(t, "the batches are counted", func() bool {
			_, answer := s.ask(t, "GET", "/metrics", "")
			text, _ := answer.(string)
			for line := range strings.Lines(text) {
				_, _ = fmt.Sscanf(line, `tasker_dead_letters_processing_seconds_count{operation="capture"} %d`, &batches)
			}
			return batches >= n/4
		})
	})
	t.Run("ProcessorDown/ReplayFromTheBeginning", func(t *testing.T) {
		o := s.must(t, "POST", "/v1/replays/preview", fmt.Sprintf(`{"source":"platform","topic":%q,"into":"inbox"}`,
			s.prefix+"dead"))
		o.has(t, object{"messages": float64(s.sent)})
		samples, _ := o["samples"].([]any)
		for _, sample := range samples {
			object(sample.(map[string]any)).has(t, object{"known": true})
		}
		if len(samples) == 0 {
			t.Errorf("%v", o)
		}
	})
}

func (s *topicStory) count(t *testing.T) int {
	t.Helper()
	total, _ := s.must(t, "GET", "/api/v1/dlq/messages?limit=1", "")["total"].(float64)
	return int(total)
}
