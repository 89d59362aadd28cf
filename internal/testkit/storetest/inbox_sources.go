package storetest

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

func sourceCases() []inboxCase {
	return []inboxCase{
		{"RoundTrip", sourceRoundTrip},
		{"Intake", sourceIntake},
		{"Reader", sourceReader},
		{"Policies", policies},
		{"Versions", versions},
	}
}

func (f *inboxFixture) saveSource(s *deadletter.Source) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.inbox.SaveSource(ctx, tx, s) })
}

func sourceRoundTrip(f *inboxFixture) {
	s := &deadletter.Source{Namespace: "default", Name: "orders", Driver: "redis", URL: "redis://h", Queue: "dlq",
		Format: "raw", Targets: []string{"orders.*", "x"}, MaxReplays: 3, MaxOpen: 100, Paused: true, Version: 1}
	other := &deadletter.Source{Namespace: "elsewhere", Name: "orders", Driver: "http", Version: 1}
	f.saveSource(s)
	f.saveSource(other)
	find := func(want *deadletter.Source) {
		f.Helper()
		got, err := f.inbox.FindSource(f.Context(), s.Namespace, s.Name)
		f.must(err)
		f.same("FindSource", got, want)
	}
	find(s)
	s.Driver, s.Targets, s.Paused, s.MaxOpen, s.Version = "kafka", nil, false, 0, 2
	f.saveSource(s)
	find(s)
	all, err := f.inbox.Sources(f.Context(), "")
	f.must(err)
	f.same("all sources", all, []*deadletter.Source{s, other})
	all, err = f.inbox.Sources(f.Context(), "elsewhere")
	f.must(err)
	f.same("sources of a namespace", all, []*deadletter.Source{other})
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.inbox.DropSource(ctx, tx, s) })
	find(nil)
}

// sourceIntake: the intake is part of a source, and removable.
func sourceIntake(f *inboxFixture) {
	retries := 0
	s := &deadletter.Source{Namespace: "default", Name: "orders", Driver: "redis", Queue: "orders", Version: 1,
		Intake: &deadletter.Intake{TaskType: "/type", Priority: "header:p", MinPriority: "low", MaxPriority: "9",
			IdempotencyKey: "message:id", CorrelationID: "/c", Delay: "3s", Input: deadletter.InputMessage,
			MaxRetries: &retries, Timeout: time.Minute, Tags: []string{"a", "ü"}, WriteFailures: "dlq:orders"}}
	f.saveSource(s)
	find := func() {
		f.Helper()
		got, err := f.inbox.FindSource(f.Context(), s.Namespace, s.Name)
		f.must(err)
		f.same("FindSource", got, s)
	}
	find()
	s.Intake, s.Version = nil, 2
	f.saveSource(s)
	find()
}

func sourceReader(f *inboxFixture) {
	f.saveSource(&deadletter.Source{Namespace: "default", Name: "orders"})
	take := func(name, node string, now task.Instant) (taken bool) {
		f.Helper()
		f.write(func(ctx context.Context, tx engine.Tx) (err error) {
			taken, err = f.inbox.TakeSource(ctx, tx, "default", name, node, now, now.Add(time.Minute))
			return err
		})
		return taken
	}
	for i, step := range []struct {
		name, node string
		after      time.Duration
		want       bool
	}{
		{"orders", "a", 0, true},
		{"orders", "b", 59 * time.Second, false},
		{"orders", "a", 30 * time.Second, true}, // until 1:30
		{"orders", "b", 89 * time.Second, false},
		{"orders", "b", 90 * time.Second, true},
		{"orders", "a", 91 * time.Second, false},
		{"none", "a", 0, false},
	} {
		if got := take(step.name, step.node, f.now.Add(step.after)); got != step.want {
			f.Errorf("step %d: %s takes %s: %v, want %v", i, step.node, step.name, got, step.want)
		}
	}
}

func policies(f *inboxFixture) {
	p := &deadletter.Policy{Namespace: "default", Source: "orders", Strategy: model.Exponential, MaxRetries: 3,
		KeepExhausted: true, Base: time.Second, Cap: time.Hour, Multiplier: 1.7, Jitter: 0.25, At: time.Minute,
		MaxAge: 48 * time.Hour, OnlyTypes: []string{"a", "b\x00"}, Version: 1}
	special := &deadletter.Policy{Namespace: "default", Source: "orders", Origin: "in", Strategy: model.Manual,
		Version: 1}
	save := func(p *deadletter.Policy) {
		f.Helper()
		f.write(func(ctx context.Context, tx engine.Tx) error { return f.inbox.SavePolicy(ctx, tx, p) })
	}
	list := func(namespace string, want ...*deadletter.Policy) {
		f.Helper()
		got, err := f.inbox.Policies(f.Context(), namespace)
		f.must(err)
		f.same("Policies", got, want)
	}
	save(p)
	save(special)
	list("", p, special)
	p.MaxRetries, p.Version = 5, 2
	save(p)
	list("default", p, special)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return f.inbox.DropPolicy(ctx, tx, p)
	})
	list("default", special)
	list("elsewhere")
}

// versions changes and removes a source and a policy only in the expected version.
func versions(f *inboxFixture) {
	s := &deadletter.Source{Namespace: "default", Name: "orders", Driver: "http"}
	p := &deadletter.Policy{Namespace: "default", Source: "orders", Strategy: model.Manual}
	attempt := func(want task.Code, fn func(ctx context.Context, tx engine.Tx) error) {
		f.Helper()
		if err := f.store.Write(f.Context(), fn); task.CodeOf(err) != want {
			f.Errorf("version %d: %v, want %q", s.Version, err, want)
		}
	}
	for _, step := range []struct {
		version int64
		drop    bool
		want    task.Code
	}{
		{1, false, ""}, {1, false, task.Conflict}, {3, false, task.Conflict}, {2, false, ""}, {2, false, task.Conflict},
		{1, true, task.Conflict}, {2, true, ""}, {2, true, task.Conflict}, {1, false, ""},
	} {
		s.Version, p.Version = step.version, step.version
		attempt(step.want, func(ctx context.Context, tx engine.Tx) error {
			if step.drop {
				return f.inbox.DropSource(ctx, tx, s)
			}
			return f.inbox.SaveSource(ctx, tx, s)
		})
		attempt(step.want, func(ctx context.Context, tx engine.Tx) error {
			if step.drop {
				return f.inbox.DropPolicy(ctx, tx, p)
			}
			return f.inbox.SavePolicy(ctx, tx, p)
		})
	}
}
