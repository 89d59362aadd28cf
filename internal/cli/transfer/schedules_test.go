package transfer_test

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/schedules"
)

func scheduling(t *testing.T, s engine.Database, now *time.Time) *node.Node {
	t.Helper()
	n, err := node.New(t.Context(), s, node.Options{Now: func() time.Time { return *now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

func fires(t *testing.T, n *node.Node) {
	t.Helper()
	for more := true; more; {
		var err error
		if _, more, err = n.Scheduler().Fire(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func showSchedules(t *testing.T, n *node.Node) (all []any) {
	t.Helper()
	list, err := n.Schedules().Schedules(t.Context(), schedules.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, list)
	for _, s := range list.Schedules {
		one, err := n.Schedules().Schedule(t.Context(), s.Namespace, s.Name)
		if err != nil {
			t.Fatal(err)
		}
		firings, err := n.Schedules().Firings(t.Context(), s.Namespace, s.Name, schedules.FiringFilter{})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one, firings)
	}
	return all
}

// TestCopySchedules: schedules continue at the target with firings, waiting ones, skips, and a pause. Fired times
// do not fire again.
func TestCopySchedules(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	from := filepath.Join(t.TempDir(), "tasker.db")
	s := openSQLite(t, from)
	n, err := node.New(t.Context(), s, node.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	for name, overlap := range map[string]schedules.Overlap{"größe": schedules.OverlapOne,
		"paused": schedules.OverlapSkip} {
		if _, err := n.Schedules().Save(t.Context(), schedules.ScheduleRequest{Spec: schedules.Spec{Namespace: "büro",
			Name: name, Description: `"<&>"`, Cron: "@every 1m", TimeZone: "Europe/Berlin", Overlap: overlap,
			TaskType: "nobody", Context: json.RawMessage(`{"z": 1.50, "a": [null, "Grüße"]}`), Tags: []string{"b", "Zebra"},
			TimeField: "at"}}); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 { // the first runs, the second waits or is skipped, and so on
		now = now.Add(time.Minute)
		fires(t, n)
	}
	until := now.Add(time.Hour)
	if _, err := n.Schedules().Pause(t.Context(), "büro", "paused", schedules.SchedulePauseRequest{Until: &until,
		ScheduleAct: schedules.ScheduleAct{Actor: "ann", Reason: "größer"}}); err != nil {
		t.Fatal(err)
	}
	want := showSchedules(t, n)
	history, err := n.Schedules().Firings(t.Context(), "büro", "größe", schedules.FiringFilter{})
	if err != nil || len(history.Firings) != 2 || len(history.Skips) == 0 {
		t.Fatalf("%+v, %v", history, err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}

	middle, back := pgtest.DSN(t), filepath.Join(t.TempDir(), "back.db")
	mustCopy(t, "sqlite:"+from, middle)
	mustCopy(t, middle, "sqlite:"+back)
	for name, s := range map[string]engine.Database{"PostgreSQL": openPostgres(t, middle), "SQLite": openSQLite(t, back)} {
		n := scheduling(t, s, &now)
		fires(t, n)
		if diff := cmp.Diff(want, showSchedules(t, n)); diff != "" {
			t.Errorf("on %s the schedules are others (-source +target):\n%s", name, diff)
		}
	}
}
