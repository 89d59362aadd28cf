package app_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/host/app"
	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
	"github.com/taskerhq/tasker/kafka"
)

// topicStory is an application whose consumers abandon Kafka events, and a server that processes their dead-letter
// topic, configured by the environment alone.
type topicStory struct {
	t       *testing.T
	kafka   string // URL
	prefix  string // of all topics
	environ []string
	seen    *heard
	client  *kgo.Client // consumes the original topics
	letters *kafka.DeadLetters
	sent    int // dead letters
	*jobServer
	end func()
}

type heard struct {
	mu      sync.Mutex
	hooks   []deadletters.WebhookEvent
	records []*kgo.Record
}

func newTopicStory(t *testing.T) *topicStory {
	t.Helper()
	s := &topicStory{t: t, kafka: kafkatest.Shared(t), seen: &heard{}}
	s.prefix = kafkatest.NewPrefix(t, s.kafka)
	var topics []string
	for _, name := range []string{"dead", "orders", "copied", "copied-retry", "immediate"} {
		kafkatest.CreateTopic(t, s.kafka, s.prefix+name, 1)
		topics = append(topics, s.prefix+name)
	}
	s.client = kafkatest.Client(t, s.kafka, kgo.ConsumeTopics(topics[1:]...))
	s.letters = s.open(time.Now)

	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var e deadletters.WebhookEvent
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil || r.Header.Get("webhook-signature") == "" {
			t.Errorf("a hook: %v, %v", err, r.Header)
		}
		s.seen.mu.Lock()
		defer s.seen.mu.Unlock()
		s.seen.hooks = append(s.seen.hooks, e)
	}))
	t.Cleanup(hook.Close)
	secret := "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 32))
	s.environ = []string{"TASKER_DB=" + postgrestest.DSN(t), "TASKER_SERVER_LISTEN=127.0.0.1:0",
		fmt.Sprintf("TASKER_SOURCES=[{name: platform, driver: kafka, url: '%s?session=2', queue: %s}]", s.kafka,
			s.prefix+"dead"),
		fmt.Sprintf("TASKER_WEBHOOKS=[{name: hooks, url: '%s', secrets: [%s], events: [%s, %s, %s]}]", hook.URL, secret,
			deadletters.WebhookLetterRetrying, deadletters.WebhookLetterRetried, deadletters.WebhookLetterDiscarded),
		"DLQ_MAX_RETRY_ATTEMPTS=2", "DLQ_RETRY_DELAY_HOURS=0.5", "DLQ_MAX_AGE_DAYS=3", "DLQ_BATCH_SIZE=4"}
	s.start()
	t.Cleanup(func() { s.end() })
	return s
}

func (s *topicStory) open(now func() time.Time) *kafka.DeadLetters {
	s.t.Helper()
	d, err := kafka.OpenDeadLetters(kafka.DeadLetterOptions{Topic: s.prefix + "dead", Now: now,
		Kafka: []kgo.Opt{kgo.SeedBrokers(strings.TrimPrefix(s.kafka, "kafka://"))},
		Dir:   filepath.Join(s.t.TempDir(), "spool"), ProducerID: "orders-consumer-1"})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = d.Close() })
	return d
}

func (s *topicStory) start() {
	s.t.Helper()
	cfg, err := config.Load(config.Sources{Environ: s.environ})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	up, ended := make(chan app.Node, 1), make(chan error, 1)
	go func() {
		ended <- app.Run(ctx, cfg, app.Options{Ready: func(n app.Node) error {
			up <- n
			return nil
		}})
	}()
	s.jobServer = &jobServer{t: s.t, http: &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}}
	select {
	case n := <-up:
		s.url = n.URL
	case err := <-ended:
		stop()
		s.t.Fatal(err)
	}
	s.end = sync.OnceFunc(func() {
		s.http.CloseIdleConnections()
		stop()
		if err := <-ended; err != nil {
			s.t.Errorf("the server ended with %v", err)
		}
	})
}

