package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/testkit/await"
	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
	"github.com/taskerhq/tasker/kafka"
)

// note is a handler that records its events and fails those divisible by seven.
func note(file *os.File) func(context.Context, *kgo.Record) error {
	return func(_ context.Context, e *kgo.Record) error {
		if _, err := fmt.Fprintf(file, "%s\n", e.Value); err != nil {
			return err
		}
		if e.Offset%7 == 0 {
			return errors.New("no")
		}
		return nil
	}
}

// runNoting runs a consumer that immediately replaces the killed one of its name.
func (r *rig) runNoting(dir string) (stop func()) {
	r.Helper()
	file, err := os.OpenFile(filepath.Join(dir, "notes"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = file.Close() })
	return r.consume(kafka.ConsumerOptions{Handler: note(file), Kafka: []kgo.Opt{kgo.InstanceID("the-only-one")},
		Letters: r.letters(kafka.DeadLetterOptions{Dir: filepath.Join(dir, "spool")})})
}

// TestKill kills consumers at any moment: each event runs in the end, failing ones are dead letters, and a restart adds
// no attempts beyond the one that was cut short, maybe before the handler recorded it.
func TestKill(t *testing.T) {
	if dir := os.Getenv("KAFKA_TEST_DIR"); dir != "" {
		of := strings.Fields(os.Getenv("KAFKA_TEST_RIG"))
		r := &rig{T: t, url: of[0], topic: of[1], dead: of[2], group: of[3]}
		r.runNoting(dir)
		<-t.Context().Done() // until it is killed
	}
	t.Parallel()
	const partitions, each, kills = 2, 400, 4
	r := newRig(t, kafkatest.Shared(t), partitions)
	for p := range partitions {
		var values []string
		for i := range each {
			values = append(values, fmt.Sprintf(`"%d-%d"`, p, i))
		}
		r.produce(int32(p), values...)
	}
	dir := t.TempDir()
	notes := func() map[string]int {
		b, err := os.ReadFile(filepath.Join(dir, "notes"))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		out := map[string]int{}
		for line := range strings.Lines(string(b)) {
			out[strings.TrimSpace(line)]++
		}
		return out
	}
	for kill := range kills {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKill$", "-test.timeout=3m")
		cmd.Env = append(os.Environ(), "KAFKA_TEST_DIR="+dir,
			"KAFKA_TEST_RIG="+strings.Join([]string{r.url, r.topic, r.dead, r.group}, " "))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		before := len(notes())
		await.Until(r, "it works", func() bool { return len(notes()) > before+20*(kill%3) })
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // it was killed
	}
	stop := r.runNoting(dir)
	await.Until(r, "all is done", func() bool {
		first, _ := r.committed(0)
		second, _ := r.committed(1)
		return first == each && second == each
	})
	stop()
	ran, dead := notes(), map[any]bool{}
	for _, letter := range r.atLeast(partitions * (each/7 + 1)) {
		m := members(t, letter)
		dead[m["event"]] = true
		if m["retry_count"] != 2.0 {
			t.Errorf("%v was given up after %v repetitions", m["event"], m["retry_count"])
		}
	}
	short := 0
	for p := range partitions {
		for i := range each {
			id := fmt.Sprintf("%d-%d", p, i)
			fails := i%7 == 0
			n := ran[`"`+id+`"`]
			if fails && n < 3 {
				short += 3 - n
			}
			if n == 0 || n > 3+kills || dead[id] != fails {
				t.Errorf("%s ran %d times, dead letter %v", id, n, dead[id])
			}
		}
	}
	if short > kills*partitions {
		t.Errorf("%d attempts are missing after %d kills", short, kills)
	}
}
