package scenario_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/sealed"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
)

type duo struct {
	t        *testing.T
	dsn      string
	observer *observer
	nodes    [2]*node
	now      time.Time
	trace    string
	figures  figures

	mu sync.Mutex // two actors overlap until the database finds that a lock is free
	*knowledge
	all      bool
	handed   map[engine.LeaseRef]bool
	heard    map[task.ID]time.Time // the last accepted sign of life of a worker
	serves   map[task.ID]int
	keys     map[string]bound
	pending  map[task.ID]task.ID
	known    map[task.ID]*task.Task // as they were after the last round
	repaired map[task.ID]bool
	marks    int64 // the last that was sent with news
	stocked  int
	deliveries
	duoPauses
}

type bound struct {
	task task.ID
	at   time.Time
}

type figures struct {
	rounds, verbs, overlaps, locks int
}

func (f figures) String() string {
	return fmt.Sprintf("%d rounds, %d verbs beside others, %d switches inside a transaction, %d waits for locks",
		f.rounds, f.verbs, f.overlaps, f.locks)
}

type node struct {
	*world
	name  string
	store *pausingStore
	stop  func()
}

// duoConfig has short times, so that many of their edges are close.
var duoConfig = settings.Config{
	IdempotencyWindow:  time.Hour,
	Retention:          settings.Retention{Finished: 2 * time.Hour, Cases: 3 * time.Hour, Workers: 2 * time.Hour},
	StalenessDetection: settings.StalenessDetection{BatchSize: 5},
	Delivery:           duoDelivery,
}

func newDuo(t *testing.T, all bool) (*duo, error) {
	ring, err := newKeys()
	if err != nil {
		return nil, err
	}
	d := &duo{t: t, dsn: postgrestest.DSN(t), now: start, knowledge: newKnowledge(ring), all: all,
		handed: map[engine.LeaseRef]bool{},
		heard:  map[task.ID]time.Time{}, serves: map[task.ID]int{}, keys: map[string]bound{}, pending: map[task.ID]task.ID{},
		known: map[task.ID]*task.Task{}, repaired: map[task.ID]bool{}, duoPauses: newDuoPauses(),
		deliveries: deliveries{started: map[engine.LeaseRef]bool{}, expired: map[engine.LeaseRef]bool{},
			expires: map[engine.LeaseRef]time.Time{}, cordoned: map[*node]map[task.ID]int{},
			uncordons: map[task.ID]int{}}}
	for i, name := range []string{"A", "B"} {
		d.nodes[i] = &node{name: name}
		if err := d.open(i); err != nil {
			return d, err
		}
	}
	if d.observer, err = openObserver(t, d.dsn); err != nil {
		return d, err
	}
	for _, n := range d.nodes {
		n.store.observer = d.observer
		for _, def := range append(modelTemplates(), timedTemplate()) {
			if _, _, err := n.engine.RegisterTemplate(n.ctx, def, engine.Registration{}); err != nil {
				return d, err
			}
		}
	}
	for _, n := range d.nodes {
		err = errors.Join(err, d.begin(n, 4))
	}
	for _, handler := range []string{"h", "i"} {
		err = errors.Join(err, d.register(d.nodes[0], task.Worker{Name: handler, Capacity: 10, Handlers: []string{handler}}))
	}
	return d, errors.Join(err, d.carryNews())
}

func timedTemplate() *task.Template {
	t := &task.Template{Namespace: engine.DefaultNamespace, Name: "timed", Version: "1", Fingerprint: "timed",
		Lifecycle: task.Lifecycle{MaxDuration: 10 * time.Minute},
		Steps:     []task.StepSpec{{Name: "a", Handler: "h"}, {Name: "b", Handler: "i", Dependencies: []string{"a"}}}}
	t.Link()
	return t
}

func (d *duo) open(i int) error {
	n := d.nodes[i]
	s, err := openPausing(d.t.Context(), d.dsn, uint64(i)+1)
	if err != nil {
		return err
	}
	s.private = &privateNotes{texts: map[string]string{}}
	if s.observer = d.observer; n.store != nil {
		s.ids = n.store.ids
	}
	n.store = s
	if n.world == nil {
		n.world = &world{ctx: d.t.Context(), cfg: duoConfig, now: start, roll: 0.5, byHand: true}
		if d.all {
			n.world.cfg, n.world.seals = modelConfig, sealed.New(d.knowledge.keys.all, sealed.Options{})
		}
		n.world.again = func() error {
			n.stop()
			return d.open(i)
		}
	}
	n.world.store = s
	n.world.set(later(n.world.now, d.now))
	if err := n.world.boot(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = n.engine.SubscribePeers(ctx) // until ctx ends; what is not heard is missed by the next mark
	}()
	n.stop = func() {
		cancel()
		<-ended
		closeStore(d.t, n.store.Store)
	}
	return n.store.heardOf(connected)
}

func (d *duo) close() {
	for _, n := range d.nodes {
		if n.stop != nil {
			n.stop()
			n.stop = nil
		}
	}
}

func (d *duo) round(r round) error {
	d.trace = ""
	if d.all {
		d.advance(time.Millisecond)
	}
	for _, o := range r.before {
		d.trace += fmt.Sprintf("  %s, alone, at +%v\n", o.kind, d.now.Sub(start))
		if err := errors.Join(d.aloneVerb(o), d.checkTasks()); err != nil {
			return err
		}
	}
	if len(r.lines[0])+len(r.lines[1]) == 0 {
		return nil
	}
	s := newSchedule(d.observer.waiting)
	var errs [2]error
	for i, n := range d.nodes {
		s.add(n.name, func(a *actor) {
			n.store.schedule.Store(&turn{s, a})
			defer n.store.schedule.Store(nil)
			for _, o := range r.lines[i] {
				if err := d.verb(n, o); err != nil {
					errs[i] = errors.Join(errs[i], fmt.Errorf("node %s, %s: %w", n.name, o.kind, err))
				}
			}
		})
		d.figures.verbs += len(r.lines[i])
	}
	err := s.run(rand.New(rand.NewPCG(r.seed, 13)))
	d.trace += s.String()
	d.figures.overlaps += s.overlap
	for _, line := range s.trace {
		if line == "A waits for a lock" || line == "B waits for a lock" {
			d.figures.locks++
		}
	}
	return errors.Join(err, errs[0], errs[1], d.nodes[0].store.violations(), d.nodes[1].store.violations())
}
