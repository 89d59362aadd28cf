package doctor_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/host/doctor"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
)

func topic(url, queue string) *deadletter.Source {
	return &deadletter.Source{Namespace: "default", Name: "events", Driver: "kafka", URL: url, Queue: queue}
}

func kafkaDSNs(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{"SQLite": sqliteIn(t), "PostgreSQL": pgtest.DSN(t)}
}

func TestKafkaHealthy(t *testing.T) {
	t.Parallel()
	url := kafkatest.Shared(t)
	queue := kafkatest.NewTopic(t, url, 2, "retention.ms", "604800000")
	for name, dsn := range kafkaDSNs(t) {
		r := examine(t, with(t, dsn, topic(url, queue)), doctor.Options{})
		t.Log(name)
		for _, check := range []string{"kafka_permissions", "kafka_destinations", "kafka_retention"} {
			wantCheck(t, r, check, doctor.OK, "")
		}
		wantCheck(t, r, "kafka_replication", doctor.Warn, "has one copy in a cluster of 1")
	}
}

func TestKafkaRetention(t *testing.T) {
	t.Parallel()
	url := kafkatest.Shared(t)
	waiting := func(age time.Duration, settings ...string) string {
		queue := kafkatest.NewTopic(t, url, 1, settings...)
		r := &kgo.Record{Topic: queue, Key: []byte("k"), Value: []byte("{}"), Timestamp: time.Now().Add(-age)}
		if err := kafkatest.Client(t, url).ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
		return queue
	}
	for name, f := range map[string]struct {
		age      time.Duration
		settings []string
		status   doctor.Status
		says     string
	}{
		"fresh":   {time.Hour, []string{"retention.ms", "604800000"}, doctor.OK, "keeps messages long enough"},
		"late":    {6 * 24 * time.Hour, []string{"retention.ms", "604800000"}, doctor.Warn, "wait for 6 days"},
		"forever": {600 * 24 * time.Hour, []string{"retention.ms", "-1"}, doctor.OK, "long enough"},
		"short":   {time.Minute, []string{"retention.ms", "3600000"}, doctor.Warn, "keeps messages for 1h0m"},
		// compacted, so that Kafka deletes nothing during the test
		"compacted": {time.Hour, []string{"cleanup.policy", "compact"}, doctor.Warn, "is compacted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := examine(t, with(t, sqliteIn(t), topic(url, waiting(f.age, f.settings...))), doctor.Options{})
			wantCheck(t, r, "kafka_retention", f.status, f.says)
		})
	}
	t.Run("over", func(t *testing.T) {
		t.Parallel()
		queue := waiting(time.Minute, "retention.ms", "604800000")
		later := func() time.Time { return time.Now().Add(8 * 24 * time.Hour) }
		r := examine(t, with(t, sqliteIn(t), topic(url, queue)), doctor.Options{Now: later})
		wantCheck(t, r, "kafka_retention", doctor.Fail, "keeps them for 7 days")
	})
}

func TestKafkaMissing(t *testing.T) {
	t.Parallel()
	url := kafkatest.Shared(t)
	queue := kafkatest.NewTopic(t, url, 1)
	r := examine(t, with(t, sqliteIn(t), topic(url, queue+"-no")), doctor.Options{})
	wantCheck(t, r, "kafka_topic", doctor.Fail, "does not exist")

	r = examine(t, with(t, sqliteIn(t), topic("kafka://127.0.0.1:1", queue)), doctor.Options{})
	wantCheck(t, r, "kafka", doctor.Fail, "cannot be used")

	for _, dsn := range kafkaDSNs(t) {
		of := topic(url, queue)
		n, err := node.Open(t.Context(), dsn, node.Options{Sources: []*deadletter.Source{of}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = n.Inbox().Capture(t.Context(), of, []inbox.Arrival{{Position: "1", Report: inbox.Report{
			Origin: queue + "-gone", Failure: failure.Report{Type: "Timeout"}}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		wantCheck(t, examine(t, dsn, doctor.Options{}), "kafka_destinations", doctor.Warn, queue+"-gone")
	}
}
