//go:build unix

package letters_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/cli"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/internal/testkit/process"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/proof/crashtest/account"
	"github.com/taskerhq/tasker/remote"
)

// TestMain is the program under test if a broker is named; see the package comment.
func TestMain(m *testing.M) {
	if os.Getenv("CRASH_BROKER") == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	os.Exit(cli.Run(ctx, cli.Process{Args: os.Args, Environ: os.Environ(), Version: "test", In: os.Stdin,
		Out: os.Stdout, Err: os.Stderr, Now: time.Now, Drivers: driver.Registry{"bridge": dial}}))
}

const (
	perKill   = 30 // messages that die first, for each kill
	runLimit  = time.Hour
	drainTime = 5 * time.Minute
)

// TestKillLetters kills nodes at every stage of capture and redrive. Each message must be one letter, each delivery
// reported, and each repetition reported as uncertain. CRASH_KILLS is the number (9 on SQLite and 2 on PostgreSQL, half
// with -short), CRASH_SEED repeats the choices of a run.
func TestKillLetters(t *testing.T) {
	t.Parallel()
	seed := uint64(number(t, "CRASH_SEED", int(time.Now().UnixNano()>>20)))
	for name, c := range map[string]struct {
		dsn         func(*testing.T) string
		nodes       int
		kills       int
		noPositions bool
	}{
		"SQLite":     {func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "tasker.db") }, 1, 9, true},
		"PostgreSQL": {func(t *testing.T) string { return pgtest.DSN(t) }, 2, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() {
				c.kills /= 2
			}
			kills := number(t, "CRASH_KILLS", c.kills)
			t.Logf("CRASH_SEED=%d CRASH_KILLS=%d", seed, kills)
			ctx, cancel := context.WithTimeout(t.Context(), runLimit)
			defer cancel()
			r := newRun(t, c.dsn(t), c.nodes, seed, c.noPositions)
			err := r.load(ctx, kills)
			if err == nil {
				err = r.drain(ctx)
			}
			if err == nil {
				err = r.check(ctx)
			}
			r.report(t, err)
		})
	}
}

func number(t *testing.T, name string, without int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return without
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

type run struct {
	seed   uint64
	killer *killer
	bridge *bridge
	world  *world
	nodes  account.Nodes
	logs   []string
	account.Violations
}

func newRun(t *testing.T, dsn string, nodes int, seed uint64, noPositions bool) *run {
	t.Helper()
	r := &run{seed: seed}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	group, err := process.NewGroup()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(group.Close)
	addresses, err := process.Addresses(nodes)
	if err != nil {
		t.Fatal(err)
	}
	r.killer = newKiller(rand.New(rand.NewPCG(seed, 1)))
	if r.bridge, err = newBridge(noPositions, r.killer.at); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.bridge.ln.Close() })
	r.bridge.Declare(queues...)
	r.world = newWorld(r.bridge, rand.New(rand.NewPCG(seed, 2)))
	for i, address := range addresses {
		log, err := os.Create(filepath.Join(t.TempDir(), "server.log"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { log.Close() })
		r.logs = append(r.logs, log.Name())
		name := strconv.Itoa(i)
		s := &process.Server{Program: program, DSN: dsn, Address: address, Log: log, Group: group,
			Env: append(process.ShortLeases(), "CRASH_BROKER="+r.bridge.ln.Addr().String(), "CRASH_NODE="+name)}
		client, err := remote.Dial(s.URL(), &remote.Options{RequestTimeout: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Close() })
		r.nodes.Servers, r.nodes.Backends = append(r.nodes.Servers, s), append(r.nodes.Backends, deadletters.Of(client))
		r.nodes.Trail = operate.Of(client)
		r.killer.servers[name] = s
	}
	return r
}

func (r *run) load(ctx context.Context, kills int) error {
	for _, s := range r.nodes.Servers {
		if err := s.Start(ctx); err != nil {
			return err
		}
	}
	source := deadletters.SourceRequest{Source: deadletters.Source{Name: "orders", Driver: "bridge", Queue: "dlq",
		URL: r.bridge.ln.Addr().String(), Targets: []string{"orders"}, MaxReplays: 1000}}
	if _, err := account.Ask(ctx, &r.nodes, func(b deadletters.Backend) (*deadletters.Source, error) {
		return b.SaveSource(ctx, source)
	}); err != nil {
		return err
	}
	if err := r.automatic(ctx, source); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all errgroup.Group
	quiet := make(chan struct{})
	all.Go(func() error { return r.world.consume(ctx) })
	for n := range 2 {
		rng := rand.New(rand.NewPCG(r.seed, uint64(10+n)))
		all.Go(func() error { return r.operate(ctx, quiet, rng) })
	}
	err := r.killer.run(ctx, kills, func() { r.world.die(perKill) })
	close(quiet)
	if err == nil {
		err = r.settle(ctx)
	}
	cancel()
	if werr := all.Wait(); err == nil {
		err = werr
	}
	return err
}

