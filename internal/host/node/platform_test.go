package node_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/broker/driver"
	broker "github.com/taskerhq/tasker/internal/broker/kafka"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
	"github.com/taskerhq/tasker/kafka"
)

// platform is an application with topics of events, whose consumer abandons what it cannot process, and a node that
// reads its dead letters under the preset event-platform, on the test's clock.
type platform struct {
	*testing.T
	prefix string
	url    string
	client *kgo.Client
	topics deadletters.TopicBackend

	mu    sync.Mutex
	ahead time.Duration
	heals bool                     // the consumer processes everything from now on
	seen  map[string][]*kgo.Record // deliveries, by the key of the event
}

// delays are the preset's retries of each topic, in seconds; 0 is immediate.
var delays = map[string][]float64{
	"execution-requests":  {30, 60, 120, 240, 300},
	"pod-events":          {60, 180, 540},
	"resource-allocation": {0, 0, 0},
	"websocket-events":    {10, 10, 10, 10, 10, 10, 10, 10, 10, 10},
	"anything-else":       {60, 150, 375, 937.5},
}

func newPlatform(t *testing.T) *platform {
	p := &platform{T: t, url: kafkatest.Shared(t), seen: map[string][]*kgo.Record{}}
	p.prefix = kafkatest.NewPrefix(t, p.url)
	kafkatest.CreateTopic(t, p.url, p.prefix+"dead", 2)
	var topics []string
	for name := range delays {
		topics = append(topics, p.prefix+name)
		kafkatest.CreateTopic(t, p.url, p.prefix+name, 2)
	}
	p.client = kafkatest.Client(t, p.url)
	p.consume(p.prefix+"group", topics)

	n, err := node.Open(t.Context(), postgrestest.DSN(t), node.Options{Now: p.now,
		Drivers: driver.Registry{"kafka": broker.Open}})
	if err != nil {
		t.Fatal(err)
	}
	p.run(n.Run, n.Close)
	client := tasker.NewClient(n)
	p.topics = deadletters.TopicsOf(client)
	b := deadletters.Of(client)
	if _, err := b.SaveSource(t.Context(), deadletters.SourceRequest{Source: deadletters.Source{Name: "events",
		Driver: "kafka", URL: p.url + "?session=2", Queue: p.prefix + "dead"}}); err != nil {
		t.Fatal(err)
	}
	for _, policy := range deadletters.Preset(deadletters.PresetEventPlatform, deadletters.PresetOptions{Source: "events",
		Topics: func(name string) string { return p.prefix + name }}) {
		if _, err := b.SavePolicy(t.Context(), deadletters.PolicyRequest{Policy: policy}); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p *platform) run(run func(context.Context) error, closed func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			p.Error(err)
		}
	})
	p.Cleanup(func() {
		cancel()
		running.Wait()
		if err := closed(); err != nil {
			p.Error(err)
		}
	})
}

func (p *platform) now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Add(p.ahead)
}

func (p *platform) after(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ahead += d
}

func (p *platform) consume(group string, topics []string) {
	p.Helper()
	kafkaAt := []kgo.Opt{kgo.SeedBrokers(strings.TrimPrefix(p.url, "kafka://"))}
	letters, err := kafka.OpenDeadLetters(kafka.DeadLetterOptions{Kafka: kafkaAt, Topic: p.prefix + "dead",
		Dir: filepath.Join(p.TempDir(), "spool")})
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { _ = letters.Close() })
	c, err := kafka.NewConsumer(kafka.ConsumerOptions{Kafka: kafkaAt, Group: group, Topics: topics, MaxAttempts: 2,
		RetryBase: time.Millisecond, Letters: letters, Handler: p.handle})
	if err != nil {
		p.Fatal(err)
	}
	p.run(c.Run, func() error { return nil })
}

func (p *platform) handle(_ context.Context, event *kgo.Record) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[string(event.Key)] = append(p.seen[string(event.Key)], event)
	if !p.heals {
		return errors.New("the executor is out of memory")
	}
	return nil
}

// happen sends an event dated within the retention of its topic.
func (p *platform) happen(topic, id string) {
	p.Helper()
	r := &kgo.Record{Topic: p.prefix + topic, Key: []byte("key-" + id),
		Timestamp: time.Now().Add(-time.Hour).Truncate(time.Millisecond),
		Value:     fmt.Appendf(nil, `{"event_id":%q,"event_type":%q,"n":12345678901234567890}`, id, topic+".created"),
		Headers:   []kgo.RecordHeader{{Key: "trace", Value: []byte("t-" + id)}}}
	if err := p.client.ProduceSync(p.Context(), r).FirstErr(); err != nil {
		p.Fatal(err)
	}
}

func (p *platform) message(id, what string, holds func(*deadletters.DeadMessage) bool) (m *deadletters.DeadMessage) {
	p.Helper()
	patiently(p, id+" is "+what, func() bool {
		found, err := p.topics.Message(p.Context(), deadletters.MessageName{EventID: id})
		if tasker.ErrorCode(err) == tasker.CodeNotFound {
			return false
		}
		if err != nil {
			p.Fatal(err)
		}
		m = found
		return holds(m)
	})
	return m
}

