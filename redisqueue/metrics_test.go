package redisqueue_test

import (
	"context"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/testkit/redistest"
	"github.com/taskerhq/tasker/redisqueue"
)

// scrape reads the metrics like Prometheus, and returns the values by series.
func scrape(t *testing.T, m *redisqueue.Metrics) map[string]string {
	t.Helper()
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	out, done := map[string]string{}, map[string]bool{}
	last := ""
	for line := range strings.Lines(w.Body.String()) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		series := line[:i]
		name, _, _ := strings.Cut(series, "{")
		if _, twice := out[series]; twice || name != last && done[name] {
			t.Errorf("%s comes twice, or apart from its name:\n%s", series, w.Body)
		}
		out[series], last, done[name] = line[i+1:], name, true
	}
	return out
}

func wantMetrics(t *testing.T, got, want map[string]string) {
	t.Helper()
	for series, v := range want {
		if got[series] != v {
			t.Errorf("%s is %q, want %q", series, got[series], v)
		}
	}
}

// Overflow, breaker, spool and depths have the names of other programs' dashboards, beside our own; a silent server has
// no depths.
func TestMetrics(t *testing.T) {
	t.Parallel()
	own := redistest.Start(t)
	s := connect(t, own.URL(), "jobs")
	push := func(policy redisqueue.OverflowPolicy, name string, n int) *redisqueue.Queue {
		q, err := redisqueue.NewQueue(redisqueue.QueueOptions{Client: s.client, Name: name, MaxSize: 2, Policy: policy})
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			_, _ = q.Push(t.Context(), jobs("1")...) // the last ones do not fit
		}
		return q
	}
	letters := s.deadLetters(redisqueue.DeadLetterOptions{BreakerName: `dlq"x`, Breaker: redisqueue.BreakerConfig{
		FailureThreshold: 1}, Clock: newClock()})
	m := &redisqueue.Metrics{Timeout: 200 * time.Millisecond, Letters: []*redisqueue.DeadLetters{letters},
		Queues: []*redisqueue.Queue{
			push(redisqueue.OverflowDLQ, "a", 5), push(redisqueue.OverflowDropOldest, "b", 4),
			push(redisqueue.OverflowReject, "c", 3)}}
	write := func() {
		t.Helper()
		err := letters.Write(t.Context(), redisqueue.JobFailure{Job: []byte("1"), Error: "e", Queue: "a"})
		if err != nil {
			t.Fatal(err)
		}
	}
	write()
	got := scrape(t, m)
	wantMetrics(t, got, map[string]string{
		`hsi_queue_overflow_total{queue_name="a",policy="dlq"}`:         "3",
		`hsi_queue_overflow_total{queue_name="b",policy="drop_oldest"}`: "2",
		`hsi_queue_overflow_total{queue_name="c",policy="reject"}`:      "1",
		`hsi_queue_items_moved_to_dlq_total{queue_name="a"}`:            "3",
		`hsi_queue_items_dropped_total{queue_name="b"}`:                 "2",
		`hsi_queue_items_rejected_total{queue_name="c"}`:                "1",
		`hsi_dlq_depth{queue="a",queue_name="dlq:a"}`:                   "1",
		`hsi_dlq_depth{queue="overflow:a",queue_name="dlq:overflow:a"}`: "3",
		`hsi_circuit_breaker_state{service="dlq\"x"}`:                   "0",
		`hsi_circuit_breaker_trips_total{service="dlq\"x"}`:             "0",
		`redisqueue_queue_depth{queue="a"}`:                             "2", `redisqueue_queue_limit{queue="a"}`: "2",
		`redisqueue_up{queue="a"}`: "1", `redisqueue_letters_written_total{service="dlq\"x"}`: "1",
	})
	own.Stop()
	write()
	got = scrape(t, m)
	wantMetrics(t, got, map[string]string{
		`hsi_circuit_breaker_state{service="dlq\"x"}`: "1", `hsi_circuit_breaker_trips_total{service="dlq\"x"}`: "1",
		`redisqueue_up{queue="a"}`: "0", `redisqueue_queue_depth{queue="a"}`: "",
		`hsi_dlq_depth{queue="a",queue_name="dlq:a"}`:        "",
		`redisqueue_spool_letters{service="dlq\"x"}`:         "1",
		`redisqueue_letters_spooled_total{service="dlq\"x"}`: "1",
	})
}