func (s *topicStory) event(topic, id string) *kgo.Record {
	return &kgo.Record{Topic: s.prefix + topic, Key: []byte("key-" + id),
		Timestamp: time.Now().Add(-time.Hour).Truncate(time.Millisecond), // within the retention of the topic
		Value:     fmt.Appendf(nil, `{"event_id":%q,"event_type":"order.created","n":12345678901234567890}`, id),
		Headers:   []kgo.RecordHeader{{Key: "trace", Value: []byte("t-" + id)}}}
}

func (s *topicStory) fail(t *testing.T, event *kgo.Record) {
	t.Helper()
	s.sendTo(t, s.letters, event)
}

func (s *topicStory) sendTo(t *testing.T, letters *kafka.DeadLetters, event *kgo.Record) {
	t.Helper()
	if err := letters.SendToDLQ(t.Context(), event, "", errors.New("out of memory"), 3); err != nil {
		t.Fatal(err)
	}
	s.sent++
}

func (s *topicStory) ask(t *testing.T, method, path, body string) (status int, answer any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := s.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if json.Unmarshal(text, &answer) != nil {
		answer = string(text)
	}
	return resp.StatusCode, answer
}

func (s *topicStory) must(t *testing.T, method, path, body string) object {
	t.Helper()
	status, answer := s.ask(t, method, path, body)
	out, ok := answer.(map[string]any)
	if status > 201 || !ok {
		t.Fatalf("%s %s: %d %v", method, path, status, answer)
	}
	return out
}

func (s *topicStory) policy(t *testing.T, topic, settings string) {
	t.Helper()
	s.must(t, "POST", "/api/v1/dlq/retry-policy", fmt.Sprintf(`{"topic":%q,%s}`, s.prefix+topic, settings))
}

// message waits for a message with a status, and a number of retries unless negative.
func (s *topicStory) message(t *testing.T, id, status string, retries int) (m object) {
	t.Helper()
	await.Until(t, id+" is "+status, func() bool {
		code, answer := s.ask(t, "GET", "/api/v1/dlq/messages/"+id, "")
		m, _ = answer.(map[string]any)
		return code == 200 && m["status"] == status && (retries < 0 || m["retry_count"] == float64(retries))
	})
	return m
}

func (s *topicStory) arrived(t *testing.T, topic, id string, nth int) (record *kgo.Record) {
	t.Helper()
	defer func() {
		if record == nil { // not sent, or not read?
			_, m := s.ask(t, "GET", "/api/v1/dlq/messages/"+id, "")
			t.Logf("the server says %v; %d records were read", m, len(s.seen.records))
		}
	}()
	await.Until(t, fmt.Sprintf("%s is in %s for the %d. time", id, topic, nth), func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		s.client.PollFetches(ctx).EachRecord(func(r *kgo.Record) { s.seen.records = append(s.seen.records, r) })
		n := 0
		for _, r := range s.seen.records {
			if r.Topic == s.prefix+topic && string(r.Key) == "key-"+id {
				if n++; n == nth {
					record = r
				}
			}
		}
		return record != nil
	})
	return record
}

func seconds(t *testing.T, m object, from, to string) float64 {
	t.Helper()
	var at [2]time.Time
	for i, name := range []string{from, to} {
		text, _ := m[name].(string)
		var err error
		if at[i], err = time.Parse(time.RFC3339Nano, text); err != nil {
			t.Fatalf("%s: %v of %v", name, err, m)
		}
	}
	return at[1].Sub(at[0]).Seconds()
}

// about allows for a jitter of a tenth.
func about(t *testing.T, what string, got, want float64) {
	t.Helper()
	if got < want*.89-1 || got > want*1.11+1 {
		t.Errorf("%s after %.1f s, want %.1f", what, got, want)
	}
}

func sameText(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s: %s, want %s", what, g, w)
	}
}

func hasNames(t *testing.T, o object, names ...string) {
	t.Helper()
	for _, name := range names {
		if !slices.Contains(o.names(), name) {
			t.Errorf("there is no %s in %v", name, o)
		}
	}
}
