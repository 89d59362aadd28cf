package storetest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/await"
)

// Node is one process's view of a shared store.
type Node interface {
	engine.Database
	engine.Cluster
}

// RunCluster runs the suite of engine.Cluster. open returns the stores of two processes on one new, empty database, and
// closes them when t ends. With deaf, peer events must not arrive.
func RunCluster(t *testing.T, deaf bool, open func(t *testing.T) (a, b Node)) {
	t.Helper()
	cases := []clusterCase{
		{"OneClock", oneClock},
		{"TurnIsOfOne", turnIsOfOne},
		{"TurnRunsOut", turnRunsOut},
		{"TurnGivenUp", turnGivenUp},
		{"TurnAmongMany", turnAmongMany},
		{"LastTurn", lastTurn},
		{"Occupied", occupied},
		{"OccupiedSeesWhatComesAndGoes", occupiedSeesWhatComesAndGoes},
		{"Settled", settled},
		{"NewestTemplates", newestTemplates},
		{"ContextEditedElsewhere", contextEditedElsewhere},
		{"ListenEnds", listenEnds},
		{"AnnounceToNobody", announceToNobody},
		{"Attended", attended},
	}
	if !deaf {
		cases = append(cases, clusterCase{"News", news}, clusterCase{"ManyNews", manyNews}, clusterCase{"Feed", feedMessages},
			clusterCase{"FeedTooLong", feedMessagesTooLong})
	}
	runPairs(t, cases, open)
}

func runPairs(t *testing.T, cases []clusterCase, open func(t *testing.T) (a, b Node)) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, b := open(t)
			c.run(&pair{newFixture(t, a), a, b})
		})
	}
}

// newestTemplates registers versions at one node and reads the newest at the other; the text of a version does not
// matter.
func newestTemplates(p *pair) {
	ten, two := diamond("default", "v", "10"), diamond("default", "v", "2")
	elsewhere := diamond("other", "v", "3")
	p.register(ten, two, elsewhere)
	got, err := p.b.NewestTemplates(p.Context(), []engine.TemplateName{{Namespace: "other", Name: "v"},
		{Namespace: "default", Name: "nope"}, {Namespace: "default", Name: "v"}})
	p.must(err)
	p.equal("newest", got, []int64{elsewhere.DefID, 0, two.DefID})
}

type clusterCase struct {
	name string
	run  func(p *pair)
}

// pair is two processes on one database. The fixture is the first's.
type pair struct {
	*fixture
	a, b Node
}

func oneClock(p *pair) {
	if apart := p.a.Now().Sub(p.b.Now()).Abs(); apart > time.Second {
		p.Errorf("the clocks of two processes are %v apart", apart)
	}
	first := p.a.Now()
	await.Until(p, "the clock goes on", func() bool { return p.a.Now().After(first) })
}

func (p *pair) turn(of Node, loop string, hold time.Duration) bool {
	p.Helper()
	ours, err := of.Turn(p.Context(), loop, hold)
	p.must(err)
	return ours
}

func turnIsOfOne(p *pair) {
	p.equal("the first who asks", p.turn(p.a, "x", time.Hour), true)
	p.equal("another", p.turn(p.b, "x", time.Hour), false)
	p.equal("the first again", p.turn(p.a, "x", time.Hour), true)
	p.equal("another again", p.turn(p.b, "x", 0), false)
	p.equal("another, for another loop", p.turn(p.b, "y", time.Hour), true)
	p.equal("the first, for that", p.turn(p.a, "y", time.Hour), false)
}

func turnRunsOut(p *pair) {
	p.equal("the first who asks", p.turn(p.a, "x", 50*time.Millisecond), true)
	await.Until(p, "the turn of who does not ask again passes on", func() bool { return p.turn(p.b, "x", time.Hour) })
	p.equal("who had it", p.turn(p.a, "x", time.Hour), false)
}

func turnGivenUp(p *pair) {
	p.equal("the first who asks", p.turn(p.a, "x", time.Hour), true)
	p.turn(p.a, "x", 0)
	p.equal("another, at once", p.turn(p.b, "x", time.Hour), true)
}

