package kafka_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
	"github.com/taskerhq/tasker/kafka"
)

// consumePoison is the process that the events of TestPoisonPill end. It returns when all are done.
func consumePoison(t *testing.T, of []string) {
	r := &rig{T: t, url: of[0], topic: of[1], dead: of[2], group: of[3]}
	r.consume(kafka.ConsumerOptions{Letters: r.letters(kafka.DeadLetterOptions{Dir: of[4]}),
		Kafka: []kgo.Opt{kgo.InstanceID("the-only-one")},
		Handler: func(_ context.Context, e *kgo.Record) error {
			switch string(e.Value) {
			case `"kills"`:
				return syscall.Kill(os.Getpid(), syscall.SIGKILL)
			case `"exits"`:
				os.Exit(0)
			}
			return nil
		}})
	await.Until(r, "all events are done", func() bool { at, _ := r.committed(0); return at == poisoned })
}

// poisoned events; the first that ends its process is far behind the first event.
const poisoned = 3000

// An event that ends its consumer's process becomes a dead letter after two additional attempts: the first process left
// no trace of the event, and the second only its block of 50.
func TestPoisonPill(t *testing.T) {
	if of := strings.Fields(os.Getenv("KAFKA_TEST_POISONED")); len(of) > 0 {
		consumePoison(t, of)
		return
	}
	t.Parallel()
	r := newRig(t, kafkatest.Shared(t), 1)
	var records []*kgo.Record
	for i := range poisoned {
		value := fmt.Sprint(i)
		switch i {
		case 1700:
			value = `"kills"`
		case 2900:
			value = `"exits"`
		}
		records = append(records, &kgo.Record{Topic: r.topic, Value: []byte(value)})
	}
	if err := kafkatest.Client(t, r.url).ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	env := "KAFKA_TEST_POISONED=" + strings.Join([]string{r.url, r.topic, r.dead, r.group,
		filepath.Join(t.TempDir(), "spool")}, " ")
	lives := 0
	for at := int64(0); at < poisoned; at, _ = r.committed(0) {
		if lives++; lives > 11 {
			t.Fatalf("%d processes have ended, and offset %d is committed", lives-1, at)
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestPoisonPill$", "-test.timeout=2m")
		cmd.Env = append(os.Environ(), env)
		_ = cmd.Run() // it is killed, or exits
	}
	for i, letter := range r.dlq(2) {
		m := members(t, letter)
		want := []string{"kills", "exits"}[i]
		text := fmt.Sprint(m["error"])
		if m["event"] != want || m["error_type"] != "kafka.ProcessEnded" || m["retry_count"] != 2.0 ||
			!strings.Contains(text, "the process ended during the attempt") {
			t.Errorf("want the event %s: %v", want, m)
		}
	}
	t.Logf("%d processes", lives)
}

// A cancelled attempt is no failure, even where attempts are noted, and the next member sees a regular stop.
func TestStopsInGoodOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t, kafkatest.Shared(t), 1)
	r.produce(0, `"a"`, `"b"`)
	leave(t, r.url, r.group, r.topic, 1, "tasker among=2")
	letters := r.letters(kafka.DeadLetterOptions{})
	running := make(chan struct{}, 1)
	stop := r.consume(kafka.ConsumerOptions{Letters: letters, DrainTimeout: -1,
		Handler: func(ctx context.Context, e *kgo.Record) error {
			if string(e.Value) == `"a"` {
				return nil
			}
			running <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}})
	select {
	case <-running:
	case <-time.After(patience):
		t.Fatal("the event does not run")
	}
	if at, text := r.committed(0); at != 1 || text != "tasker started" {
		t.Errorf("during the attempt the group has offset %d, %q", at, text)
	}
	stop()
	if at, text := r.committed(0); at != 1 || text != "tasker stopped" {
		t.Errorf("after the end the group has offset %d, %q", at, text)
	}
	results := make(chan kafka.Result, 1)
	r.consume(kafka.ConsumerOptions{Letters: letters, Handler: func(context.Context, *kgo.Record) error { return nil },
		OnResult: func(_ *kgo.Record, result kafka.Result) { results <- result }})
	select {
	case result := <-results:
		if result.Failures != 0 || result.DeadLetter {
			t.Errorf("%+v", result)
		}
	case <-time.After(patience):
		t.Fatal("the event does not run again")
	}
	await.Until(r, "it is done", func() bool { at, text := r.committed(0); return at == 2 && text == "" })
}
