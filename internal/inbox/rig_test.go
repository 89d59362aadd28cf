package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/broker/webhook"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/capture"
	"github.com/taskerhq/tasker/internal/inbox/groups"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/store/sqlite"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
	"github.com/taskerhq/tasker/internal/testkit/sqlitetest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// rig is an inbox with its own clock, and a broker with a controllable consumer.
type rig struct {
	t *testing.T
	*inbox.Inbox
	node     *node.Node
	db       engine.Database
	client   *tasker.Client
	broker   *broker
	commits  commits
	told     tally
	carriers map[string]inbox.Carrier
	webhooks []webhook.Endpoint

	mu  sync.Mutex
	now time.Time
}

func onEveryDatabase(t *testing.T, script func(t *testing.T, r *rig), options ...func(*node.Options)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		s, err := sqlite.Open(t.Context(), sqlitetest.File(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		script(t, newRig(t, s, options...))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		s, err := postgres.Open(t.Context(), postgrestest.DSN(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		script(t, newRig(t, s, options...))
	})
}

func newRig(t *testing.T, s engine.Database, options ...func(*node.Options)) *rig {
	t.Helper()
	r := &rig{t: t, db: s, now: noon, broker: newBroker()}
	opts := node.Options{Now: r.clock, Observer: &r.commits, Letters: &r.told,
		Carriers: map[string]inbox.Carrier{"memory": r.broker}}
	for _, set := range options {
		set(&opts)
	}
	n, err := node.New(t.Context(), s, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	r.carriers, r.webhooks = opts.Carriers, opts.Webhooks
	r.node, r.Inbox, r.client = n, n.Inbox(), tasker.NewClient(n)
	r.source(deadletter.Source{Namespace: "default", Name: "orders", Driver: "memory", Queue: "orders.dlq"})
	return r
}

func (r *rig) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// pass lets time pass and runs the loops.
func (r *rig) pass(d time.Duration) {
	r.t.Helper()
	r.later(d)
	if err := r.node.RunOnce(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// later only lets time pass.
func (r *rig) later(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

func (r *rig) source(s deadletter.Source) {
	r.t.Helper()
	if _, err := r.SaveSource(r.t.Context(), &s, inbox.By{}); err != nil {
		r.t.Fatal(err)
	}
}

// die captures messages of the source "orders" as its consumer would.
func (r *rig) die(list ...inbox.Arrival) []capture.Receipt {
	r.t.Helper()
	got, err := r.Capture(r.t.Context(), &deadletter.Source{Namespace: "default", Name: "orders", Driver: "memory"}, list)
	if err != nil {
		r.t.Fatal(err)
	}
	return got
}

func dead(n int, cause string) inbox.Arrival {
	return inbox.Arrival{Report: inbox.Report{MessageID: fmt.Sprintf("m%d", n), Origin: "orders", Handler: "ship",
		Content: deadletter.Content{Payload: fmt.Appendf(nil, `{"order":%d}`, n)},
		Failure: failure.Report{Type: cause, Message: fmt.Sprintf("%s of order %d", cause, n), Retryable: true}, Attempts: 3},
		Format: "tasker"}
}

func placed(n int, cause string) inbox.Arrival {
	a := dead(n, cause)
	a.Position = fmt.Sprint("orders.dlq@", n)
	return a
}

// as "title open", the fullest first
func (r *rig) groups() []string {
	r.t.Helper()
	page, err := r.Groups(r.t.Context(), groups.GroupFilter{Order: "open", Limit: 100}, "")
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for _, g := range page.Groups {
		out = append(out, fmt.Sprintf("%s %s %d", g.Print.Type, g.State, g.OpenLetters+g.OpenCases))
	}
	return out
}

func (r *rig) want(what string, got, want any) {
	r.t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		r.t.Fatalf("%s: %s, want %s", what, g, w)
	}
}

func (r *rig) refused(err error, code task.Code) {
	r.t.Helper()
	if task.CodeOf(err) != code {
		r.t.Fatalf("answered %v, want the code %s", err, code)
	}
}

func (r *rig) letter(id task.ID) *deadletter.Letter {
	r.t.Helper()
	s, err := r.Letter(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return s.Letter
}

// broker is a carrier whose consumer immediately reports messages that it cannot process.
type broker struct {
	mu     sync.Mutex
	queues map[string]bool
	sent   []string
	got    map[string][]byte
	to     []string                  // "namespace destination" of each send
	fails  func(seam.Outgoing) error // the broker's answer; nil: it takes everything
	reads  [][]inbox.Arrival
	gone   *seam.GoneError // reported once
	during func()          // runs once during a send; may be nil
	// before and after run around each send of a source's letters; may be nil.
	after   func(source string)
	before  func(ctx context.Context, source string)
	waiting int64  // messages not captured
	asked   func() // runs once, right after the answer to a count; may be nil
	down    bool
	log     *log // of the queue; may be nil
}

func newBroker() *broker {
	return &broker{queues: map[string]bool{"orders": true, "orders.dlq": true}, got: map[string][]byte{}}
}

func (b *broker) Exists(_ context.Context, _ *deadletter.Source, destination string) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if destination == "down" {
		return false, errors.New("the broker is down")
	}
	return b.queues[destination], nil
}

func (b *broker) OnTheWay(*deadletter.Source) bool { return false }

func (b *broker) Depth(context.Context, *deadletter.Source) (int64, error) {
	b.mu.Lock()
	down, n, asked := b.down, b.waiting, b.asked
	b.asked = nil
	b.mu.Unlock()
	if asked != nil {
		asked()
	}
	if down {
		return 0, errors.New("the broker is down")
	}
	return n, nil
}

func (*broker) Lag(context.Context, *deadletter.Source) (map[int32]int64, error) { return nil, nil }

func (*broker) Breaker(*deadletter.Source) task.BreakerState { return task.BreakerClosed }

func (b *broker) Send(ctx context.Context, s *deadletter.Source, to string, letters []seam.Outgoing) []error {
	if b.before != nil {
		b.before(ctx, s.Name)
	}
	errs := b.deliver(letters)
	b.mu.Lock()
	b.to = append(b.to, s.Namespace+" "+to)
	during := b.during
	b.during = nil
	b.mu.Unlock()
	if during != nil {
		during()
	}
	if b.after != nil {
		b.after(s.Name)
	}
	return errs
}

func (b *broker) deliver(letters []seam.Outgoing) []error {
	b.mu.Lock()
	defer b.mu.Unlock()
	errs := make([]error, len(letters))
	for i, l := range letters {
		if b.fails != nil {
			if errs[i] = b.fails(l); errs[i] != nil && !errors.Is(errs[i], seam.ErrUnknown) {
				continue
			}
		}
		b.sent = append(b.sent, l.Letter.ID.String())
		b.got[l.Letter.ID.String()] = l.Content.Payload
	}
	return errs
}

func (b *broker) Peek(context.Context, *deadletter.Source, int) ([]inbox.Arrival, error) {
	return nil, seam.ErrNoPeek
}

func (b *broker) Read(ctx context.Context, _ *deadletter.Source, _ seam.ReadOptions,
	capture func([]inbox.Arrival) (store func(context.Context) error), report func(error),
) {
	for {
		b.mu.Lock()
		var next []inbox.Arrival
		if len(b.reads) > 0 {
			next = b.reads[0]
		}
		if b.gone != nil {
			report(b.gone)
			b.gone = nil
		}
		b.mu.Unlock()
		if next != nil {
			err := capture(next)(ctx)
			report(err)
			if err == nil {
				b.mu.Lock()
				b.reads = b.reads[1:]
				b.mu.Unlock()
				continue
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Millisecond):
		}
	}
}

func (b *broker) deliveries() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[string]int{}
	for _, id := range b.sent {
		out[id]++
	}
	return out
}

// back is the new death of a sent letter, by a cause.
func back(l *deadletter.Letter, cause string) inbox.Arrival {
	a := dead(0, cause)
	a.MessageID = ""
	a.Letter, a.Content = l.ID, l.Outgoing()
	a.Content.Headers = []deadletter.Header{{Name: deadletter.HeaderLetter, Value: []byte(l.ID.String())}}
	a.Position = "again/" + l.ID.String() + fmt.Sprint(l.Replays)
	a.Replays = l.Replays
	if l.State == model.LetterRedriving {
		a.Replays++
	}
	return a
}

func joined(list []string) string { return strings.Join(slices.Clone(list), "; ") }
