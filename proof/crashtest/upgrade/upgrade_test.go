//go:build unix

package upgrade_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/taskerhq/tasker"
	// All sources of the binary: a change must run the test again, not answer from the cache.
	_ "github.com/taskerhq/tasker/internal/cli"
	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/internal/testkit/process"
	"github.com/taskerhq/tasker/proof/crashtest"
	"github.com/taskerhq/tasker/proof/crashtest/load"
	"github.com/taskerhq/tasker/remote"
	"github.com/taskerhq/tasker/waits"
	"github.com/taskerhq/tasker/worker/protocol"
)

const (
	nodes      = 2
	producers  = 6
	runLimit   = 4 * time.Minute
	settleTime = time.Minute
	// stage is the number of accepted results between two acts of the operator.
	stage = 150
)

// TestRollingUpgrade migrates the database under two nodes of an old version, then replaces one after the other, as
// docs/guides/upgrading.md says, while producers and workers continue. Nothing accepted is lost, and nothing is settled
// twice.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	root, err := process.Module(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	current, err := process.Build(t.Context(), t.TempDir(), "-trimpath")
	if err != nil {
		t.Fatal(err)
	}
	next := buildNext(t, root, t.TempDir())
	old := buildOld(t, root, t.TempDir(), current, oldVersion(t.Context(), root))
	ctx, cancel := context.WithTimeout(t.Context(), runLimit)
	defer cancel()
	r := newRun(t, next, old)
	if err := r.load(ctx); err != nil {
		t.Fatal(err)
	}
	r.judge(ctx, t)
}

type run struct {
	dsn, program string // the newer program
	nodes        []*process.Server
	journal      *crashtest.Journal
	backend      *crashtest.Recorder
	accepted     atomic.Int64 // answers to reports of results
	next         atomic.Int64 // the node of the next request
}

