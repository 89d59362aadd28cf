package bench_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/bench"
)

// Every phase runs and counts; what it measures is not judged here.
func TestThroughput(t *testing.T) {
	t.Parallel()
	r, err := bench.Run(t.Context(), bench.Options{DB: filepath.Join(t.TempDir(), "b.db"), Tasks: 300, Workers: 10, Producers: 4})
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*bench.Phase{"insert": r.Insert, "bulk_insert": r.BulkInsert, "drain": r.Drain, "end_to_end": r.EndToEnd} {
		if p == nil || p.PerSecond <= 0 || p.Seconds <= 0 {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestLatency(t *testing.T) {
	t.Parallel()
	r, err := bench.Run(t.Context(), bench.Options{DB: filepath.Join(t.TempDir(), "b.db"), Mode: bench.Latency, Tasks: 5, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	if r.Submit == nil || r.SubmitToStart == nil || r.Submit.P50 <= 0 || r.SubmitToStart.P50 <= 0 || r.Workflow == nil {
		t.Errorf("%+v", r)
	}
}

func TestDepth(t *testing.T) {
	t.Parallel()
	r, err := bench.Run(t.Context(), bench.Options{DB: filepath.Join(t.TempDir(), "b.db"), Mode: bench.Depth, Tasks: 2000})
	if err != nil {
		t.Fatal(err)
	}
	if r.Depth == nil || r.Depth.ClaimOne == nil || r.Depth.ClaimMany == nil || r.Depth.ClaimsPerSecond <= 0 || r.Depth.ClaimsShort <= 0 || r.Depth.StartUpMS <= 0 || len(r.Depth.PagesMS) == 0 {
		t.Errorf("%+v", r.Depth)
	}
}

func TestWorkers(t *testing.T) {
	t.Parallel()
	r, err := bench.Run(t.Context(), bench.Options{DB: filepath.Join(t.TempDir(), "b.db"), Mode: bench.Fleet, Tasks: 990, Workers: 150, Window: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	f := r.Fleet
	if f == nil || f.Idle == nil || f.Sets != 100 || f.Queued != 990 || len(f.Claims) != 2 || f.Idle.Servers != nil {
		t.Fatalf("%+v", f)
	}
	for _, c := range f.Claims {
		if c.Alone == nil || c.Among == nil || c.Alone.P50US <= 0 || c.Among.P50US <= 0 {
			t.Errorf("%+v", c)
		}
	}
}

// Every number of cases mode is there, for a thousandth of what it is meant for.
func TestCases(t *testing.T) {
	t.Parallel()
	r, err := bench.Run(t.Context(), bench.Options{DB: filepath.Join(t.TempDir(), "b.db"), Mode: bench.Cases, Tasks: 2000})
	if err != nil {
		t.Fatal(err)
	}
	checkCases(t, r.Cases)
}

func checkCases(t *testing.T, c *bench.CasesReport) {
	t.Helper()
	if c == nil || c.Live != 2000 || c.PerRound != 2 || c.Cases != 200 || c.Survey == nil || c.Detect == nil || c.DetectNone == nil || c.Resolve == nil {
		t.Fatalf("%+v", c)
	}
	if c.Detect.MedianMS <= 0 || c.Detect.SlowestMS < c.Detect.MedianMS {
		t.Errorf("detection: %+v", c.Detect)
	}
	if len(c.Producers) != 5 {
		t.Errorf("%d ways to open a case, not 5", len(c.Producers))
	}
	for _, p := range c.Producers {
		if p.Tasks != 20 || p.With == nil || p.With.PerSecond <= 0 || (p.Without == nil) != (p.Reason == "manual_dlq" || p.Reason == "worker_unavailable") {
			t.Errorf("%s: %+v", p.Reason, p)
		}
	}
	asked := map[string]int{}
	for _, p := range c.Pages {
		kind, _, _ := strings.Cut(p.Name, ":")
		asked[kind]++
		if p.SlowestMS < p.MedianMS {
			t.Errorf("%+v", p)
		}
	}
	for kind, least := range map[string]int{"list": 20, "queue": 20, "stats": 20, "staleness": 4, "audit": 4} {
		if asked[kind] < least {
			t.Errorf("%d questions of the kind %s, not %d", asked[kind], kind, least)
		}
	}
}

func TestRefusesNonsense(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]bench.Options{
		"NoDatabase": {}, "UnknownVia": {DB: "x", Via: "pigeon"}, "UnknownMode": {DB: "x", Mode: "mood"},
		"NoExecutable": {DB: "x", Via: bench.ViaHTTP}, "NegativeTasks": {DB: "x", Tasks: -1}, "NegativeWorkers": {DB: "x", Workers: -1},
		"NegativeProducers": {DB: "x", Producers: -1}, "ShortPayload": {DB: "x", PayloadBytes: 1},
		"NodesInProcess": {DB: "postgres://h/d", Nodes: 2}, "NodesOnSQLite": {DB: "x", Via: bench.ViaHTTP, Nodes: 2},
		"TooManyNodes":         {DB: "postgres://h/d", Via: bench.ViaHTTP, Nodes: 1000, Workers: 1000},
		"FewerWorkersThan":     {DB: "postgres://h/d", Via: bench.ViaHTTP, Nodes: 3, Workers: 2},
		"PinnedOnSQLite":       {DB: "x", Mode: bench.Pinned},
		"FinishedOnSQLite":     {DB: "x", Mode: bench.Depth, Finished: 1},
		"FinishedInThroughput": {DB: "postgres://h/d", Finished: 1},
		"NegativeFinished":     {DB: "postgres://h/d", Mode: bench.Depth, Finished: -1},
		"CasesOverHTTP":        {DB: "x", Mode: bench.Cases, Via: bench.ViaHTTP},
		"CasesInMemory":        {DB: "memory:", Mode: bench.Cases},
		"NoStaleTask":          {DB: "x", Mode: bench.Cases, Tasks: 999},
		"DepthOverHTTP":        {DB: "x", Mode: bench.Depth, Via: bench.ViaHTTP},
	} {
		if _, err := bench.Run(t.Context(), o); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
