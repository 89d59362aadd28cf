//go:build unix

package crashtest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	_ "modernc.org/sqlite" // for the file behind the server

	"github.com/taskerhq/tasker"
	// All sources of the binary: a change must run the test again, not answer from the cache.
	_ "github.com/taskerhq/tasker/internal/cli"
	"github.com/taskerhq/tasker/internal/testkit/process"
	"github.com/taskerhq/tasker/proof/crashtest"
	"github.com/taskerhq/tasker/proof/crashtest/load"
	"github.com/taskerhq/tasker/remote"
	"github.com/taskerhq/tasker/waits"
	"github.com/taskerhq/tasker/worker/protocol"
)

const (
	producers  = 12
	zombies    = 2
	runLimit   = 8 * time.Minute // a run that takes longer hangs
	settleTime = 90 * time.Second
)

// TestKill kills a server under load repeatedly, and checks all answers against the end state. CRASH_KILLS is the
// number (50; 8 with -short), CRASH_SEED repeats the choices of a run.
func TestKill(t *testing.T) {
	t.Parallel()
	kills := 50
	if testing.Short() {
		kills = 8
	}
	kills = int(fromEnv(t, "CRASH_KILLS", int64(kills)))
	seed := uint64(fromEnv(t, "CRASH_SEED", time.Now().UnixNano()))
	t.Logf("CRASH_SEED=%d CRASH_KILLS=%d", seed, kills)

	ctx, cancel := context.WithTimeout(t.Context(), runLimit)
	defer cancel()
	r := newRun(t, seed)
	if err := r.load(ctx, kills); err != nil {
		r.fail(t, err)
	}
	found, err := r.end(ctx)
	if err != nil {
		r.fail(t, err)
	}
	r.judge(t, crashtest.Check(r.journal, found))
}

func fromEnv(t *testing.T, name string, without int64) int64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return without
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

type run struct {
	seed     uint64
	db       string // path
	server   *process.Server
	killer   *killer
	program  *process.Worker
	journal  *crashtest.Journal
	handlers *load.Handlers
	backend  *crashtest.Recorder
	zombies  []*load.Zombie
	logs     []string
}

