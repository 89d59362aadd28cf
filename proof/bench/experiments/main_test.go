package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/embedded"
	"github.com/taskerhq/tasker/internal/cli/bench"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
)

func file(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "b.db")
}

// experiment runs a command line and parses its JSON.
func experiment(t *testing.T, args ...string) *report {
	t.Helper()
	var out bytes.Buffer
	if err := perform(t.Context(), append(args, "-json"), &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	r := &report{}
	if err := json.Unmarshal(out.Bytes(), r); err != nil {
		t.Fatalf("%v in %s", err, &out)
	}
	if r.MaxRSSBytes <= 0 || string(r.Mode) != args[1] {
		t.Errorf("the report is %+v", r)
	}
	out.Reset()
	if err := r.write(&out); err != nil || !strings.HasPrefix(out.String(), args[1]+" via ") ||
		strings.Contains(out.String(), "%!") {
		t.Errorf("people are shown %v\n%s", err, &out)
	}
	return r
}

func TestDepth(t *testing.T) {
	t.Parallel()
	r := experiment(t, "-mode", "depth", "-db", file(t), "-tasks", "2000")
	if r.Depth == nil || r.Depth.ClaimOne == nil || r.Depth.ClaimMany == nil || r.Depth.ClaimsPerSecond <= 0 ||
		r.Depth.ClaimsShort <= 0 || r.Depth.StartUpMS <= 0 || len(r.Depth.PagesMS) == 0 {
		t.Errorf("%+v", r.Depth)
	}
}

// Every load has its costs; those of PostgreSQL appear where it is measured.
func TestCost(t *testing.T) {
	t.Parallel()
	for _, db := range []string{file(t), pgtest.DSN(t)} {
		r := experiment(t, "-mode", "cost", "-db", db, "-tasks", "400")
		if r.Cost == nil || len(r.Cost.Loads) != 7 {
			t.Fatalf("%+v", r.Cost)
		}
		for _, c := range r.Cost.Loads {
			if c.Allocs <= 0 || c.Bytes <= 0 || c.Load == "" || (c.DB != nil) != bench.IsPostgres(db) ||
				c.DB != nil && (c.DB.WALBytes <= 0 || c.DB.Index != nil && *c.DB.Index < 1) {
				t.Errorf("%+v", c)
			}
		}
	}
}

func TestWorkers(t *testing.T) {
	t.Parallel()
	serves := filepath.Join(t.TempDir(), "tasker")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-C", "../../..", "-o", serves,
		"./cmd/tasker").CombinedOutput(); err != nil {
		t.Fatalf("build the program that serves: %v\n%s", err, out)
	}
	for via, db := range map[string]string{"inproc": file(t), "http": "memory:"} {
		r := experiment(t, "-mode", "workers", "-db", db, "-tasks", "990", "-workers", "150", "-window", "1s", "-via", via,
			"-tasker", serves)
		f := r.Fleet
		if f == nil || f.Idle == nil || f.Sets != 100 || f.Queued != 990 || len(f.Claims) != 2 ||
			(f.Idle.Servers != nil) != (via == "http") {
			t.Fatalf("%s: %+v", via, f)
		}
		for _, c := range f.Claims {
			if c.Alone == nil || c.Among == nil || c.Alone.P50US <= 0 || c.Among.P50US <= 0 {
				t.Errorf("%s: %+v", via, c)
			}
		}
	}
}

// Cases mode has all its numbers, at a thousandth of the intended size.
func TestCases(t *testing.T) {
	t.Parallel()
	r := experiment(t, "-mode", "cases", "-db", file(t), "-tasks", "2000")
	checkCases(t, r.Cases)
}