// Two consumers of one queue are one series, and a shared breaker appears once.
func TestMetricsOfConsumers(t *testing.T) {
	t.Parallel()
	s := shared(t)
	var registry redisqueue.BreakerRegistry
	open := func() *redisqueue.DeadLetters {
		return s.deadLetters(redisqueue.DeadLetterOptions{Registry: &registry})
	}
	m := &redisqueue.Metrics{Letters: []*redisqueue.DeadLetters{open(), open()}}
	for _, d := range m.Letters {
		c, err := redisqueue.NewConsumer(redisqueue.ConsumerOptions{Client: s.client, Queue: s.queue,
			HandlerOptions: redisqueue.HandlerOptions{Letters: d},
			Handler:        func(context.Context, redisqueue.Job) (any, error) { return nil, nil }})
		if err != nil {
			t.Fatal(err)
		}
		m.Consumers = append(m.Consumers, c)
	}
	m.Letters[0].Breaker().ForceOpen()
	wantMetrics(t, scrape(t, m), map[string]string{
		`redisqueue_jobs_total{queue="` + s.queue + `",outcome="succeeded"}`: "0",
		`redisqueue_jobs_held{queue="` + s.queue + `"}`:                      "0",
		`redisqueue_queue_depth{queue="` + s.queue + `"}`:                    "0",
		`hsi_circuit_breaker_state{service="dlq_overflow"}`:                  "1",
		`hsi_circuit_breaker_trips_total{service="dlq_overflow"}`:            "1",
	})
}

// The document lists each metric, and the alert rules for applications use no others.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	s := shared(t)
	c, err := redisqueue.NewConsumer(redisqueue.ConsumerOptions{Client: s.client, Queue: s.queue,
		HandlerOptions: redisqueue.HandlerOptions{Letters: s.deadLetters(redisqueue.DeadLetterOptions{})},
		Handler:        func(context.Context, redisqueue.Job) (any, error) { return nil, nil }})
	if err != nil {
		t.Fatal(err)
	}
	m := redisqueue.Metrics{Queues: []*redisqueue.Queue{s.newQueue(redisqueue.QueueOptions{})},
		Consumers: []*redisqueue.Consumer{c},
		Letters:   []*redisqueue.DeadLetters{s.deadLetters(redisqueue.DeadLetterOptions{})}}
	var names []string
	for _, v := range m.Collect(t.Context()) {
		if v.Help == "" || v.Counter != strings.HasSuffix(v.Name, "_total") {
			t.Errorf("%+v", v)
		}
		names = append(names, v.Name)
	}
	name := regexp.MustCompile(`\b(?:hsi|redisqueue)_\w+\b[^.]`)
	for path, all := range map[string]bool{"../docs/guides/redis-queues.md": true,
		"../deploy/prometheus/redisqueue.yml": false} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		used := name.FindAllString(string(text), -1)
		for i, n := range used {
			n = n[:len(n)-1] // and the rest
			used[i] = n
			if !slices.Contains(names, n) {
				t.Errorf("%s has %s, which there is not", path, n)
			}
		}
		for _, n := range names {
			if all && !slices.Contains(used, n) {
				t.Errorf("%s does not have %s", path, n)
			}
		}
	}
}

// The health of a queue; an outage is an error.
func TestQueueStatus(t *testing.T) {
	t.Parallel()
	own := redistest.Start(t)
	s := connect(t, own.URL(), "jobs")
	q := s.newQueue(redisqueue.QueueOptions{MaxSize: 10, Timeout: 300 * time.Millisecond})
	for _, want := range []redisqueue.QueueStatus{
		{Name: "jobs", Health: redisqueue.Healthy, Depth: 7, MaxSize: 10},
		{Name: "jobs", Health: redisqueue.Warning, Depth: 8, MaxSize: 10},
		{Name: "jobs", Health: redisqueue.Critical, Depth: 10, MaxSize: 10, OverflowDepth: 1, DLQDepth: 1},
	} {
		for got, err := q.Status(t.Context()); got != want; got, err = q.Status(t.Context()) {
			if err != nil || got.Depth > want.Depth || got.OverflowDepth > want.OverflowDepth {
				t.Fatalf("%+v, %v; want %+v", got, err, want)
			}
			if _, err := q.Push(t.Context(), jobs("x")...); err != nil {
				t.Fatal(err)
			}
			if got.Depth == 10 {
				s.do("RPUSH", "dlq:jobs", "{}")
			}
		}
	}
	own.Stop()
	if got, err := q.Status(t.Context()); err == nil {
		t.Errorf("without a server: %+v", got)
	}
}