// TestEventPlatform covers the life of a platform's dead letters on a real Kafka: retries by each topic's policy,
// the acts of an operator, and what is never retried.
func TestEventPlatform(t *testing.T) {
	t.Parallel()
	p := newPlatform(t)
	for topic := range delays {
		p.happen(topic, topic)
	}
	for retry := range 10 {
		for topic, all := range delays {
			if retry >= len(all) || all[retry] == 0 {
				continue
			}
			m := p.message(topic, fmt.Sprintf("scheduled, %d", retry), func(m *deadletters.DeadMessage) bool {
				return m.Status == deadletters.MessageScheduled && m.RetryCount == retry && m.NextRetryAt.After(p.now())
			})
			if got := m.NextRetryAt.Sub(m.LastUpdated).Seconds(); got < all[retry]*.89 || got > all[retry]*1.11 {
				t.Errorf("retry %d of %s after %.1f s, want %.1f", retry+1, topic, got, all[retry])
			}
		}
		p.after(20 * time.Minute) // no delay is longer
	}
	for topic, all := range delays {
		m := p.message(topic, "discarded", func(m *deadletters.DeadMessage) bool {
			return m.Status == deadletters.MessageDiscarded
		})
		if m.RetryCount != len(all) || !strings.Contains(*m.DiscardReason, "sent back") ||
			m.OriginalTopic != p.prefix+topic || m.Error != "the executor is out of memory" ||
			!strings.Contains(string(m.Event), `"n":12345678901234567890`) {
			t.Errorf("%s in the end: %+v", topic, m)
		}
		p.delivered(topic, len(all))
	}
	p.repaired()
	p.neverTried()
}

// delivered wants all deliveries of an event, each attempted twice.
func (p *platform) delivered(topic string, retries int) {
	p.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := p.seen["key-"+topic]
	if len(seen) != 2*(retries+1) {
		p.Errorf("%s was tried %d times, want %d", topic, len(seen), 2*(retries+1))
		return
	}
	first, last := seen[0], seen[len(seen)-1]
	if string(last.Value) != string(first.Value) || !last.Timestamp.Equal(first.Timestamp) {
		p.Errorf("%s changed on its way: %s of %s", topic, last.Value, last.Timestamp)
	}
	headers := map[string]string{}
	for _, h := range last.Headers {
		headers[h.Key] = string(h.Value)
	}
	at, err := time.Parse(time.RFC3339Nano, headers["dlq_retry_timestamp"])
	if err != nil || at.IsZero() || headers["trace"] != "t-"+topic ||
		headers["dlq_retry_count"] != fmt.Sprint(retries) ||
		headers["dlq_original_error"] != "the executor is out of memory" {
		p.Errorf("headers of the last retry of %s: %v, %v", topic, headers, err)
	}
}

// repaired: after the fix an operator sends discarded events back.
func (p *platform) repaired() {
	p.Helper()
	p.mu.Lock()
	p.heals = true
	tried := len(p.seen["key-pod-events"])
	p.mu.Unlock()
	ids := slices.Sorted(maps.Keys(delays))
	answer, err := p.topics.Retry(p.Context(), deadletters.MessageRetry{EventIDs: append(ids, "no-such-event"),
		Reason: "fixed"})
	if err != nil || answer.Successful != len(ids) || answer.Failed != 1 {
		p.Errorf("retry of all that was discarded: %+v, %v", answer, err)
	}
	patiently(p, "the event is processed", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.seen["key-pod-events"]) == tried+1
	})
	m := p.message("pod-events", "retried", func(m *deadletters.DeadMessage) bool {
		return m.Status == deadletters.MessageRetried
	})
	if m.RetryCount != len(delays["pod-events"])+1 {
		p.Errorf("its count is %d", m.RetryCount)
	}
}

// neverTried: test events, old events and events that an operator discards.
func (p *platform) neverTried() {
	p.Helper()
	p.mu.Lock()
	p.heals = false
	p.mu.Unlock()
	discarded := func(id, reason string) {
		p.Helper()
		m := p.message(id, "discarded", func(m *deadletters.DeadMessage) bool {
			return m.Status == deadletters.MessageDiscarded
		})
		if m.RetryCount != 0 || !strings.Contains(*m.DiscardReason, reason) {
			p.Errorf("%s: %d retries, %s", id, m.RetryCount, *m.DiscardReason)
		}
	}
	p.happen("pod-events", "test-1")
	discarded("test-1", "test")
	p.happen("pod-events", "unwanted")
	p.message("unwanted", "scheduled", func(m *deadletters.DeadMessage) bool {
		return m.Status == deadletters.MessageScheduled
	})
	if _, err := p.topics.Discard(p.Context(), deadletters.MessageName{EventID: "unwanted"},
		deadletters.Act{Reason: "nobody wants it"}); err != nil {
		p.Error(err)
	}
	discarded("unwanted", "nobody wants it")
	p.happen("pod-events", "late")
	p.message("late", "scheduled", func(m *deadletters.DeadMessage) bool {
		return m.Status == deadletters.MessageScheduled
	})
	p.after(8 * 24 * time.Hour) // as after an outage of the node
	patiently(p, "the old event is given up", func() bool {
		m, err := p.topics.Message(p.Context(), deadletters.MessageName{EventID: "late"})
		return err == nil && m.Status == deadletters.MessageDiscarded
	})
}