func newRun(t *testing.T, seed uint64) *run {
	t.Helper()
	dir := t.TempDir()
	binary, err := process.Build(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	addresses, err := process.Addresses(1)
	if err != nil {
		t.Fatal(err)
	}
	group, err := process.NewGroup()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(group.Close)
	r := &run{seed: seed, db: filepath.Join(dir, "tasker.db"), journal: crashtest.NewJournal(), handlers: &load.Handlers{}}
	open := func(name string) *os.File {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		r.logs = append(r.logs, f.Name())
		return f
	}
	r.server = &process.Server{Program: binary, DSN: "sqlite:" + r.db, Address: addresses[0],
		Env: append(process.ShortLeases(), "TASKER_BLOBS_URL=file:"+filepath.Join(dir, "blobs")),
		Log: open("server.log"), Group: group}
	r.program = &process.Worker{Program: binary, URL: r.server.URL(), Name: "program", Log: open("worker.log"),
		Group: group}
	client, err := remote.Dial(r.server.URL(), &remote.Options{RequestTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	r.killer = newKiller(r.server, client, r.rand(1))
	r.backend = crashtest.Record(protocol.Of(client), r.journal, r.killer.tell)
	r.backend.Waits = waits.Of(client)
	r.journal.Foreign["foreign"] = true
	return r
}

func (r *run) rand(part uint64) *rand.Rand { return rand.New(rand.NewPCG(r.seed, part)) }

// retry waits for the server to be back.
func (r *run) retry(ctx context.Context, _ error) error { return r.server.Await(ctx) }

// load runs all callers while the server is killed, until all tasks are settled. A last kill ensures that nothing is
// only in memory.
func (r *run) load(ctx context.Context, kills int) error {
	if err := r.killer.birth(ctx, 3); err != nil {
		return err
	}
	if _, err := r.killer.start(ctx); err != nil {
		return fmt.Errorf("after the kills at birth: %w", err)
	}
	client := tasker.NewClient(r.backend)
	for _, yaml := range append([]string{load.Diamond}, load.Flows...) {
		if _, err := client.RegisterTemplate(ctx, tasker.TemplateSource{YAML: yaml}); err != nil {
			return err
		}
	}
	quiet, done := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var callers, workers errgroup.Group
	join := load.Join(cancel)
	for i := range producers {
		p := &load.Producer{Name: fmt.Sprintf("p%d", i), Rand: r.rand(100 + uint64(i)), Client: client, Retry: r.retry,
			Journal: r.journal, Handlers: r.handlers, Flows: true, Large: true}
		join(&callers, func() error { return p.Run(ctx, quiet) })
	}
	for i := range zombies {
		z := &load.Zombie{Name: fmt.Sprintf("zombie%d", i), Rand: r.rand(200 + uint64(i)), Backend: r.backend, Retry: r.retry,
			Journal: r.journal}
		r.zombies = append(r.zombies, z)
		join(&callers, func() error { return z.Run(ctx, quiet) })
	}
	for i := range 2 {
		name, rng := fmt.Sprintf("sdk%d", i), r.rand(300+uint64(i))
		join(&workers, func() error { return load.Work(ctx, done, client, r.handlers, name, rng) })
	}
	join(&workers, func() error { return r.program.Run(ctx, done, r.rand(400)) })

	killing := r.killer.run(ctx, kills)
	close(quiet)
	err := callers.Wait()
	if killing == nil && err == nil {
		err = load.Settle(ctx, client, r.retry, settleTime)
	}
	close(done)
	return firstOf(err, workers.Wait(), killing)
}

func firstOf(errs ...error) error {
	var first error
	for _, err := range errs {
		if err != nil && (first == nil || errors.Is(first, context.Canceled)) {
			first = err
		}
	}
	return first
}

// end kills the server a last time, reads the tasks, stops the server and checks its file.
func (r *run) end(ctx context.Context) ([]crashtest.Found, error) {
	r.server.Kill()
	r.server.Gone()
	if _, err := r.killer.start(ctx); err != nil {
		return nil, fmt.Errorf("after the last kill: %w", err)
	}
	for _, z := range r.zombies {
		if err := z.Last(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.backend.ResendSignals(ctx, "crash"); err != nil {
		return nil, err
	}
	found, err := crashtest.Read(ctx, r.backend)
	if err != nil {
		return nil, err
	}
	if code := r.server.Stop(); code != 0 {
		return nil, fmt.Errorf("the server ended with exit code %d when it was told to stop", code)
	}
	return found, integrity(ctx, r.db)
}

func integrity(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return err
	}
	defer db.Close()
	var answer string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check").Scan(&answer); err != nil {
		return fmt.Errorf("check the file: %w", err)
	}
	if answer != "ok" {
		return fmt.Errorf("the file is damaged: %s", answer)
	}
	return nil
}

// judge reports the verdict, and that the run was a sufficient test.
func (r *run) judge(t *testing.T, v *crashtest.Verdict) {
	t.Helper()
	p50, longest := r.killer.recovery()
	t.Logf("kills=%d early_kills=%d worker_kills=%d tasks=%d children=%d steps=%d handouts=%d "+
		"large_results=%d signals=%d taken=%d compensated=%d "+
		"unknown_answers=%d orphans=%d duplicate_executions=%d stale_refused=%d "+
		"lost=%d settled_twice=%d violations=%d recovery_p50=%s recovery_max=%s seed=%d", r.killer.kills, r.killer.early,
		r.program.Kills(), v.Tasks, v.Children, v.Steps, v.Handouts,
		r.journal.LargeResults(), v.Signals, v.Taken, v.Compensated,
		v.Unknown, v.Orphans, v.Duplicates, v.StaleRefused, v.Count(crashtest.Lost), v.Count(crashtest.SettledTwice),
		len(v.Violations),
		p50.Round(time.Millisecond), longest.Round(time.Millisecond), r.seed)
	t.Logf("restarts by occasion: %v", r.killer.byOccasion)
	shown := map[crashtest.Rule]int{}
	for _, found := range v.Violations {
		if shown[found.Rule]++; shown[found.Rule] <= 5 {
			t.Error(found)
		}
	}
	if t.Failed() {
		t.Errorf("violations by rule, of which five each are shown: %v", shown)
	}
	for _, crash := range r.server.Crashes() {
		t.Error(crash)
	}
	if v.Tasks < 10*r.killer.kills || v.StaleRefused < r.killer.kills || v.Unknown == 0 || v.Children < r.killer.kills ||
		r.journal.LargeResults() < r.killer.kills/8 || v.Taken == 0 || v.Compensated == 0 {
		t.Error("the load was too small to prove anything")
	}
	if t.Failed() {
		r.showLogs(t)
	}
}

func (r *run) fail(t *testing.T, err error) {
	t.Helper()
	for _, crash := range r.server.Crashes() {
		t.Error(crash)
	}
	r.showLogs(t)
	t.Fatal(err)
}

func (r *run) showLogs(t *testing.T) {
	t.Helper()
	for _, name := range r.logs {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
		t.Logf("the end of %s:\n%s", filepath.Base(name), strings.Join(lines[max(len(lines)-40, 0):], "\n"))
	}
}