// automatic adds a similar source whose letters a policy sends back.
func (r *run) automatic(ctx context.Context, source deadletters.SourceRequest) error {
	source.Name, source.Queue = "automatic", "dlq2"
	if _, err := account.Ask(ctx, &r.nodes, func(b deadletters.Backend) (*deadletters.Source, error) {
		return b.SaveSource(ctx, source)
	}); err != nil {
		return err
	}
	policy := deadletters.PolicyRequest{Policy: deadletters.Policy{Source: source.Name,
		Strategy: deadletters.Immediate, MaxRetries: 1000}}
	_, err := account.Ask(ctx, &r.nodes, func(b deadletters.Backend) (*deadletters.Policy, error) {
		return b.SavePolicy(ctx, policy)
	})
	return err
}

// operate is an operator who redrives everything open, and sometimes pauses or cancels a redrive. Two of them freeze
// the same letters.
func (r *run) operate(ctx context.Context, quiet <-chan struct{}, rng *rand.Rand) error {
	for {
		made, err := account.Ask(ctx, &r.nodes, func(b deadletters.Backend) (*deadletters.Redrive, error) {
			return b.CreateRedrive(ctx, account.RedriveAll("orders", "orders", 5+rng.IntN(20)))
		})
		if err == nil && rng.IntN(3) == 0 {
			what := []deadletters.RedriveAction{deadletters.PauseRedrive, deadletters.CancelRedrive}[rng.IntN(2)]
			_, _ = account.Ask(ctx, &r.nodes, func(b deadletters.Backend) (*deadletters.Redrive, error) { // it may have ended
				return b.ActOnRedrive(ctx, made.RedriveUUID, deadletters.RedriveAct{Action: what})
			})
		}
		if err != nil && !account.Refused(err) && ctx.Err() == nil {
			return fmt.Errorf("create a redrive: %w", err)
		}
		for range 1 + rng.IntN(8) { // sometimes without a look at the last one
			select {
			case <-quiet:
				return nil
			case <-ctx.Done():
				return nil
			case <-time.After(time.Duration(100+rng.IntN(400)) * time.Millisecond):
			}
			if made == nil {
				break
			}
			now, err := account.Ask(ctx, &r.nodes, func(b deadletters.Backend) (*deadletters.Redrive, error) {
				return b.Redrive(ctx, made.RedriveUUID)
			})
			if err != nil || now.State.Ended() {
				break
			}
		}
	}
}

// settle ends the failures of the consumer, and redrives until nothing is open.
func (r *run) settle(ctx context.Context) error {
	r.world.heal()
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	for {
		busy, err := r.busy(ctx)
		if err != nil {
			return err
		}
		if busy == "" {
			return nil
		}
		if strings.HasPrefix(busy, "open") {
			_, err := account.Ask(ctx, &r.nodes, func(b deadletters.Backend) (*deadletters.Redrive, error) {
				return b.CreateRedrive(ctx, account.RedriveAll("orders", "orders", 200))
			})
			if err != nil && !account.Refused(err) {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", ctx.Err(), busy)
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// busy describes unfinished work, and resumes paused redrives; "" at the end.
func (r *run) busy(ctx context.Context) (string, error) {
	if busy, err := r.nodes.Unfinished(ctx); err != nil || busy != "" {
		return busy, err
	}
	letters, err := r.nodes.Letters(ctx, "")
	if err != nil {
		return "", err
	}
	if died := r.world.died(); len(letters) < died {
		return fmt.Sprintf("%d of %d messages are letters", len(letters), died), nil
	}
	if waiting := r.world.waiting(ctx); waiting != "" {
		return waiting, nil
	}
	for _, l := range letters {
		if l.State != deadletters.LetterRedriven {
			return string(l.State) + ": letter " + l.LetterUUID.String(), nil
		}
	}
	return "", nil
}

func (r *run) drain(ctx context.Context) error {
	for _, s := range r.nodes.Servers {
		s.Kill()
		s.Gone()
		if err := s.Start(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) report(t *testing.T, err error) {
	t.Helper()
	w := r.world
	found, shown := r.Found()
	t.Logf("kills=%d frozen=%d letters=%d deliveries=%d twice=%d returns=%d redelivered=%d redrives=%d violations=%v "+
		"by stage: %v", r.killer.kills, r.killer.frozen, w.died(), len(w.deliveries), w.twice, len(w.returned),
		r.bridge.redelivered.Load(), w.redrives, found, r.killer.byStage)
	for _, s := range shown {
		t.Error(s)
	}
	for _, s := range r.nodes.Servers {
		for _, crash := range s.Crashes() {
			t.Error(crash)
		}
	}
	if err != nil {
		t.Error(err)
	}
	if !t.Failed() {
		return
	}
	for _, name := range r.logs {
		if raw, err := os.ReadFile(name); err == nil {
			lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
			t.Logf("the end of %s:\n%s", name, strings.Join(lines[max(len(lines)-30, 0):], "\n"))
		}
	}
}
