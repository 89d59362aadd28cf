package siege

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/proof/chaos/internal/cluster"
	"github.com/taskerhq/tasker/proof/crashtest"
	"github.com/taskerhq/tasker/proof/crashtest/load"
	"github.com/taskerhq/tasker/remote"
	"github.com/taskerhq/tasker/worker/protocol"
)

// setback is a cluster whose database is replaced under load.
type setback struct {
	*cluster.Cluster
	kind    setbackKind
	options Options
	rng     *rand.Rand
	journal *crashtest.Journal
	notes   notes
	client  *tasker.Client   // every request goes to another node
	direct  []*tasker.Client // by node
	probers []*load.Producer // by node
	closers []func()

	back time.Duration // from the new database until every node had carried out a task
}

// Bounds of a run with failovers.
const (
	calmLoad     = 4 * time.Second // before, and between the restored point and the end
	submitters   = 6
	submitPause  = 15 * time.Millisecond
	setbackLimit = 5 * time.Minute // per setback
)

// RunFailovers replaces the database of a cluster under load: in each way, each with a new cluster, repeatedly until
// o.Load is over. With o.Unsafe the checker does not learn when a database goes back in time, so it has to find the
// loss.
func RunFailovers(ctx context.Context, o Options) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	binary, err := cluster.Build(ctx, o.Dir)
	if err != nil {
		return nil, err
	}
	kinds := setbackKinds
	if o.Unsafe {
		kinds = slices.DeleteFunc(slices.Clone(kinds), func(k setbackKind) bool { return !k.goesBack })
	}
	whole := &Report{ByKind: map[string]int{}}
	begun := time.Now()
	for n := 0; n < len(kinds) || time.Since(begun) < o.Load; n++ {
		rep, err := runSetback(ctx, o, binary, kinds[n%len(kinds)], n)
		if rep != nil {
			whole.merge(rep)
		}
		if err != nil || !whole.OK() {
			return whole, err
		}
	}
	return whole, nil
}

// merge adds a setback's report. Logs are the last setback's: a run ends with the first broken one.
func (r *Report) merge(other *Report) {
	r.Violations, r.Weak = append(r.Violations, other.Violations...), append(r.Weak, other.Weak...)
	for kind, n := range other.ByKind {
		r.ByKind[kind] += n
	}
	r.Text += other.Text
	r.Logs = other.Logs
}

// runSetback is setback n: a new pair of databases with new nodes, in a separate directory below o.Dir. Tasks are read
// before the cluster is closed. With an error, the report is partial, or nil if the cluster could not be opened.
func runSetback(ctx context.Context, o Options, binary string, kind setbackKind, n int) (*Report, error) {
	ctx, cancel := context.WithTimeout(ctx, setbackLimit)
	defer cancel()
	dir := filepath.Join(o.Dir, fmt.Sprintf("failover%d", n))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make a directory for logs: %w", err)
	}
	c, err := cluster.OpenPair(dir, binary, kind.replication)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(o.Out, "%s: nodes on %s\n", kind.name, strings.Join(c.Addresses(), ", "))
	s := &setback{Cluster: c, kind: kind, options: o, rng: rand.New(rand.NewPCG(o.Seed, uint64(1000+n))),
		journal: crashtest.NewJournal()}
	err = s.connect()
	if err == nil {
		err = s.run(ctx)
	}
	var found []crashtest.Found
	if err == nil {
		found, err = crashtest.Read(ctx, s.client)
	}
	for _, done := range s.closers {
		done()
	}
	err = errors.Join(err, c.Close())
	return s.report(found, err), err
}

// connect makes a balanced client, and one client and one prober per node. All requests pass the balancer and the
// witness, and all clients write to the same journal.
func (s *setback) connect() error {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, 256
	s.closers = append(s.closers, transport.CloseIdleConnections)
	balancer := cluster.NewBalancer(s.Nodes, &witness{next: transport, notes: &s.notes},
		rand.New(rand.NewPCG(s.rng.Uint64(), 1)))
	urls := []string{cluster.URL}
	for _, n := range s.Nodes {
		urls = append(urls, n.URL())
	}
	for i, url := range urls {
		client, err := remote.Dial(url, &remote.Options{HTTPClient: &http.Client{Transport: balancer}})
		if err != nil {
			return err
		}
		s.closers = append(s.closers, func() { _ = client.Close() }) // there is nothing that could fail
		recorded := tasker.NewClient(crashtest.Record(protocol.Of(client), s.journal, nil))
		if i == 0 {
			s.client = recorded
			continue
		}
		s.direct = append(s.direct, recorded)
		s.probers = append(s.probers, s.producer(fmt.Sprintf("probe%d", i-1), recorded))
	}
	return nil
}

