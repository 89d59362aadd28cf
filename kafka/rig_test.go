package kafka_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
	"github.com/taskerhq/tasker/kafka"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("os/exec.(*Cmd).watchCtx"))
}

const patience = 60 * time.Second

// rig is an application with a topic of events, one of dead letters, and a group.
type rig struct {
	*testing.T
	url, topic, dead, group, dir string

	admin *kadm.Client
}

func newRig(t *testing.T, url string, partitions int) *rig {
	t.Helper()
	prefix := kafkatest.NewPrefix(t, url)
	r := &rig{T: t, url: url, topic: prefix + "orders", dead: prefix + "dead", group: prefix + "billing",
		dir: filepath.Join(t.TempDir(), "spool")}
	kafkatest.CreateTopic(t, url, r.topic, partitions)
	kafkatest.CreateTopic(t, url, r.dead, 1)
	return r
}

func (r *rig) seeds() []kgo.Opt {
	return []kgo.Opt{kgo.SeedBrokers(strings.TrimPrefix(r.url, "kafka://"))}
}

func (r *rig) letters(o kafka.DeadLetterOptions) *kafka.DeadLetters {
	r.Helper()
	o.Kafka, o.Topic = r.seeds(), r.dead
	if o.Dir == "" {
		o.Dir = r.dir
	}
	d, err := kafka.OpenDeadLetters(o)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = d.Close() })
	return d
}

// skip is a clock whose pauses end immediately.
type skip struct{}

func (skip) Now() time.Time { return time.Now() }
func (skip) Sleep(ctx context.Context, _ time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Millisecond): // a loop that waits for a server must not spin
		return nil
	}
}

func (r *rig) consume(o kafka.ConsumerOptions) (stop func()) {
	r.Helper()
	o.Kafka = append(append(r.seeds(), kgo.SessionTimeout(10*time.Second)), o.Kafka...)
	o.Group, o.Topics = r.group, []string{r.topic}
	if o.Clock == nil {
		o.Clock = skip{}
	}
	c, err := kafka.NewConsumer(o)
	if err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			r.Error(err)
		}
	})
	r.Cleanup(stop)
	return stop
}

func (r *rig) produce(partition int32, values ...string) {
	r.Helper()
	client := kafkatest.Client(r, r.url, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for _, v := range values {
		record := &kgo.Record{Topic: r.topic, Partition: partition, Key: []byte("key-" + v), Value: []byte(v)}
		if err := client.ProduceSync(context.Background(), record).FirstErr(); err != nil {
			r.Fatal(err)
		}
	}
}

func (r *rig) dlq(n int) []*kgo.Record {
	r.Helper()
	client := kafkatest.Client(r, r.url, kgo.ConsumeTopics(r.dead),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var out []*kgo.Record
	for len(out) < n && ctx.Err() == nil {
		out = append(out, client.PollFetches(ctx).Records()...)
	}
	if len(out) != n {
		r.Fatalf("%d dead letters, want %d", len(out), n)
	}
	return out
}

func members(t *testing.T, letter *kgo.Record) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(letter.Value, &out); err != nil {
		t.Fatalf("%v: %s", err, letter.Value)
	}
	return out
}

// committed returns the group's committed offset and its text.
func (r *rig) committed(partition int32) (int64, string) {
	r.Helper()
	if r.admin == nil {
		r.admin = kafkatest.Admin(r, r.url)
	}
	offsets, err := r.admin.FetchOffsets(context.Background(), r.group)
	if err != nil { // the coordinator is not there yet
		return -1, err.Error()
	}
	o, ok := offsets.Lookup(r.topic, partition)
	if !ok {
		return -1, ""
	}
	return o.At, o.Metadata
}

type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.lines, " ")
}

func (j *journal) count(line string) (n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, l := range j.lines {
		if l == line {
			n++
		}
	}
	return n
}

func files(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}
