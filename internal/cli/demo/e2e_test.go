package demo

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/embedded"
)

// endToEnd is the number of tested reports: record 277 is dirty in two branches, and 342 repeats 341.
const endToEnd = 400

// expected is the pure functions' result for the first reports.
type expected struct {
	tasks, failed, duplicates int
	causes                    map[cause]int
}

func expect(t *testing.T, rows []Row) expected {
	t.Helper()
	e := expected{causes: map[cause]int{}}
	seen := map[Row]bool{}
	for _, row := range rows {
		filed := row
		filed.Record = 0
		if seen[filed] {
			e.duplicates++
			continue
		}
		seen[filed] = true
		e.tasks++
		o := predict(t, row)
		if len(o.refused) > 0 {
			e.failed++
		}
		for step, d := range o.refused {
			e.causes[cause{step, d.Code, d.Kind}]++
		}
	}
	return e
}

// TestWholeRun pins the figures that docs/start/demo.md quotes.
func TestWholeRun(t *testing.T) {
	t.Parallel()
	e := expect(t, rowsOf(t))
	failedSteps := 0
	for _, n := range e.causes {
		failedSteps += n
	}
	if e.tasks != 9976 || e.duplicates != 24 || e.failed != 558 || failedSteps != 565 {
		t.Errorf("tasks %d, duplicates %d, failed %d, failed steps %d; want 9976, 24, 558, 565", e.tasks, e.duplicates,
			e.failed, failedSteps)
	}
}

// TestEndToEnd runs the demo over a real engine on a file, and repairs failures as the summary proposes.
func TestEndToEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	client, err := embedded.Open(ctx, "sqlite:"+filepath.Join(t.TempDir(), "demo.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	opts := Options{Records: endToEnd, Batch: 64, Logger: slog.New(slog.DiscardHandler)}
	want := expect(t, rowsOf(t)[:endToEnd])
	if want.duplicates == 0 || want.failed < 5 {
		t.Fatalf("the first %d rows are too clean to prove anything: %+v", endToEnd, want)
	}

	// The second run on the file must not count the first one's.
	var sum Summary
	for range 2 {
		if sum, err = Run(ctx, client, opts); err != nil {
			t.Fatal(err)
		}
		checkSummary(t, sum, want)
	}
	repairs(t, client, opts, sum)
}

func checkSummary(t *testing.T, sum Summary, want expected) {
	t.Helper()
	if sum.Tasks != want.tasks || sum.Duplicates != want.duplicates || sum.Failed != want.failed ||
		sum.Completed != want.tasks-want.failed {
		t.Errorf("tasks %d, duplicates %d, failed %d, completed %d; want %d, %d, %d, %d", sum.Tasks, sum.Duplicates,
			sum.Failed,
			sum.Completed, want.tasks, want.duplicates, want.failed, want.tasks-want.failed)
	}
	if !sum.Sound() {
		t.Errorf("lost %d, settled twice %d", sum.Lost, sum.SettledTwice)
	}
	got := map[cause]int{}
	for _, g := range sum.Failures {
		got[cause{g.Step, g.Code, dirtKind(g.ErrorType)}] = g.Count
		row := rowsOf(t)[g.Example.Record-1]
		d := predict(t, row).refused[g.Step]
		if d == nil || d.Code != g.Code || d.Message != g.Example.Message || d.Field != g.Example.Field ||
			d.Value != g.Example.Value {
			t.Errorf("example is %+v, the rules say %+v", g.Example, d)
		}
	}
	if !maps.Equal(got, want.causes) {
		t.Errorf("causes are %v, want %v", got, want.causes)
	}
}

// repairs repairs the first missing prices: one as the summary proposes, one by continuing without a price.
func repairs(t *testing.T, client *tasker.Client, opts Options, sum Summary) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	worked := make(chan error, 1)
	go func() { worked <- Work(ctx, client, opts) }()

	g := sum.Failures[0]
	fix, ok := sum.repair(g)
	if !ok {
		t.Fatalf("no repair for %+v", g)
	}
	putRight(ctx, t, client, g.Example, tasker.StepAction{
		ActionType: tasker.CompleteManually, CompletedBy: "test", Reason: fix.Reason,
		CompletionData: &tasker.CompletionData{Result: json.RawMessage(fix.Result)},
	}, "substantial damage, 25000 dollars")

	i := slices.IndexFunc(sum.Failures, func(g FailureGroup) bool { return g.Code == "damage_code_unknown" })
	if i < 0 {
		t.Fatal("no unknown grade of damage to go on without")
	}
	putRight(ctx, t, client, sum.Failures[i].Example, tasker.StepAction{
		ActionType: tasker.ResolveManually, ResolvedBy: "test", Reason: "nobody knows any more",
	}, "damage not settled")

	cancel()
	if err := <-worked; err != nil {
		t.Error(err)
	}
}

func putRight(ctx context.Context, t *testing.T, client *tasker.Client, e Example, deed tasker.StepAction,
	ending string,
) {
	t.Helper()
	if _, err := client.ActOnStep(ctx, e.TaskUUID, e.StepUUID, deed); err != nil {
		t.Fatal(err)
	}
	done, err := client.Wait(ctx, e.TaskUUID)
	if err != nil {
		t.Fatal(err)
	}
	var report Report
	if err := client.Result(ctx, done.TaskUUID, stepPublish, &report); err != nil {
		t.Fatal(err)
	}
	if done.State != tasker.TaskComplete || !strings.HasSuffix(report.Headline, ending) {
		t.Errorf("repaired task is %s, its report %+v; want %q", done.State, report, ending)
	}
}
