package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
	"github.com/taskerhq/tasker/kafka"
)

// TestFailures has a consumer of a real group meet an event that always fails, a database outage, and a bug.
func TestFailures(t *testing.T) {
	t.Parallel()
	r := newRig(t, kafkatest.Shared(t), 1)
	letters := r.letters(kafka.DeadLetterOptions{})
	r.produce(0, `{"event_id":"a"}`, `not JSON`, `{"event_id":"down"}`, `{"event_id":"bug"}`, `{"event_id":"z"}`)
	var ran journal
	var outage atomic.Int32
	r.consume(kafka.ConsumerOptions{Letters: letters, Handler: func(_ context.Context, event *kgo.Record) error {
		v := string(event.Value)
		ran.add("%s", v)
		switch {
		case v == "not JSON":
			return kafka.Permanent(errors.New("no such event type"))
		case strings.Contains(v, "down") && outage.Add(1) < 3:
			return errors.New("connection refused")
		case strings.Contains(v, "bug"):
			panic("index out of range")
		}
		return nil
	}})
	await.Until(r, "all events are done", func() bool { at, _ := r.committed(0); return at == 5 })

	want := `{"event_id":"a"} not JSON {"event_id":"down"} {"event_id":"down"} {"event_id":"down"} ` +
		`{"event_id":"bug"} {"event_id":"bug"} {"event_id":"bug"} {"event_id":"z"}`
	if got := ran.String(); got != want {
		t.Errorf("ran\n%s\nwant\n%s", got, want)
	}
	if _, text := r.committed(0); text != "" {
		t.Errorf("after success the group has %q", text)
	}
	dead := r.dlq(2)
	if string(dead[0].Value) != "not JSON" || string(dead[0].Key) != "key-not JSON" {
		t.Errorf("the event that is no JSON: %s, key %s", dead[0].Value, dead[0].Key)
	}
	bug := members(t, dead[1])
	if bug["error_type"] != "panic" || bug["retry_count"] != 2.0 || bug["original_topic"] != r.topic {
		t.Errorf("the bug: %v", bug)
	}
	if stack, _ := bug["stack_trace"].(string); !strings.Contains(stack, "goroutine") {
		t.Errorf("no stack: %v", bug)
	}
}

// TestCountSurvivesRestart: an event fails twice in one process and once in the next, and is a dead letter.
func TestCountSurvivesRestart(t *testing.T) {
	t.Parallel()
	r := newRig(t, kafkatest.Shared(t), 1)
	letters := r.letters(kafka.DeadLetterOptions{})
	r.produce(0, `"a"`, `"b"`, `"c"`)
	stop := r.consume(kafka.ConsumerOptions{Letters: letters, Clock: &stuck{passes: 1}, Handler: func(
		_ context.Context, e *kgo.Record,
	) error {
		if string(e.Value) == `"b"` {
			return errors.New("no")
		}
		return nil
	}})
	await.Until(r, "the count is stored", func() bool {
		at, text := r.committed(0)
		return at == 1 && text == "tasker failures=2"
	})
	stop()

	results := make(chan kafka.Result, 1)
	r.consume(kafka.ConsumerOptions{Letters: letters, Handler: func(_ context.Context, e *kgo.Record) error {
		if string(e.Value) == `"b"` {
			return errors.New("no")
		}
		return nil
	}, OnResult: func(e *kgo.Record, res kafka.Result) {
		if string(e.Value) == `"b"` {
			results <- res
		}
	}})
	await.Until(r, "all events are done", func() bool { at, text := r.committed(0); return at == 3 && text == "" })
	if result := <-results; result.Failures != 3 || !result.DeadLetter {
		t.Errorf("%+v", result)
	}
	if got := members(t, r.dlq(1)[0])["retry_count"]; got != 2.0 {
		t.Errorf("retry_count %v", got)
	}
}

// stuck is a clock that skips some pauses and holds the next one until the consumer stops.
type stuck struct {
	skip
	mu     sync.Mutex
	passes int
}

