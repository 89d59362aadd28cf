package kafka_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
	"github.com/taskerhq/tasker/kafka"
)

// TestOutageOfKafka kills the broker before a dead letter: the spool keeps it, and the next process sends it.
func TestOutageOfKafka(t *testing.T) {
	t.Parallel()
	server := kafkatest.Start(t, nil)
	r := newRig(t, server.URL(), 1)
	d := r.letters(kafka.DeadLetterOptions{})
	event := &kgo.Record{Topic: r.topic, Key: []byte("k"), Value: []byte(`{"event_id":"e1"}`)}
	ctx := context.Background()
	if err := d.SendToDLQ(ctx, event, "", errors.New("no"), 2); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.Close(), server.Kill()); err != nil {
		t.Fatal(err)
	}
	d = r.letters(kafka.DeadLetterOptions{Timeout: time.Second})
	event = &kgo.Record{Topic: r.topic, Value: []byte{0xff, 0}}
	for range 3 {
		if err := d.SendToDLQ(ctx, event, "", errors.New("no"), 2); err != nil {
			t.Fatal(err)
		}
	}
	if s := d.Status(); s.Sent != 0 || s.Spooled != 3 || s.SpoolLetters != 3 {
		t.Errorf("%+v", s)
	}
	if sent, err := d.Drain(ctx); sent != 0 || err == nil {
		t.Errorf("sent %d without a broker, %v", sent, err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	d = r.letters(kafka.DeadLetterOptions{})
	await.Until(r, "the spool is sent", func() bool {
		_, _ = d.Drain(ctx) // tried until it succeeds
		return d.Status().SpoolLetters == 0
	})
	// A letter without an answer may arrive twice.
	if dead := r.atLeast(4); string(dead[len(dead)-1].Value) != "\xff\x00" {
		t.Errorf("%q", dead[len(dead)-1].Value)
	}
}

// atLeast reads the dead letter topic until it has n letters or more.
func (r *rig) atLeast(n int) []*kgo.Record {
	r.Helper()
	offsets, err := kafkatest.Admin(r, r.url).ListEndOffsets(context.Background(), r.dead)
	if err != nil {
		r.Fatal(err)
	}
	o, _ := offsets.Lookup(r.dead, 0)
	if int(o.Offset) < n {
		r.Fatalf("%d dead letters, want %d", o.Offset, n)
	}
	return r.dlq(int(o.Offset))
}

// TestFullSpool has neither a topic of dead letters nor space in the spool: the partition waits until there is a topic.
func TestFullSpool(t *testing.T) {
	t.Parallel()
	r := newRig(t, kafkatest.Shared(t), 1)
	r.dead += "-later"
	d := r.letters(kafka.DeadLetterOptions{Timeout: time.Second, MaxSpoolBytes: 10})
	err := d.SendToDLQ(context.Background(), &kgo.Record{Topic: r.topic}, "", errors.New("no"), 0)
	if !errors.Is(err, kafka.ErrSpoolFull) {
		t.Fatal(err)
	}
	r.produce(0, `"bad"`, `"good"`)
	stop := r.consume(kafka.ConsumerOptions{Letters: d, MaxAttempts: 1,
		Handler: func(_ context.Context, e *kgo.Record) error {
			if string(e.Value) == `"bad"` {
				return errors.New("no")
			}
			return nil
		}})
	kafkatest.CreateTopic(t, r.url, r.dead, 1)
	await.Until(r, "the partition goes on", func() bool { at, _ := r.committed(0); return at == 2 })
	stop()
	if s := d.Status(); s.Sent != 1 || s.Spooled != 0 {
		t.Errorf("%+v", s)
	}
	r.dlq(1)
}

// TestTooLarge: the caller learns of a too large letter, and one in the spool is set aside, so that later ones are
// sent.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	url := kafkatest.Shared(t)
	r := newRig(t, url, 1)
	r.dead += "-small"
	kafkatest.CreateTopic(t, url, r.dead, 1, "max.message.bytes", "2000")
	random := make([]byte, 4000) // cannot be compressed
	_, _ = rand.NewChaCha8([32]byte{}).Read(random)
	large := &kgo.Record{Topic: r.topic, Value: random}
	ctx := context.Background()
	d := r.letters(kafka.DeadLetterOptions{})
	err := d.SendToDLQ(ctx, large, "", errors.New("no"), 0)
	if err == nil || !strings.Contains(err.Error(), "MESSAGE_TOO_LARGE") {
		t.Fatalf("a letter that is too large: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}

	// Without a broker both go to the spool.
	away, err := kafka.OpenDeadLetters(kafka.DeadLetterOptions{Kafka: []kgo.Opt{kgo.SeedBrokers("127.0.0.1:1")},
		Topic: r.dead, Dir: r.dir, Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range []*kgo.Record{large, {Topic: r.topic, Value: []byte(`"small"`)}} {
		if err := away.SendToDLQ(ctx, event, "", errors.New("no"), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := away.Close(); err != nil {
		t.Fatal(err)
	}
	d = r.letters(kafka.DeadLetterOptions{})
	if sent, err := d.Drain(ctx); sent != 1 || err != nil {
		t.Errorf("sent %d, %v", sent, err)
	}
	if s := d.Status(); s.Refused != 1 || s.SpoolLetters != 0 {
		t.Errorf("%+v", s)
	}
	aside := files(t, filepath.Join(r.dir, "refused"))
	if len(aside) != 1 {
		t.Fatalf("set aside: %v", aside)
	}
	if b, err := os.ReadFile(filepath.Join(r.dir, "refused", aside[0])); err != nil || len(b) < 4000 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if got := members(t, r.dlq(1)[0])["event"]; got != "small" {
		t.Errorf("%v", got)
	}
}
