package scheduler_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/scheduler"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/model/schedule"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/store/sqlite"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
	"github.com/taskerhq/tasker/internal/testkit/sqlitetest"
	"github.com/taskerhq/tasker/worker/protocol"
)

// noon is a Sunday.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

type rig struct {
	t *testing.T
	*scheduler.Scheduler

	node   *node.Node
	client *tasker.Client
	told   told
	reopen func() *rig // another node on this database; nil if there can be none

	mu  sync.Mutex
	now time.Time
}

// told counts the observer's calls.
type told struct {
	mu   sync.Mutex
	list []string
}

func (o *told) add(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = append(o.list, fmt.Sprintf(format, args...))
}

func (o *told) Fired(_ string, kind scheduler.Kind, late time.Duration) {
	o.add("fired %s %s", kind, late)
}
func (o *told) Refused(string)                  { o.add("refused") }
func (o *told) Skipped(_, reason string, n int) { o.add("skipped %s %d", reason, n) }

func onEveryDatabase(t *testing.T, script func(t *testing.T, r *rig)) {
	t.Helper()
	onEveryDatabaseWith(t, settings.Config{}, script)
}

func onEveryDatabaseWith(t *testing.T, c settings.Config, script func(t *testing.T, r *rig)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		s, err := sqlite.Open(t.Context(), sqlitetest.File(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		script(t, newRig(t, s, c))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		dsn := postgrestest.DSN(t)
		open := func() engine.Database {
			s, err := postgres.Open(t.Context(), dsn, nil)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		r := newRig(t, open(), c)
		r.reopen = func() *rig { return newRig(t, open(), c) }
		script(t, r)
	})
}

func newRig(t *testing.T, s engine.Database, c settings.Config) *rig {
	t.Helper()
	r := &rig{t: t, now: noon}
	n, err := node.New(t.Context(), s, node.Options{Now: r.clock, Firings: &r.told, Engine: c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	r.node, r.Scheduler, r.client = n, n.Scheduler(), tasker.NewClient(n)
	return r
}

func (r *rig) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

func (r *rig) at(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = at
}

func (r *rig) fire() {
	r.t.Helper()
	for more := true; more; {
		var err error
		if _, more, err = r.Fire(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *rig) pass(d time.Duration) {
	r.t.Helper()
	r.at(r.clock().Add(d))
	r.fire()
}

// passUntilFired waits for the first firing: a slow database makes back-pressure's depth older.
func (r *rig) passUntilFired(name string) {
	r.t.Helper()
	for range 8 {
		r.pass(5 * time.Second)
		h, err := r.History(r.t.Context(), "default", name, 0, 1)
		if err != nil {
			r.t.Fatal(err)
		}
		if len(h.Firings) > 0 {
			return
		}
	}
	r.t.Fatalf("%s did not fire", name)
}

func (r *rig) template(yaml string) {
	r.t.Helper()
	if _, err := r.client.RegisterTemplate(r.t.Context(), tasker.TemplateSource{YAML: yaml}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) save(cron string, set ...func(*schedule.Spec)) *schedule.Schedule {
	r.t.Helper()
	spec := &schedule.Spec{Namespace: "default", Name: "nightly", Cron: cron, TaskType: "report"}
	for _, fn := range set {
		fn(spec)
	}
	saved, err := r.Save(r.t.Context(), spec, scheduler.By{}, false)
	if err != nil {
		r.t.Fatal(err)
	}
	return saved.After
}

// history returns past times, earliest first, as "kind time state/outcome" and "reason first..last count".
func (r *rig) history() []string {
	r.t.Helper()
	h, err := r.History(r.t.Context(), "default", "nightly", 0, 2000)
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	clock := func(at task.Instant) string { return at.Time().Format("02T15:04:05") }
	f, s := h.Firings, h.Skips
	for len(f)+len(s) > 0 {
		if len(s) == 0 || len(f) > 0 && f[len(f)-1].At < s[len(s)-1].Last {
			last := f[len(f)-1]
			text := fmt.Sprintf("%s %s %s", last.Kind, clock(last.At), last.State)
			if last.State == scheduler.Ended {
				text += " " + string(last.Outcome)
			}
			out, f = append(out, text), f[:len(f)-1]
			continue
		}
		last := s[len(s)-1]
		out, s = append(out, fmt.Sprintf("%s %s..%s %d", last.Reason, clock(last.First), clock(last.Last), last.Count)),
			s[:len(s)-1]
	}
	return out
}

func (r *rig) want(lines ...string) {
	r.t.Helper()
	if got, want := strings.Join(r.history(), "\n"), strings.Join(lines, "\n"); got != want {
		r.t.Fatalf("the history is\n%s\nwant\n%s", got, want)
	}
}

func (r *rig) tasks() []string {
	r.t.Helper()
	page, err := r.client.Tasks(r.t.Context(), tasker.TaskFilter{Limit: 1000})
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for _, t := range page.Tasks {
		out = append(out, fmt.Sprintf("%s %s", t.Schedule.Time.UTC().Format("02T15:04:05"), t.State))
	}
	return out
}

func (r *rig) wantTasks(n int) {
	r.t.Helper()
	if got := r.tasks(); len(got) != n {
		r.t.Fatalf("there are %d tasks, want %d: %v", len(got), n, got)
	}
}

func (r *rig) work(fails bool) {
	r.t.Helper()
	w, err := protocol.Of(r.client).RegisterWorker(r.t.Context(), protocol.WorkerRegistration{Name: uuid.NewString(),
		Namespaces: []string{protocol.AllNamespaces}, Capacity: 1000})
	if err != nil {
		r.t.Fatal(err)
	}
	polled, err := protocol.Of(r.client).Poll(r.t.Context(),
		protocol.PollRequest{WorkerID: w.WorkerID, Capacity: 1000, Start: true})
	if err != nil {
		r.t.Fatal(err)
	}
	var results []protocol.StepResult
	for _, s := range polled.Steps {
		result := protocol.StepResult{StepUUID: s.StepUUID, Token: s.Token, Status: protocol.ResultCompleted}
		if fails {
			result.Status = protocol.ResultFailed
			result.Error = &tasker.Failure{Type: "Broken", Message: "broken", Retryable: new(bool)}
		}
		results = append(results, result)
	}
	if len(results) == 0 {
		return
	}
	if _, err := protocol.Of(r.client).Settle(r.t.Context(),
		protocol.SettleRequest{WorkerID: w.WorkerID, Results: results}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) refused(err error, code task.Code) {
	r.t.Helper()
	if task.CodeOf(err) != code {
		r.t.Fatalf("answered %v, want the code %s", err, code)
	}
}