func turnAmongMany(p *pair) {
	var got [2]atomic.Int64
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			n := []Node{p.a, p.b}[i%2]
			ours, err := n.Turn(p.Context(), "x", time.Hour)
			if err != nil {
				p.Error(err)
			}
			if ours {
				got[i%2].Add(1)
			}
		})
	}
	wg.Wait()
	if a, b := got[0].Load(), got[1].Load(); a+b != 8 || a*b != 0 {
		p.Errorf("of 8 askers each, %d of the one process got the turn, and %d of the other", a, b)
	}
}

func lastTurn(p *pair) {
	last := func(of Node) task.Instant {
		at, err := of.LastTurn(p.Context())
		p.must(err)
		return at
	}
	const slack = time.Second
	p.equal("before the first", last(p.a), task.Instant(0))
	began := task.At(p.a.Now())
	p.turn(p.a, "x", time.Hour)
	first := last(p.b)
	if first < began.Add(-slack) || first > task.At(p.b.Now()).Add(slack) {
		p.Errorf("a turn taken at %d was the last at %d", began, first)
	}
	p.turn(p.b, "x", time.Hour) // refused: no process held it then
	p.equal("after a refusal", last(p.a), first)
	for _, of := range []Node{p.a, p.b} {
		turns, err := of.Turns(p.Context())
		p.must(err)
		if len(turns) != 1 || turns[0].Loop != "x" || turns[0].Node == "" || turns[0].Taken != first ||
			turns[0].Until != first.Add(time.Hour) {
			p.Errorf("the turns are %+v", turns)
		}
	}
	await.Until(p, "a renewal counts", func() bool {
		p.turn(p.a, "x", time.Hour)
		return last(p.b) > first
	})
}

func (p *pair) occupied(of Node, limit int, routes ...int64) map[int64]int {
	p.Helper()
	got, err := of.Occupied(p.Context(), routes, limit)
	p.must(err)
	return got
}

func occupied(p *pair) {
	x, y, z := p.routes[0].ID, p.routes[1].ID, p.routes[2].ID
	p.equal("nothing", p.occupied(p.b, 10, x, y, z), map[int64]int{})
	jobs := p.many(5)
	pair := p.build(p.diamond, 0) // its first step is on x, the others wait
	p.insert(pair)
	p.move(jobs[0], func(s *task.Step) error { return s.Claim(1, p.now, p.now.Add(time.Hour)) })
	p.move(jobs[1], func(s *task.Step) error {
		if err := s.Claim(1, p.now, p.now.Add(time.Hour)); err != nil {
			return err
		}
		return s.Postpone(p.now, p.now.Add(time.Hour), task.Scheduling{})
	})
	for name, of := range map[string]Node{"here": p.a, "elsewhere": p.b} {
		await.Until(p, "the steps are seen "+name, func() bool { return p.occupied(of, 10, x)[x] == 4 })
		p.equal("all routes "+name, p.occupied(of, 10, x, y, z, 1<<40), map[int64]int{x: 4})
		p.equal("up to a limit "+name, p.occupied(of, 3, x), map[int64]int{x: 3})
		p.equal("not asked for "+name, p.occupied(of, 10, y, z), map[int64]int{})
		p.equal("no routes "+name, p.occupied(of, 10), map[int64]int{})
	}
}

// Ready steps are seen soon, despite any cache of the queue.
func occupiedSeesWhatComesAndGoes(p *pair) {
	x := p.routes[0].ID
	for range 3 {
		p.equal("nothing", p.occupied(p.b, 10, x), map[int64]int{})
		j := p.one()
		await.Until(p, "a step that came is seen", func() bool { return p.occupied(p.b, 10, x)[x] == 1 })
		p.move(j, func(s *task.Step) error { return s.Claim(1, p.now, p.now.Add(time.Hour)) })
	}
}

