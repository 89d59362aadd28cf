package transfer_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/limit"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
)

type restrained struct {
	*engine.Engine
	t   *testing.T
	now *time.Time
}

func restrain(t *testing.T, s engine.Database, now *time.Time) restrained {
	t.Helper()
	e, err := engine.New(t.Context(), s, engine.Options{Now: func() time.Time { return *now },
		Config: settings.Config{OutageBreaker: settings.OutageBreaker{Enabled: settings.On, Failures: 3}}})
	if err != nil {
		t.Fatal(err)
	}
	return restrained{e, t, now}
}

type restraints struct {
	Outages []*task.Outage
	Limits  []engine.OperatorLimitView
	Pauses  []task.Pause
}

func (r restrained) show() (all restraints) {
	r.t.Helper()
	var errs [3]error
	all.Outages, _, errs[0] = r.Outages(r.t.Context(), engine.OutageFilter{Limit: 10})
	all.Limits, _, errs[1] = r.OperatorLimits(r.t.Context(), engine.OperatorLimitFilter{Limit: 10})
	all.Pauses, _, errs[2] = r.Pauses(r.t.Context(), engine.PauseFilter{Limit: 10})
	for _, err := range errs {
		if err != nil {
			r.t.Fatal(err)
		}
	}
	return all
}

func (r restrained) claim(handler string, n, want int) []engine.Lease {
	r.t.Helper()
	w, err := r.Register(r.t.Context(), task.Worker{Name: "größe", Handlers: []string{handler}})
	if err != nil {
		r.t.Fatal(err)
	}
	leases, _, err := r.Poll(r.t.Context(), w.ID, n, 0, true)
	if err != nil || len(leases) != want {
		r.t.Fatalf("%d steps of %s were claimed, %v; want %d", len(leases), handler, err, want)
	}
	return leases
}

func (r restrained) settle(leases []engine.Lease, status engine.ResultStatus) {
	r.t.Helper()
	results := make([]engine.Result, len(leases))
	for i, l := range leases {
		results[i] = engine.Result{Step: l.Step.ID, Token: l.Step.Token, Status: status}
		if status == engine.ResultFailed {
			results[i].Failure = &task.Failure{Message: "größe", Retryable: true}
		}
	}
	if _, err := r.Settle(r.t.Context(), results); err != nil {
		r.t.Fatal(err)
	}
	if err := r.CountBursts(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// TestCopyOutagesAndLimits: an open outage with a running probe, limits with permits and used rates, and a pause
// hold steps back at the target, too. The outage closes there, and permits end with their attempts.
func TestCopyOutagesAndLimits(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	from := filepath.Join(t.TempDir(), "tasker.db")
	s := openSQLite(t, from)
	r := restrain(t, s, &now)
	var subs []engine.Submission
	for _, handler := range strings.Fields("down down down down few few few rare rare rare still") {
		subs = append(subs, engine.Submission{TaskType: handler})
	}
	if _, err := r.Submit(t.Context(), subs, false); err != nil {
		t.Fatal(err)
	}
	target := func(handler string) task.PauseTarget {
		return task.PauseTarget{Kind: task.PauseHandler, Namespace: engine.DefaultNamespace, Name: handler}
	}
	for _, l := range []engine.LimitRequest{{Target: target("few"), Permits: 2, Actor: "ann", Reason: "größer"},
		{Target: target("rare"), Rate: limit.Rate{Count: 1, Per: time.Minute, Burst: 2}, Actor: "ann"}} {
		if _, _, err := r.SetLimit(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := r.Pause(t.Context(), engine.PauseRequest{Target: target("still"), Actor: "ann"}); err != nil {
		t.Fatal(err)
	}
	r.settle(r.claim("down", 3, 3), engine.ResultFailed)
	now = now.Add(10 * time.Second)
	probe, held := r.claim("down", 3, 1), r.claim("few", 3, 2)
	r.claim("rare", 3, 2)
	want := r.show()
	if len(want.Outages) != 1 || want.Outages[0].ProbeStep != probe[0].Step.ID || want.Limits[0].Held != 2 {
		t.Fatalf("the source has %+v", want)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	middle, back := pgtest.DSN(t), filepath.Join(t.TempDir(), "back.db")
	mustCopy(t, "sqlite:"+from, middle)
	mustCopy(t, middle, "sqlite:"+back)
	for name, s := range map[string]engine.Database{"PostgreSQL": openPostgres(t, middle), "SQLite": openSQLite(t, back)} {
		then := now
		r := restrain(t, s, &then)
		if diff := cmp.Diff(want, r.show()); diff != "" {
			t.Errorf("on %s it is something else (-source +target):\n%s", name, diff)
		}
		for _, handler := range []string{"down", "few", "rare", "still"} {
			r.claim(handler, 9, 0)
		}
		r.settle(probe, engine.ResultCompleted)
		if o := r.show().Outages[0]; o.Open() {
			t.Errorf("on %s the outage is open after its probe has succeeded", name)
		}
		r.settle(held, engine.ResultCompleted)
		r.claim("few", 9, 1)
		then = then.Add(time.Minute)
		r.claim("rare", 9, 1)
	}
}
