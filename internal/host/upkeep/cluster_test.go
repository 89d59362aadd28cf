package upkeep_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/host/upkeep"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
	"github.com/taskerhq/tasker/internal/testkit/storetest"
)

// clockAhead separates the store's clock from the processes', which begin in 2000: lease numbers are times only
// near today.
const clockAhead = 30*365*24*time.Hour + 3*time.Hour

// database is a store in memory shared by several processes.
type database struct {
	engine.Database

	mu    sync.Mutex
	turns map[string]turn
	ears  map[*process]func(engine.PeerEvents)
	lossy bool // news get lost
	said  []engine.PeerEvents
	told  int
}

type turn struct {
	of           *process
	taken, until time.Time
}

func newDatabase() *database {
	return &database{Database: memstore.New(&memstore.Options{Seed: 1}), turns: map[string]turn{},
		ears: map[*process]func(engine.PeerEvents){}}
}

func (d *database) setLossy(lossy bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lossy = lossy
}

// news returns the announcements since the last call.
func (d *database) news() []engine.PeerEvents {
	d.mu.Lock()
	defer d.mu.Unlock()
	said := d.said
	d.said = nil
	return said
}

// hangUp cuts the connections for news.
func (d *database) hangUp() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for p := range d.ears {
		close(p.cut)
		delete(d.ears, p)
	}
}

// process is one node's connection to the database.
type process struct {
	*database
	cut    chan struct{} // closed to cut the listening connection
	forget func()        // called when the database goes back in time

	lock    sync.Mutex
	away    bool          // the database is unreachable
	unheard bool          // answers get lost
	thaw    chan struct{} // not nil: it stands still until closed
	writes  []time.Time   // when it wrote
	listens []time.Time   // when it began to listen
	slow    chan struct{} // not nil: the next write ends when closed
}

var (
	_ engine.Database = (*process)(nil)
	_ engine.Cluster  = (*process)(nil)
)

func (p *process) setAway(away bool) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.away = away
}

func (p *process) setUnheard(unheard bool) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.unheard = unheard
}

func (p *process) hearsNothing() bool {
	p.lock.Lock()
	defer p.lock.Unlock()
	return p.unheard
}

func (p *process) setSlow(until chan struct{}) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.slow = until
}

// freeze blocks the process's database access until it is thawed.
func (p *process) freeze(thaw chan struct{}) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.thaw = thaw
}

