package siege

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/proof/chaos/internal/cluster"
	"github.com/taskerhq/tasker/proof/chaos/internal/fault"
	"github.com/taskerhq/tasker/proof/crashtest"
	"github.com/taskerhq/tasker/proof/crashtest/load"
	"github.com/taskerhq/tasker/remote"
	"github.com/taskerhq/tasker/waits"
	"github.com/taskerhq/tasker/worker/protocol"
)

// run is one cluster with all callers.
type run struct {
	*cluster.Cluster
	options  Options
	scene    *fault.Scene
	journal  *crashtest.Journal
	handlers *load.Handlers
	notes    notes
	witness  *witness
	balancer *cluster.Balancer
	inquiry  *inquiry
	crew     *crew
	crowds   int

	balanced *tasker.Client   // every request goes to another node
	direct   []*tasker.Client // by node
	probers  []*load.Producer // by node
	closers  []func()

	log log
}

// Run carries out a run. An error means that it could not continue; the Report has the violations so far.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	c, err := cluster.Open(ctx, o.Dir, o.Unsafe, o.Redis)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(o.Out, "PostgreSQL on 127.0.0.1:%d, nodes on %s\n", c.Postgres.Port(), strings.Join(c.Addresses(), ", "))
	r := &run{Cluster: c, options: o, journal: crashtest.NewJournal(), handlers: &load.Handlers{}}
	r.journal.Foreign["foreign"] = true
	r.journal.Dispatched = o.Redis
	err = r.connect()
	if err == nil {
		err = r.birth(ctx)
	}
	if err == nil {
		err = r.load(ctx)
	}
	var found []crashtest.Found
	if err == nil {
		found, err = r.end(ctx)
	}
	for _, done := range r.closers {
		done()
	}
	err = errors.Join(err, c.Close())
	return r.report(found, err), err
}

func (r *run) rand(part uint64) *rand.Rand { return rand.New(rand.NewPCG(r.options.Seed, part)) }

func (r *run) connect() error {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, 256
	r.closers = append(r.closers, transport.CloseIdleConnections)
	r.witness = &witness{next: transport, notes: &r.notes}
	r.balancer = cluster.NewBalancer(r.Nodes, r.witness, r.rand(1))
	r.inquiry = newInquiry(&http.Client{Transport: r.witness}, &r.notes, r.options.Redis)
	var err error
	if r.balanced, err = r.dial(cluster.URL); err != nil {
		return err
	}
	for i, n := range r.Nodes {
		client, err := r.dial(n.URL())
		if err != nil {
			return err
		}
		r.direct = append(r.direct, client)
		r.probers = append(r.probers, r.producer(fmt.Sprintf("probe%d", i), uint64(10+i), client))
	}
	r.scene = &fault.Scene{Cluster: r.Cluster, Balancer: r.balancer, Rand: r.rand(2), Crowd: r.crowd}
	return nil
}

func (r *run) dial(url string) (*tasker.Client, error) {
	client, err := remote.Dial(url, &remote.Options{HTTPClient: &http.Client{Transport: r.balancer}})
	if err != nil {
		return nil, err
	}
	r.closers = append(r.closers, func() { _ = client.Close() }) // there is nothing that could fail
	recorder := crashtest.Record(protocol.Of(client), r.journal, nil)
	recorder.Waits = waits.Of(client)
	return tasker.NewClient(recorder), nil
}

// retry is shorter than a server's advice, so that callers return as soon as it does.
func (r *run) retry(ctx context.Context, _ error) error {
	return clock.Sleep(ctx, 20*time.Millisecond+rand.N(100*time.Millisecond))
}

// birth kills nodes while they create the schema concurrently, and then lets them come up.
func (r *run) birth(ctx context.Context) error {
	rng := r.rand(3)
	for range 3 {
		for _, n := range r.Nodes {
			if err := n.Launch(); err != nil {
				return err
			}
		}
		for _, i := range rng.Perm(len(r.Nodes)) {
			if err := clock.Sleep(ctx, rand.N(60*time.Millisecond)); err != nil {
				return err
			}
			r.Nodes[i].Kill()
		}
		for _, n := range r.Nodes {
			n.Gone()
		}
	}
	if err := r.Up(ctx); err != nil {
		return fmt.Errorf("after the kills at birth: %w", err)
	}
	return nil
}

// load runs all callers while faults strike, until all tasks are settled.
func (r *run) load(ctx context.Context) error {
	for _, yaml := range append([]string{load.Diamond}, load.Flows...) {
		if _, err := r.balanced.RegisterTemplate(ctx, tasker.TemplateSource{YAML: yaml}); err != nil {
			return err
		}
	}
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	err := r.hire(working, stop)
	if err == nil {
		err = r.strike(working)
	}
	if err != nil {
		stop(err)
	}
	close(r.crew.quiet)
	callers := r.crew.callers.Wait()
	if err == nil && callers == nil {
		begun := time.Now()
		err = load.Settle(working, r.balanced, r.retry, settleLimit)
		r.log.settling = time.Since(begun)
	}
	close(r.crew.done)
	workers := r.crew.workers.Wait()
	if cause := context.Cause(working); cause != nil {
		return cause // the other errors follow from it
	}
	return errors.Join(err, callers, workers)
}

// end kills everything simultaneously, so that nothing is only in memory, and reads the end state.
func (r *run) end(ctx context.Context) ([]crashtest.Found, error) {
	ctx, cancel := context.WithTimeout(ctx, endLimit)
	defer cancel()
	for _, n := range r.Nodes {
		n.Kill()
	}
	if err := errors.Join(r.Postgres.Kill(), r.Postgres.Restart()); err != nil {
		return nil, err
	}
	for _, n := range r.Nodes {
		n.Gone()
	}
	if err := r.Up(ctx); err != nil {
		return nil, fmt.Errorf("after the last crash: %w", err)
	}
	for _, z := range r.crew.zombies {
		if err := z.Last(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.balanced.Backend.(*crashtest.Recorder).ResendSignals(ctx, "crash"); err != nil {
		return nil, err
	}
	found, err := crashtest.Read(ctx, r.balanced)
	if err != nil {
		return nil, err
	}
	for _, n := range r.Nodes {
		if code := n.Stop(); code != 0 {
			r.notes.add("bad end", "node %d ended with exit code %d when it was told to stop", n.Index, code)
		}
	}
	return found, nil
}