func checkCases(t *testing.T, c *CasesReport) {
	t.Helper()
	if c == nil || c.Live != 2000 || c.PerRound != 2 || c.Cases != 200 || c.Survey == nil || c.Detect == nil ||
		c.DetectNone == nil || c.Resolve == nil {
		t.Fatalf("%+v", c)
	}
	if c.Detect.MedianMS <= 0 || c.Detect.SlowestMS < c.Detect.MedianMS {
		t.Errorf("detection: %+v", c.Detect)
	}
	if len(c.Producers) != 5 {
		t.Errorf("%d ways to open a case, not 5", len(c.Producers))
	}
	for _, p := range c.Producers {
		if p.Tasks != 20 || p.With == nil || p.With.PerSecond <= 0 ||
			(p.Without == nil) != (p.Reason == "manual_dlq" || p.Reason == "worker_unavailable") {
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

func TestPinned(t *testing.T) {
	t.Parallel()
	r := experiment(t, "-mode", "pinned", "-db", pgtest.DSN(t), "-tasks", "1000", "-workers", "10", "-producers", "4")
	p := r.Pinned
	if p == nil || p.EndToEnd == nil || len(p.PerSecond) != 10 || p.First <= 0 || p.Last <= 0 || p.Ratio <= 0 {
		t.Fatalf("%+v", p)
	}
	if p.HeldBack < 10 {
		t.Errorf("the horizon was held back by %d transactions: did anybody hold it?", p.HeldBack)
	}
}

func TestCasesOnPostgres(t *testing.T) {
	t.Parallel()
	r := experiment(t, "-mode", "cases", "-db", pgtest.DSN(t), "-tasks", "2000")
	checkCases(t, r.Cases)
}

// Generated tasks must look like finished ones, or the measured lists are not those of a long history.
func TestHistory(t *testing.T) {
	t.Parallel()
	const finished, queued = 1500, 2000
	dsn := pgtest.DSN(t)
	r := experiment(t, "-mode", "depth", "-db", dsn, "-tasks", fmt.Sprint(queued), "-finished", fmt.Sprint(finished))
	if r.Depth == nil || r.Depth.Finished != finished || r.Depth.ClaimOne == nil {
		t.Errorf("%+v", r.Depth)
	}
	client, err := embedded.Open(t.Context(), dsn, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	filter := tasker.TaskFilter{States: []tasker.TaskState{tasker.TaskComplete}}
	n, last := 0, time.Now()
	for {
		page, err := client.Tasks(t.Context(), filter)
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range page.Tasks {
			if n++; task.CreatedAt.After(last) {
				t.Fatalf("task %s is not older than the one before", task.TaskUUID)
			}
			last = task.CreatedAt
		}
		if len(page.Tasks) > 0 {
			checkCopy(t, client, page.Tasks[0])
		}
		if filter.Cursor = page.NextCursor; filter.Cursor == "" {
			break
		}
	}
	if n != finished {
		t.Errorf("%d tasks are complete, not %d", n, finished)
	}
	if age := time.Since(last); age < 23*time.Hour || age > 25*time.Hour {
		t.Errorf("the oldest is %v old: the history should go back a day", age)
	}
}

func checkCopy(t *testing.T, client *tasker.Client, task tasker.Task) {
	t.Helper()
	steps, err := client.Steps(t.Context(), task.TaskUUID)
	if err != nil || len(steps) != 1 || steps[0].State != tasker.StepComplete {
		t.Errorf("steps of %s: %+v, %v", task.TaskUUID, steps, err)
	}
	if sec, nsec := task.TaskUUID.Time().UnixTime(); time.Unix(sec, nsec).Sub(task.CreatedAt).Abs() > time.Second {
		t.Errorf("task %s is of %v by its ID and of %v by its row", task.TaskUUID, time.Unix(sec, nsec), task.CreatedAt)
	}
}

func TestStarvation(t *testing.T) {
	t.Parallel()
	svg := filepath.Join(t.TempDir(), "plot.svg")
	var out bytes.Buffer
	if err := perform(t.Context(), []string{"-mode", "starvation", "-svg", svg}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "LONGEST WAIT") {
		t.Errorf("people are shown\n%s", &out)
	}
	drawn, err := os.ReadFile(svg)
	if err != nil || !bytes.HasPrefix(drawn, []byte("<svg")) {
		t.Errorf("the plot is %.100s, %v", drawn, err)
	}
}

func TestRefusesNonsense(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"NoMode": "", "UnknownMode": "-mode mood", "Argument": "-mode depth more", "PinnedOnSQLite": "-mode pinned -db x",
		"FinishedOnSQLite": "-mode depth -db x -finished 1", "FinishedInCases": "-mode cases -db postgres://h/d -finished 1",
		"NegativeFinished": "-mode depth -db postgres://h/d -finished -1", "CasesOverHTTP": "-mode cases -db x -via http",
		"CasesInMemory": "-mode cases -db memory:", "NoStaleTask": "-mode cases -db x -tasks 999",
		"DepthOverHTTP": "-mode depth -db x -via http",
		"FewSets":       "-mode workers -db x -tasks 99", "ShortWindow": "-mode workers -db x -window 1ms",
		"LongWindow":    "-mode workers -db x -window 2h",
		"NegativeTasks": "-mode depth -db x -tasks -1", "PlotOfDepth": "-mode depth -db x -svg x",
		"NoDatabase": "-mode depth -db mysql://h/d",
		"Nodes":      "-mode workers -db x -nodes 2",
	} {
		if err := perform(t.Context(), strings.Fields(line), io.Discard, io.Discard); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