func (p *process) reach() error {
	p.lock.Lock()
	thaw := p.thaw
	p.lock.Unlock()
	if thaw != nil {
		<-thaw
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.away {
		return errAway
	}
	return nil
}

func (p *process) Write(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	if err := p.reach(); err != nil {
		return err
	}
	p.lock.Lock()
	p.writes = append(p.writes, time.Now())
	slow := p.slow
	p.slow = nil
	p.lock.Unlock()
	err := p.Database.Write(ctx, fn)
	if slow != nil {
		<-slow
	}
	return err
}

// wrote returns the number of writes since the last call.
func (p *process) wrote() int {
	p.lock.Lock()
	defer p.lock.Unlock()
	n := len(p.writes)
	p.writes = nil
	return n
}

func (p *process) ClockOffset() time.Duration { return 0 }

func (p *process) Stepped(time.Time) time.Duration { return 0 }

func (p *process) Suspected() time.Duration { return 0 }

func (p *process) OnReplaced(forget func()) { p.forget = forget }

func (p *process) Now() time.Time { return time.Now().Add(clockAhead) }

func (p *process) Turn(_ context.Context, loop string, hold time.Duration) (bool, error) {
	if err := p.reach(); err != nil {
		return false, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.Now()
	if t, taken := p.turns[loop]; taken && t.of != p && now.Before(t.until) {
		return false, nil
	}
	p.turns[loop] = turn{p, now, now.Add(hold)}
	if p.hearsNothing() {
		return false, errAway
	}
	return true, nil
}

func (p *process) Turns(context.Context) (out []engine.Turn, err error) {
	if err := p.reach(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, loop := range slices.Sorted(maps.Keys(p.turns)) {
		t := p.turns[loop]
		out = append(out, engine.Turn{Loop: loop, Node: fmt.Sprintf("%p", t.of), Taken: task.At(t.taken),
			Until: task.At(t.until)})
	}
	return out, nil
}

func (p *process) LastTurn(context.Context) (task.Instant, error) {
	if err := p.reach(); err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var last task.Instant
	for _, t := range p.turns {
		last = max(last, task.At(t.taken))
	}
	return last, nil
}

func (p *process) Publish(n engine.PeerEvents) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.said = append(p.said, n); p.lossy {
		return
	}
	for other, hear := range p.ears {
		if other != p {
			hear(n)
		}
	}
}

func (p *process) Subscribe(ctx context.Context, hear func(engine.PeerEvents)) error {
	p.lock.Lock()
	p.listens = append(p.listens, time.Now())
	p.lock.Unlock()
	if err := p.reach(); err != nil {
		return err
	}
	p.mu.Lock()
	cut := make(chan struct{})
	p.cut, p.ears[p] = cut, hear
	p.mu.Unlock()
	hear(engine.PeerEvents{})
	select {
	case <-cut:
		return errAway
	case <-ctx.Done():
		p.mu.Lock()
		delete(p.ears, p)
		p.mu.Unlock()
		return ctx.Err()
	}
}

func (p *process) SubscribeFeed(ctx context.Context, hold time.Duration) error {
	_, err := p.Turn(ctx, fmt.Sprintf("listen %p", p), hold)
	return err
}

func (p *process) FeedSubscribed(context.Context) (bool, error) {
	if err := p.reach(); err != nil {
		return false, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for loop, t := range p.turns {
		if strings.HasPrefix(loop, "listen ") && t.of != p && p.Now().Before(t.until) {
			return true, nil
		}
	}
	return false, nil
}

func (p *process) PublishFeed(_ context.Context, t feed.Batch) error {
	if err := p.reach(); err != nil {
		return err
	}
	t.From = fmt.Sprintf("%p", p)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.told++; p.lossy {
		return nil
	}
	for other, hear := range p.ears {
		if other != p {
			t.Changes = slices.Clone(t.Changes)
			hear(engine.PeerEvents{Feed: &t})
		}
	}
	return nil
}

func (p *process) Occupied(ctx context.Context, routes []int64, limit int) (map[int64]int, error) {
	if err := p.reach(); err != nil {
		return nil, err
	}
	found := map[int64]int{}
	for _, r := range routes {
		n, err := p.QueueStore().Depth(ctx, r, math.MaxInt64, task.ID{}, limit)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			found[r] = n
		}
	}
	return found, nil
}

func (p *process) NewestTemplates(ctx context.Context, names []engine.TemplateName) ([]int64, error) {
	if err := p.reach(); err != nil {
		return nil, err
	}
	defs := make([]int64, len(names))
	for i, n := range names {
		t, err := p.FindTemplate(ctx, n.Namespace, n.Name, "")
		if err != nil {
			return nil, err
		}
		if t != nil {
			defs[i] = t.DefID
		}
	}
	return defs, nil
}

func (p *process) Settled(ctx context.Context, ids []task.ID) ([]task.ID, error) {
	if err := p.reach(); err != nil {
		return nil, err
	}
	var settled []task.ID
	for _, id := range ids {
		t, err := p.FindTask(ctx, id)
		if err != nil {
			return nil, err
		}
		if t == nil || t.State.Settled() {
			settled = append(settled, id)
		}
	}
	return settled, nil
}

// node is one of several engines with upkeep on a database.
type node struct {
	*engine.Engine
	t     *testing.T
	store *process
	log   *bytes.Buffer // read it after the node has stopped
	end   func() error
}

// boot starts a node until the end of the test.
func boot(t *testing.T, d *database, cfg settings.Config) *node {
	t.Helper()
	return bootOn(t, d, nil, cfg)
}

func bootOn(t *testing.T, d *database, through engine.Dispatcher, cfg settings.Config) *node {
	t.Helper()
	n := &node{t: t, store: &process{database: d}, log: &bytes.Buffer{}}
	var err error
	if n.Engine, err = engine.New(t.Context(), n.store,
		engine.Options{Config: cfg, Dispatcher: through, Roll: func() float64 { return 0.5 }}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	u := upkeep.New(n.Engine, slog.New(slog.NewTextHandler(n.log, nil)))
	go func() { ended <- u.Run(ctx) }()
	n.end = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(n.stop)
	synctest.Wait()
	return n
}

func (n *node) stop() {
	if err := n.end(); err != nil {
		n.t.Errorf("the upkeep ended with %v", err)
	}
}

// pair starts two nodes on one database; the first has the turns.
func pair(t *testing.T, cfg settings.Config) (d *database, a, b *node) {
	t.Helper()
	d = newDatabase()
	a = boot(t, d, cfg)
	b = boot(t, d, cfg)
	// between two ticks
	time.Sleep(500 * time.Millisecond)
	return d, a, b
}

func (n *node) register(w task.Worker) task.ID {
	n.t.Helper()
	r, err := n.Register(n.t.Context(), w)
	if err != nil {
		n.t.Fatal(err)
	}
	return r.ID
}

func (n *node) submit(sub engine.Submission) task.ID {
	n.t.Helper()
	r, err := n.Submit(n.t.Context(), []engine.Submission{sub}, false)
	if err != nil {
		n.t.Fatal(err)
	}
	return r[0].ID
}

type polled struct {
	leases []engine.Lease
	drain  bool
	after  time.Duration
	err    error
}

func (n *node) poll(w task.ID, capacity int, wait time.Duration) <-chan polled {
	n.t.Helper()
	out := make(chan polled, 1)
	in := n.tryPoll(w, capacity, wait)
	go func() {
		p := <-in
		if p.err != nil {
			n.t.Error(p.err)
		}
		out <- p
	}()
	synctest.Wait()
	return out
}

func (n *node) tryPoll(w task.ID, capacity int, wait time.Duration) <-chan polled {
	out := make(chan polled, 1)
	go func() {
		began := time.Now()
		leases, drain, err := n.Poll(n.t.Context(), w, capacity, wait, true)
		out <- polled{leases, drain, time.Since(began), err}
	}()
	synctest.Wait() // until it waits
	return out
}

func (n *node) take(w task.ID, wait time.Duration) engine.Lease {
	n.t.Helper()
	p := <-n.poll(w, 1, wait)
	if len(p.leases) != 1 {
		n.t.Fatalf("after %v a poll came back with %d steps, want 1", p.after, len(p.leases))
	}
	return p.leases[0]
}

func (n *node) settle(l engine.Lease, r engine.Result) {
	n.t.Helper()
	r.Step, r.Token = l.Step.ID, l.Step.Token
	answers, err := n.Settle(n.t.Context(), []engine.Result{r})
	if err != nil || answers[0].Err != nil {
		n.t.Fatalf("settle was answered %+v, %v", answers, err)
	}
}

func within(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

func between(t *testing.T, what string, took, least, most time.Duration) {
	t.Helper()
	if took < least || took > most {
		t.Errorf("%s took %v, want %v to %v", what, took, least, most)
	}
}

// The fake meets the contract of a real shared store.
func TestStandIn(t *testing.T) {
	t.Parallel()
	storetest.RunCluster(t, false, func(*testing.T) (a, b storetest.Node) {
		d := newDatabase()
		return &process{database: d}, &process{database: d}
	})
}
