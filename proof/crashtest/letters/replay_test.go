//go:build unix

package letters_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/internal/testkit/process"
	"github.com/taskerhq/tasker/proof/crashtest/account"
	"github.com/taskerhq/tasker/remote"
)

const (
	replayed     = 3000            // records of the topic
	replayRate   = 1500            // a second, so that kills hit running replays
	replayKills  = 3               // while they are at work
	replayWithin = 3 * time.Minute // bounds the time until a broken replay fails the test
)

// TestKillReplays kills nodes while one replay of a real Kafka topic makes letters and another makes tasks. Each record
// must be one letter and one task, as the counts of the replays say.
func TestKillReplays(t *testing.T) {
	t.Parallel()
	broker := kafkatest.Shared(t)
	for name, c := range map[string]struct {
		dsn   func(*testing.T) string
		nodes int
	}{
		"SQLite":     {func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "tasker.db") }, 1},
		"PostgreSQL": {func(t *testing.T) string { return pgtest.DSN(t) }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), replayWithin)
			defer cancel()
			r := newReplayRun(ctx, t, broker, c.dsn(t), c.nodes)
			letters := r.start(ctx, deadletters.ReplaySpec{Into: "inbox", Rate: replayRate})
			tasks := r.start(ctx, deadletters.ReplaySpec{Intake: &deadletters.Intake{TaskType: "mail"}, Rate: replayRate})
			for kill := range replayKills {
				r.reach(ctx, letters, int64(replayed*(kill+1)/(replayKills+1)))
				s := r.nodes.Servers[kill%len(r.nodes.Servers)]
				s.Kill()
				s.Gone()
				r.must(s.Start(ctx))
			}
			want := deadletters.ReplayCounts{Letters: replayed}
			if got := r.reach(ctx, letters, replayed); got.Counts != want {
				t.Errorf("the replay into the inbox has counted %+v", got.Counts)
			}
			want = deadletters.ReplayCounts{Tasks: replayed}
			if got := r.reach(ctx, tasks, replayed); got.Counts != want {
				t.Errorf("the replay as tasks has counted %+v", got.Counts)
			}
			once(t, "letters", r.letters(ctx))
			once(t, "tasks", r.tasks(ctx))
		})
	}
}

// replayRun is some nodes on one database, with a source of a topic without other readers.
type replayRun struct {
	*run
	t      *testing.T
	client *tasker.Client
}

func newReplayRun(ctx context.Context, t *testing.T, broker, dsn string, nodes int) *replayRun {
	t.Helper()
	r := &replayRun{run: &run{}, t: t}
	topic := kafkatest.NewTopic(t, broker, 3)
	var records []*kgo.Record
	for n := range replayed {
		records = append(records, &kgo.Record{Topic: topic, Key: fmt.Append(nil, n), Value: fmt.Appendf(nil, `{"n":%d}`, n)})
	}
	r.must(kafkatest.Client(t, broker).ProduceSync(ctx, records...).FirstErr())
	program, err := os.Executable()
	r.must(err)
	group, err := process.NewGroup()
	r.must(err)
	t.Cleanup(group.Close)
	addresses, err := process.Addresses(nodes)
	r.must(err)
	for _, address := range addresses {
		log, err := os.Create(filepath.Join(t.TempDir(), "server.log"))
		r.must(err)
		t.Cleanup(func() { log.Close() })
		s := &process.Server{Program: program, DSN: dsn, Address: address, Log: log, Group: group,
			Env: append(process.ShortLeases(), "CRASH_BROKER=none")}
		r.must(s.Start(ctx))
		client, err := remote.Dial(s.URL(), &remote.Options{RequestTimeout: 10 * time.Second})
		r.must(err)
		t.Cleanup(func() { client.Close() })
		r.nodes.Servers, r.nodes.Backends = append(r.nodes.Servers, s), append(r.nodes.Backends, deadletters.Of(client))
		r.client = client
	}
	_, err = r.nodes.Backends[0].SaveSource(ctx, deadletters.SourceRequest{Source: deadletters.Source{Name: "orders",
		Driver: "kafka", URL: broker, Queue: topic, Paused: true}})
	r.must(err)
	return r
}

func (r *replayRun) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *replayRun) start(ctx context.Context, spec deadletters.ReplaySpec) uuid.UUID {
	r.t.Helper()
	got, err := r.nodes.Backends[0].CreateReplay(ctx, deadletters.TopicReplayRequest{Source: "orders", ReplaySpec: spec,
		Start: true})
	r.must(err)
	return got.ReplayUUID
}

// reach waits until a replay has read so many offsets; all of them: until it is done.
func (r *replayRun) reach(ctx context.Context, id uuid.UUID, offsets int64) *deadletters.TopicReplay {
	r.t.Helper()
	for {
		got, err := account.Ask(ctx, &r.nodes, func(b deadletters.Backend) (*deadletters.TopicReplay, error) {
			return b.Replay(ctx, id)
		})
		r.must(err)
		if got.State.Ended() || offsets < replayed && replayed-got.Left() >= offsets {
			if got.State == deadletters.ReplayCancelled {
				r.t.Fatalf("the replay is %s", got.State)
			}
			return got
		}
		if got.State == deadletters.ReplayFailed {
			r.t.Fatalf("the replay has failed: %s", got.Why)
		}
		select {
		case <-ctx.Done():
			r.t.Fatalf("the replay is %s after %s, with %d offsets left: %s", got.State, replayWithin, got.Left(), got.Why)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (r *replayRun) letters(ctx context.Context) (out []json.RawMessage) {
	r.t.Helper()
	for f := (deadletters.LetterFilter{Limit: 1000}); ; {
		page, err := r.nodes.Backends[0].Letters(ctx, f)
		r.must(err)
		for i := range page.Letters {
			out = append(out, page.Letters[i].Original.Payload)
		}
		if f.Cursor = page.NextCursor; f.Cursor == "" {
			return out
		}
	}
}

func (r *replayRun) tasks(ctx context.Context) (out []json.RawMessage) {
	r.t.Helper()
	for f := (tasker.TaskFilter{Name: "mail", WithContext: true, Limit: 1000}); ; {
		page, err := r.client.Tasks(ctx, f)
		r.must(err)
		for i := range page.Tasks {
			out = append(out, page.Tasks[i].Context)
		}
		if f.Cursor = page.NextCursor; f.Cursor == "" {
			return out
		}
	}
}

func once(t *testing.T, what string, all []json.RawMessage) {
	t.Helper()
	times := map[int]int{}
	for _, raw := range all {
		var record struct{ N int }
		if err := json.Unmarshal(raw, &record); err != nil {
			t.Fatalf("%s: %q: %v", what, raw, err)
		}
		times[record.N]++
	}
	lost, twice := 0, 0
	for n := range replayed {
		switch times[n] {
		case 0:
			lost++
		case 1:
		default:
			twice++
		}
	}
	if lost+twice > 0 || len(all) != replayed {
		t.Errorf("%d %s of %d records: %d lost, %d twice", len(all), what, replayed, lost, twice)
	}
}