func (s *setback) producer(name string, client *tasker.Client) *load.Producer {
	return &load.Producer{Name: name, Rand: rand.New(rand.NewPCG(s.rng.Uint64(), 2)), Client: client, Retry: s.retry,
		Journal: s.journal}
}

func (s *setback) retry(ctx context.Context, _ error) error {
	return clock.Sleep(ctx, 20*time.Millisecond+rand.N(100*time.Millisecond))
}

// run runs all callers while the database is replaced, until all tasks are settled.
func (s *setback) run(ctx context.Context) error {
	if err := s.Up(ctx); err != nil {
		return err
	}
	if _, err := s.client.RegisterTemplate(ctx, tasker.TemplateSource{YAML: load.Diamond,
		Filename: "diamond.yaml"}); err != nil {
		return err
	}
	var callers, workers errgroup.Group
	quiet, done := make(chan struct{}), make(chan struct{})
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	join := func(group *errgroup.Group, do func() error) {
		group.Go(func() error {
			err := do()
			if err != nil && working.Err() == nil {
				s.notes.add("refused", "%v", err)
				stop(err)
			}
			return err
		})
	}
	handlers := &load.Handlers{}
	for i := range submitters {
		p := s.producer(fmt.Sprintf("p%d", i), append(s.direct, s.client)[i%(len(s.direct)+1)])
		join(&callers, func() error { return p.RunBlind(working, quiet, submitPause) })
	}
	for i, client := range s.direct {
		rng := rand.New(rand.NewPCG(s.rng.Uint64(), 3))
		join(&workers, func() error { return load.Work(working, done, client, handlers, fmt.Sprintf("sdk%d", i), rng) })
	}
	err := s.strike(working)
	if err != nil {
		stop(err)
	}
	close(quiet)
	if failed := callers.Wait(); err == nil && failed == nil {
		err = load.Settle(working, s.client, s.retry, settleLimit)
	}
	close(done)
	_ = workers.Wait() // errors were noted
	if cause := context.Cause(working); cause != nil {
		return cause
	}
	return err
}

// strike replaces the database, and waits until every node has carried out a task. The time counts from the new
// database's start, as the kind of setback reports it.
func (s *setback) strike(ctx context.Context) error {
	if err := clock.Sleep(ctx, calmLoad); err != nil {
		return err
	}
	there, err := s.kind.strike(ctx, s)
	if err != nil {
		return fmt.Errorf("%s: %w", s.kind.name, err)
	}
	recovering, cancel := context.WithTimeout(ctx, recoveryLimit)
	defer cancel()
	var all errgroup.Group
	for i, p := range s.probers {
		all.Go(func() error {
			id, err := p.One(recovering)
			if err == nil {
				err = p.Complete(recovering, id)
			}
			if err != nil && ctx.Err() == nil {
				s.notes.add("no recovery", "%s: node %d: %v", s.kind.name, i, err)
			}
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	s.back = time.Since(there)
	if s.back > s.kind.limit {
		s.notes.add("slow recovery", "%s: service was back %s after the database was, and has to be within %s", s.kind.name,
			round(s.back), s.kind.limit)
	}
	return clock.Sleep(ctx, calmLoad/2)
}

// wentBack notes that the database went back to a time of the journal. An unsafe run omits it: the checker must then
// report the loss.
func (s *setback) wentBack(since int64) {
	if !s.options.Unsafe {
		s.journal.WentBack(since)
	}
}

func (s *setback) report(found []crashtest.Found, err error) *Report {
	searchLogs(s.Cluster, &s.notes)
	rep := &Report{ByKind: map[string]int{}, Logs: tails(s.Cluster), Violations: s.Crashes()}
	seen, kinds := s.notes.result()
	rep.Violations = append(rep.Violations, seen...)
	maps.Copy(rep.ByKind, kinds)
	if err != nil {
		return rep
	}
	v := crashtest.Check(s.journal, found)
	rep.add(v)
	if v.Tasks < 50 {
		rep.Weak = append(rep.Weak, fmt.Sprintf("%s: %d tasks are too few", s.kind.name, v.Tasks))
	}
	if s.kind.goesBack && v.Undone == 0 && !s.options.Unsafe {
		rep.Weak = append(rep.Weak, s.kind.name+": the database went back, and no task was lost with it")
	}
	rep.Text = fmt.Sprintf("%-34s service back after %7s  tasks=%d handouts=%d unknown_answers=%d "+
		"gone_with_the_database=%d violations=%d\n",
		s.kind.name, round(s.back), v.Tasks, v.Handouts, v.Unknown, v.Undone, len(v.Violations))
	fmt.Fprint(s.options.Out, rep.Text)
	return rep
}