func (s *stuck) Sleep(ctx context.Context, _ time.Duration) error {
	s.mu.Lock()
	pass := s.passes > 0
	s.passes--
	s.mu.Unlock()
	if pass {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func TestOtherPartitionsGoOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, kafkatest.Shared(t), 2)
	r.produce(0, `"bad"`, `"behind"`)
	r.produce(1, `"one"`, `"two"`)
	var ran journal
	r.consume(kafka.ConsumerOptions{Letters: r.letters(kafka.DeadLetterOptions{}), Clock: &stuck{},
		Handler: func(_ context.Context, e *kgo.Record) error {
			ran.add("%s", e.Value)
			if string(e.Value) == `"bad"` {
				return errors.New("no")
			}
			return nil
		}})
	await.Until(r, "the other partition is done", func() bool { at, _ := r.committed(1); return at == 2 })
	await.Until(r, "the failure is stored", func() bool { _, text := r.committed(0); return text != "" })
	if at, _ := r.committed(0); at != 0 || ran.count(`"behind"`) != 0 {
		t.Errorf("the event behind the failed one ran: %s; offset %d", ran.String(), at)
	}
}

// TestRebalance adds and removes members: each event runs, and failures are counted on any member.
func TestRebalance(t *testing.T) {
	t.Parallel()
	const partitions, each = 4, 100
	r := newRig(t, kafkatest.Shared(t), partitions)
	letters := r.letters(kafka.DeadLetterOptions{})
	for p := range partitions {
		var values []string
		for i := range each {
			values = append(values, fmt.Sprintf(`{"event_id":"%d-%d"}`, p, i))
		}
		r.produce(int32(p), values...)
	}
	var done, dead sync.Map
	var settled atomic.Int32
	gate := make(chan struct{}, partitions*each*4)
	member := kafka.ConsumerOptions{Letters: letters, Handler: func(ctx context.Context, e *kgo.Record) error {
		select {
		case <-gate:
		case <-ctx.Done():
			return ctx.Err()
		}
		if e.Offset%10 == 9 { // never succeeds
			return errors.New("no")
		}
		return nil
	}, OnResult: func(e *kgo.Record, res kafka.Result) {
		if res.DeadLetter {
			dead.Store(string(e.Value), true)
			if res.Failures != 3 {
				t.Errorf("%s is a dead letter after %d failures", e.Value, res.Failures)
			}
		}
		done.Store(string(e.Value), true)
		settled.Add(1)
	}, DrainTimeout: -1}
	first := r.consume(member)
	feed := func(n int) {
		for range n {
			gate <- struct{}{}
		}
	}
	feed(100)
	await.Until(r, "some are done", func() bool { return settled.Load() > 20 })
	r.consume(member)
	feed(100)
	await.Until(r, "more are done", func() bool { return settled.Load() > 80 })
	r.consume(member)
	first()
	feed(partitions * each * 2)
	await.Until(r, "all are done", func() bool {
		for p := range int32(partitions) {
			if at, _ := r.committed(p); at != each {
				return false
			}
		}
		return true
	})
	for p := range partitions {
		for i := range each {
			id := fmt.Sprintf(`{"event_id":"%d-%d"}`, p, i)
			if _, ok := done.Load(id); !ok {
				t.Errorf("%s was passed over", id)
			}
			if _, ok := dead.Load(id); ok != (i%10 == 9) {
				t.Errorf("%s: dead letter %v", id, ok)
			}
		}
	}
}

func TestRefusedOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []kafka.ConsumerOptions{{}, {MaxAttempts: 1001}, {RetryBase: -1}, {RetryMax: 1}} {
		if o.MaxAttempts != 0 || o.RetryBase != 0 || o.RetryMax != 0 {
			o.Kafka, o.Group, o.Topics = []kgo.Opt{kgo.SeedBrokers("127.0.0.1:1")}, "g", []string{"t"}
			o.Handler = func(context.Context, *kgo.Record) error { return nil }
			o.Letters = &kafka.DeadLetters{}
		}
		if _, err := kafka.NewConsumer(o); err == nil || !strings.Contains(err.Error(), "ConsumerOptions") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