func newRun(t *testing.T, program, old string) *run {
	t.Helper()
	group, err := process.NewGroup()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(group.Close)
	addresses, err := process.Addresses(nodes)
	if err != nil {
		t.Fatal(err)
	}
	r := &run{dsn: pgtest.DSN(t), program: program, journal: crashtest.NewJournal()}
	dir := t.TempDir()
	for i, address := range addresses {
		log, err := os.Create(filepath.Join(dir, fmt.Sprintf("node%d.log", i)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { show(t, log) })
		r.nodes = append(r.nodes, &process.Server{Program: old, DSN: r.dsn, Address: address,
			Env: process.ShortLeases(), Log: log, Group: group})
	}
	client, err := remote.Dial("http://"+addresses[0], &remote.Options{RequestTimeout: 10 * time.Second,
		HTTPClient: &http.Client{Transport: r}})
	if err != nil {
		t.Fatal(err)
	}
	r.backend = crashtest.Record(protocol.Of(client), r.journal, func(m crashtest.Moment) {
		if m == crashtest.ResultAcked {
			r.accepted.Add(1)
		}
	})
	r.backend.Waits = waits.Of(client)
	r.journal.Foreign["foreign"] = true
	return r
}

// RoundTrip implements http.RoundTripper as a load balancer: each request goes to the next node that is up.
func (r *run) RoundTrip(req *http.Request) (*http.Response, error) {
	for range r.nodes {
		if n := r.nodes[r.next.Add(1)%nodes]; n.Up() {
			req = req.Clone(req.Context())
			req.URL.Host, req.Host = n.Address, ""
			break
		}
	}
	return http.DefaultTransport.RoundTrip(req)
}

// retry waits briefly: another node is up.
func (r *run) retry(ctx context.Context, _ error) error { return clock.Sleep(ctx, 20*time.Millisecond) }

func (r *run) load(ctx context.Context) error {
	for _, n := range r.nodes {
		if err := n.Start(ctx); err != nil {
			return err
		}
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
	join, handlers := load.Join(cancel), &load.Handlers{}
	for i := range producers {
		p := &load.Producer{Name: fmt.Sprintf("p%d", i), Rand: random(100 + i), Client: client, Retry: r.retry,
			Journal: r.journal, Handlers: handlers, Flows: true}
		join(&callers, func() error { return p.Run(ctx, quiet) })
	}
	z := &load.Zombie{Name: "zombie", Rand: random(200), Backend: r.backend, Retry: r.retry, Journal: r.journal}
	join(&callers, func() error { return z.Run(ctx, quiet) })
	for i := range 2 {
		join(&workers, func() error {
			return load.Work(ctx, done, client, handlers, fmt.Sprintf("sdk%d", i), random(300+i))
		})
	}
	program := &process.Worker{Program: r.program, URL: r.nodes[0].URL(), Name: "program", Log: r.nodes[0].Log,
		Group: r.nodes[0].Group}
	join(&workers, func() error { return program.Run(ctx, done, random(400)) })

	upgrading := r.upgrade(ctx)
	if upgrading != nil {
		cancel()
	}
	close(quiet)
	err := callers.Wait()
	if upgrading == nil && err == nil {
		err = load.Settle(ctx, client, r.retry, settleTime)
	}
	close(done)
	working := workers.Wait()
	for _, err := range []error{upgrading, err, working} {
		if err != nil {
			return err
		}
	}
	return nil
}

func random(part int) *rand.Rand { return rand.New(rand.NewPCG(uint64(part), 1)) }

func (r *run) upgrade(ctx context.Context) error {
	if err := r.work(ctx); err != nil {
		return err
	}
	up := exec.CommandContext(ctx, r.program, "migrate", "up", "--db", r.dsn)
	if out, err := up.CombinedOutput(); err != nil {
		return fmt.Errorf("migrate under load: %w\n%s", err, out)
	}
	if err := r.work(ctx); err != nil { // the old nodes continue
		return err
	}
	if err := r.refused(ctx); err != nil {
		return err
	}
	for _, n := range r.nodes {
		if code := n.Stop(); code != 0 {
			return fmt.Errorf("an old node ended with exit code %d when it was told to stop", code)
		}
		n.Program = r.program
		if err := n.Start(ctx); err != nil {
			return fmt.Errorf("start a new node beside an old one: %w", err)
		}
		if err := r.work(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) work(ctx context.Context) error {
	for until := r.accepted.Load() + stage; r.accepted.Load() < until; {
		if err := clock.Sleep(ctx, 10*time.Millisecond); err != nil {
			return fmt.Errorf("%d results were accepted in %s: %w", r.accepted.Load(), runLimit, err)
		}
	}
	return nil
}

// refused checks that an old node which is started after the migration says why it does not serve.
func (r *run) refused(ctx context.Context) error {
	old := r.nodes[0].Program
	addresses, err := process.Addresses(1)
	if err != nil {
		return err
	}
	serve := r.nodes[0].Group.Command(old, "serve", "--db", r.dsn, "--listen", addresses[0])
	out, err := serve.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "migrated by a newer tasker") {
		return fmt.Errorf("an old node that started on the new schema ended with %v: %s", err, out)
	}
	return nil
}

func (r *run) judge(ctx context.Context, t *testing.T) {
	t.Helper()
	if err := r.backend.ResendSignals(ctx, "crash"); err != nil {
		t.Fatal(err)
	}
	found, err := crashtest.Read(ctx, r.backend)
	if err != nil {
		t.Fatal(err)
	}
	v := crashtest.Check(r.journal, found)
	t.Logf("tasks=%d children=%d steps=%d handouts=%d unknown_answers=%d orphans=%d duplicate_executions=%d "+
		"stale_refused=%d signals=%d compensated=%d lost=%d settled_twice=%d violations=%d", v.Tasks, v.Children, v.Steps,
		v.Handouts, v.Unknown, v.Orphans, v.Duplicates, v.StaleRefused, v.Signals, v.Compensated, v.Count(crashtest.Lost),
		v.Count(crashtest.SettledTwice), len(v.Violations))
	for _, found := range v.Violations[:min(20, len(v.Violations))] {
		t.Error(found)
	}
	for _, n := range r.nodes {
		for _, crash := range n.Crashes() {
			t.Error(crash)
		}
		if code := n.Stop(); code != 0 {
			t.Errorf("a new node ended with exit code %d when it was told to stop", code)
		}
	}
	if v.Tasks < stage || v.StaleRefused == 0 || v.Children == 0 || v.Signals == 0 {
		t.Error("the load was too small to prove anything")
	}
}

func show(t *testing.T, log *os.File) {
	t.Helper()
	defer log.Close()
	if !t.Failed() {
		return
	}
	content, err := os.ReadFile(log.Name())
	t.Logf("the log of a node (%v):\n%s", err, content[max(0, len(content)-6000):])
}
