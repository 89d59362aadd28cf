package letters

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/testkit/process"
	"github.com/taskerhq/tasker/proof/crashtest/account"
)

// The bounds of a run.
const (
	perKill   = 40 // dying messages, or jobs, before each kill
	drainTime = 4 * time.Minute
)

type run struct {
	scenario
	options Options
	seed    uint64
	rng     *rand.Rand
	dir     string
	group   *process.Group
	brokers *brokers
	monitor *monitor
	notes

	nodes *nodes
	world *world
	crowd *crowd
	fleet *fleet
}

// Run carries out the selected runs, atOnce of them concurrently. An error is a run that could not be carried out.
func Run(ctx context.Context, o Options, atOnce int) ([]*Report, error) {
	chosen, err := o.chosen()
	if err != nil {
		return nil, err
	}
	reports := make([]*Report, len(chosen))
	var all errgroup.Group
	all.SetLimit(atOnce)
	for i, sc := range chosen {
		all.Go(func() error {
			began := time.Now()
			r, err := carryOut(ctx, o, sc)
			reports[i] = r.report(time.Since(began), err)
			return nil // the others continue
		})
	}
	return reports, all.Wait()
}

func carryOut(ctx context.Context, o Options, sc scenario) (r *run, err error) {
	r = &run{scenario: sc, options: o, seed: o.Seed, rng: rand.New(rand.NewPCG(o.Seed, 1)),
		dir: filepath.Join(o.Dir, sc.name)}
	r.notes.out = o.Out
	r.notes.label = sc.name
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return r, err
	}
	if r.group, err = process.NewGroup(); err != nil {
		return r, err
	}
	defer r.group.Close()
	r.monitor = &monitor{}
	if r.brokers, err = r.openBrokers(ctx); err != nil {
		return r, errors.Join(err, r.brokers.close())
	}
	defer func() { err = errors.Join(err, r.brokers.close()) }()
	if len(r.brokers.servers) > 0 {
		r.monitor.address = r.brokers.url
		reading, stop := context.WithCancel(ctx)
		var beside sync.WaitGroup
		defer beside.Wait()
		defer stop()
		beside.Go(func() { r.monitor.run(reading) })
	}
	if sc.kind == nil && !sc.dispatch {
		return r, r.consumers(ctx)
	}
	r.nodes, err = openNodes(&o, sc, r.dir, r.group, r.dispatchEnv()...)
	defer func() { err = errors.Join(err, r.nodes.close()) }()
	if err != nil {
		return r, err
	}
	if sc.dispatch {
		return r, r.dispatches(ctx)
	}
	return r, r.sources(ctx)
}

func (r *run) openBrokers(ctx context.Context) (*brokers, error) {
	switch {
	case r.kind == topics:
		b := &brokers{}
		return b, launchKafka(ctx, b, r.monitor.look, r.options.Out)
	case r.dispatch || r.kind != nil && r.kind.queueType != "":
		return openRabbits(r.kind, r.monitor.look)
	}
	return openBrokers(ctx, r.failover, r.options.Unsafe)
}

// sources is the run of a source: the load, then everything settles, is killed a last time and checked.
func (r *run) sources(ctx context.Context) error {
	r.world = newWorld(r.kind, r.brokers.url, r.brokers.queues, rand.New(rand.NewPCG(r.seed, 2)))
	if err := r.begin(ctx); err != nil {
		return err
	}
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	var all errgroup.Group
	quiet := make(chan struct{})
	all.Go(func() error { r.world.consume(working); return nil })
	all.Go(func() error { r.watch(working, rand.New(rand.NewPCG(r.seed, 3))); return nil })
	for n := range 2 {
		rng := rand.New(rand.NewPCG(r.seed, uint64(10+n)))
		all.Go(func() error { return r.operate(working, quiet, rng) })
	}
	err := r.strikes(ctx, func() { r.world.die(perKill) })
	close(quiet)
	if err == nil {
		err = r.settle(ctx)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil { // the check says what is lost
			r.Wrong("unsettled", "%v", err)
			err = nil
		}
	}
	cancel()
	if err = errors.Join(err, all.Wait()); err != nil {
		return err
	}
	for _, s := range r.nodes.Servers { // so that nothing is only in memory
		s.Kill()
		s.Gone()
		if err := s.Start(ctx); err != nil {
			return err
		}
	}
	return r.check(ctx)
}

func (r *run) begin(ctx context.Context) error {
	for _, s := range r.nodes.Servers {
		if err := s.Start(ctx); err != nil {
			return err
		}
	}
	var still []entry
	for n := range untouchedLetters {
		still = append(still, entry{payload: r.kind.failure(1_000_000 + n)})
	}
	if err := r.world.queues.push(deadUntouched, still); err != nil {
		return err
	}
	if r.kind == streams { // a stream is not read before it exists
		r.world.die(perKill)
	}
	if err := r.configure(ctx); err != nil {
		return err
	}
	return r.until(ctx, func(ctx context.Context) (string, error) {
		letters, err := r.nodes.Letters(ctx, untouched)
		if err == nil && len(letters) < untouchedLetters {
			return "the first letters are not captured", nil
		}
		return "", err
	})
}

func (r *run) until(ctx context.Context, busy func(context.Context) (string, error)) error {
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	for {
		what, err := busy(ctx)
		if err != nil || what == "" {
			return err
		}
		if err := clock.Sleep(ctx, 200*time.Millisecond); err != nil {
			return fmt.Errorf("%w: %s", err, what)
		}
	}
}

// settle ends the failures of the consumer, and redrives until nothing is open or waits for its time: after failed
// sends a policy waits for minutes.
func (r *run) settle(ctx context.Context) error {
	r.world.heal()
	return r.until(ctx, func(ctx context.Context) (string, error) {
		busy, err := r.busy(ctx)
		state, _, _ := strings.Cut(busy, ":")
		of := deadletters.LetterState(state)
		if err != nil || of != deadletters.LetterOpen && of != deadletters.LetterScheduled {
			return busy, err
		}
		for _, source := range []string{byHand, automatic} {
			all := account.RedriveAll(source, orders, 200)
			all.Selection.State = of
			if _, err := account.Ask(ctx, &r.nodes.Nodes, func(b deadletters.Backend) (*deadletters.Redrive, error) {
				return b.CreateRedrive(ctx, all)
			}); err != nil && !account.Refused(err) {
				return "", err
			}
		}
		return busy, nil
	})
}

// busy describes unfinished work, and resumes paused redrives; "" at the end.
func (r *run) busy(ctx context.Context) (string, error) {
	if busy, err := r.nodes.Unfinished(ctx); err != nil || busy != "" {
		return busy, err
	}
	if waiting := r.world.waiting(); waiting != "" {
		return waiting, nil
	}
	var all []deadletters.Letter
	for _, source := range []string{byHand, automatic} {
		letters, err := r.nodes.Letters(ctx, source)
		if err != nil {
			return "", err
		}
		all = append(all, letters...)
	}
	// After a failover some are missing for good; the check says which.
	if sure := r.world.sure(); !r.failover && len(all) < sure {
		return fmt.Sprintf("%d of %d messages are letters", len(all), sure), nil
	}
	for _, l := range all {
		if l.State != deadletters.LetterRedriven {
			return string(l.State) + ": letter " + l.LetterUUID.String(), nil
		}
	}
	return "", r.world.look()
}