func settled(p *pair) {
	jobs := p.many(4)
	p.finish(jobs[1], p.now)
	p.move(jobs[2], func(s *task.Step) error { return s.Claim(1, p.now, p.now.Add(time.Hour)) })
	p.move(jobs[3], func(s *task.Step) error { return s.Exhaust(p.now) })
	gone := p.store.IDs().Take(p.now.Time(), 1)
	ask := func(ids ...task.ID) map[task.ID]bool {
		got, err := p.b.Settled(p.Context(), ids)
		p.must(err)
		set := map[task.ID]bool{}
		for _, id := range got {
			set[id] = true
		}
		return set
	}
	p.equal("complete, in error and gone", ask(jobs[0].task.ID, jobs[1].task.ID, gone, jobs[2].task.ID, jobs[3].task.ID),
		map[task.ID]bool{jobs[1].task.ID: true, gone: true, jobs[3].task.ID: true})
	p.equal("none of these", ask(jobs[0].task.ID, jobs[2].task.ID), map[task.ID]bool{})
	p.equal("none asked for", ask(), map[task.ID]bool{})
}

func listenEnds(p *pair) {
	ctx, cancel := context.WithCancel(p.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.a.Subscribe(ctx, func(engine.PeerEvents) {}) }()
	time.AfterFunc(50*time.Millisecond, cancel) // it listens by then, or is about to
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			p.Errorf("Listen ended with %v", err)
		}
	case <-time.After(patience):
		p.Error("Listen goes on although nobody wants it to")
	}
}

func announceToNobody(p *pair) {
	for range 100 {
		p.a.Publish(engine.PeerEvents{Routes: []int64{1, 2}, Workers: []int64{3}, Registry: true})
	}
	p.a.Publish(engine.PeerEvents{})
}

type heard struct {
	mu              sync.Mutex
	routes, workers map[int64]bool
	registry        bool
}

func (h *heard) hear(n engine.PeerEvents) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range n.Routes {
		h.routes[r] = true
	}
	for _, w := range n.Workers {
		h.workers[w] = true
	}
	h.registry = h.registry || n.Registry
}

func (h *heard) copy() (routes, workers []int64, registry bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.routes)), slices.Sorted(maps.Keys(h.workers)), h.registry
}

func (p *pair) listen(at Node) *heard {
	h := &heard{routes: map[int64]bool{}, workers: map[int64]bool{}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := at.Subscribe(ctx, h.hear); !errors.Is(err, context.Canceled) {
			p.Errorf("Listen ended with %v", err)
		}
	}()
	p.Cleanup(func() {
		cancel()
		<-ended
	})
	return h
}

// A process receives another's events, and not its own.
func news(p *pair) {
	atA, atB := p.listen(p.a), p.listen(p.b)
	await.Until(p, "both processes hear each other", func() bool {
		p.a.Publish(engine.PeerEvents{Routes: []int64{1, 2}, Workers: []int64{3}})
		p.b.Publish(engine.PeerEvents{Routes: []int64{4}, Registry: true})
		ofB, _, registryA := atA.copy()
		ofA, workers, _ := atB.copy()
		return len(ofA) == 2 && len(workers) == 1 && len(ofB) == 1 && registryA
	})
	routes, workers, registry := atA.copy()
	p.equal("routes heard by the one", routes, []int64{4})
	p.equal("workers", workers, []int64(nil))
	p.equal("registry", registry, true)
	routes, workers, registry = atB.copy()
	p.equal("routes heard by the other", routes, []int64{1, 2})
	p.equal("workers", workers, []int64{3})
	p.equal("registry", registry, false)
}

// Any number of simultaneous events arrives.
func manyNews(p *pair) {
	all := make([]int64, 3000)
	for i := range all {
		all[i] = 1_000_000 + int64(i)
	}
	h := p.listen(p.b)
	await.Until(p, "the other process listens", func() bool {
		p.a.Publish(engine.PeerEvents{Registry: true})
		_, _, registry := h.copy()
		return registry
	})
	p.a.Publish(engine.PeerEvents{Routes: all, Workers: all})
	await.Until(p, "all are heard", func() bool {
		routes, workers, _ := h.copy()
		return len(routes) == len(all) && len(workers) == len(all)
	})
}
