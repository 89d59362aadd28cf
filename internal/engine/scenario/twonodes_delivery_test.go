package scenario_test

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Scripts with a seed from here on have workers with queues, letters and cordons too. Earlier seeds match the table
// of the design note.
const deliverySeeds = 1000

var duoDelivery = settings.Delivery{Offered: true, TTL: time.Minute, ExpiryLimit: 3}

var (
	deliveryVerbs  = []string{"queue worker", "dispatch", "dispatch", "dispatch", "letter", "letter", "cordon", "uncordon"}
	deliveryRivals = []rivalry{
		{[]string{"dispatching"}, [2]string{"letter", "start"}},
		{[]string{"dispatching"}, [2]string{"letter", "start"}},
		{[]string{"dispatching"}, [2]string{"letter", "letter"}},
		{[]string{"dispatching"}, [2]string{"letter", "settle"}},
		{[]string{"dispatching"}, [2]string{"letter", "cancel"}},
		{[]string{"dispatching", "expiry edge"}, [2]string{"letter", "upkeep"}},
		{[]string{"dispatching", "expiry edge"}, [2]string{"start", "upkeep"}},
		{[]string{"queue worker", "stock", "news"}, [2]string{"dispatch", "dispatch"}},
		{[]string{"queue worker", "stock", "news"}, [2]string{"dispatch", "claim"}},
		{[]string{"queue worker", "stock", "news"}, [2]string{"dispatch", "cordon"}},
		{[]string{"queue worker", "stock", "news"}, [2]string{"dispatch", "drain"}},
		{[]string{"dispatching", "silence"}, [2]string{"letter", "upkeep"}},
	}
)

type deliveries struct {
	queues    []task.ID
	started   map[engine.LeaseRef]bool
	expired   map[engine.LeaseRef]bool
	expires   map[engine.LeaseRef]time.Time
	cordoned  map[*node]map[task.ID]int // cordons that a node has heard of; 0 from the begin of an uncordon on
	uncordons map[task.ID]int
}

func (d *duo) deliveryAlone(n *node, o op) error {
	switch o.kind {
	case "dispatching":
		if err := errors.Join(d.queueWorker(n), d.aloneVerb(op{kind: "stock", n: o.n})); err != nil {
			return err
		}
		_, err := d.dispatch(n, d.queues[len(d.queues)-1], 10)
		return err
	case "silence": // the workers are about to be taken for dead
		d.advance(89 * time.Second)
		return nil
	default:
		var last time.Time
		for _, at := range d.expires {
			if at.After(last) {
				last = at
			}
		}
		after := []time.Duration{-time.Millisecond, time.Second, 30 * time.Second, 31 * time.Second}[o.n[1]%4]
		d.advance(max(last.Add(after).Sub(d.now), 0))
		return nil
	}
}

func (d *duo) deliveryVerb(n *node, o op) error {
	switch o.kind {
	case "queue worker":
		return d.queueWorker(n)
	case "letter":
		return d.letter(n, o)
	case "cordon", "uncordon":
		return d.cordon(n, o)
	default:
		id, ok := pick(d, &d.queues, uint32(len(d.queues))-1-o.n[0]%3%uint32(max(len(d.queues), 1)))
		if !ok {
			return nil
		}
		_, err := d.dispatch(n, id, 1+int(o.n[1]%10))
		return unless(err, forgotten)
	}
}

func (d *duo) queueWorker(n *node) error {
	w, err := n.engine.Register(n.ctx, task.Worker{Name: "q", Capacity: 10, Handlers: []string{"h", "i"},
		Transport: task.TransportAMQP})
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.workers, d.queues = append(d.workers, w.ID), append(d.queues, w.ID)
	d.heard[w.ID], d.serves[w.ID] = d.now, 2
	return nil
}

// dispatch leases steps for the queue of a worker. A cordoned one gets none.
func (d *duo) dispatch(n *node, worker task.ID, most int) ([]engine.Lease, error) {
	cordons, pauses := d.cordons(n, worker), d.pausesOf(n)
	steps, _, err := n.engine.Dispatch(n.ctx, worker, most, 0)
	if err != nil {
		return nil, err
	}
	leases := make([]engine.Lease, len(steps))
	for i, s := range steps {
		leases[i] = s.Lease
	}
	if err := errors.Join(d.uncordoned(n, worker, cordons, leases), d.unpaused(n, pauses, leases),
		d.took(leases, false)); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range steps {
		d.expires[refOf(&s.Lease)] = d.now.Add(s.TTL)
	}
	return leases, nil
}

func refOf(l *engine.Lease) engine.LeaseRef {
	return engine.LeaseRef{Step: l.Step.ID, Token: l.Step.Token}
}

// letter reports the last messages as expired, and some that never existed.
func (d *duo) letter(n *node, o op) error {
	d.mu.Lock()
	refs := slices.Clone(d.leases[max(0, len(d.leases)-int(1+o.n[0]%8)):])
	d.mu.Unlock()
	if len(refs) == 0 {
		return nil
	}
	expired := make([]engine.ExpiredDispatch, len(refs))
	for i, ref := range refs {
		expired[i].Lease = ref
	}
	answers, err := n.engine.ExpireDispatches(n.ctx, expired)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, a := range answers {
		switch ref := refs[i]; {
		case a.Err != nil:
			err = errors.Join(err, unless(a.Err, task.StaleToken, task.WrongState, task.NotFound))
		case d.started[ref]:
			err = errors.Join(err, fmt.Errorf("a letter failed the run of step %s under the token %d", ref.Step, ref.Token))
		case d.expired[ref]:
			err = errors.Join(err, fmt.Errorf("two letters failed step %s under the token %d", ref.Step, ref.Token))
		default:
			d.expired[ref] = true
		}
	}
	return err
}

func (d *duo) begun(ref engine.LeaseRef) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.expired[ref] {
		return fmt.Errorf("step %s was started under the token %d after its letter", ref.Step, ref.Token)
	}
	d.started[ref] = true
	return nil
}

func (d *duo) cordon(n *node, o op) error {
	from := &d.workers
	if o.n[1]%4 > 0 {
		from = &d.queues
	}
	id, ok := pick(d, from, o.n[0])
	if !ok {
		return nil
	}
	act := engine.WorkerAct{Actor: "ada", Reason: "because"}
	if o.kind == "uncordon" {
		d.mu.Lock()
		d.uncordons[id]++
		for _, cordons := range d.cordoned {
			cordons[id] = 0
		}
		d.mu.Unlock()
		_, err := n.engine.Uncordon(n.ctx, id, act)
		return unless(err, forgotten)
	}
	d.mu.Lock()
	uncordons := d.uncordons[id]
	d.mu.Unlock()
	_, err := n.engine.Cordon(n.ctx, id, act)
	if err == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.uncordons[id] == uncordons {
			d.cordonsOf(n)[id]++
		}
	}
	return unless(err, forgotten)
}

// cordons returns the cordons certainly in force for a node: those that it stored or heard of.
func (d *duo) cordons(n *node, worker task.ID) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cordonsOf(n)[worker]
}

// cordonsOf returns the cordons in force for a node; the caller holds mu.
func (d *duo) cordonsOf(n *node) map[task.ID]int {
	if d.cordoned[n] == nil {
		d.cordoned[n] = map[task.ID]int{}
	}
	return d.cordoned[n]
}

func (d *duo) heardOfCordons() {
	d.mu.Lock()
	defer d.mu.Unlock()
	a, b := d.cordonsOf(d.nodes[0]), d.cordonsOf(d.nodes[1])
	for id, n := range a {
		b[id] = max(b[id], n)
	}
	for id, n := range b {
		a[id] = max(a[id], n)
	}
}

// uncordoned checks that a worker that got steps was not cordoned all the time.
func (d *duo) uncordoned(n *node, worker task.ID, before int, leases []engine.Lease) error {
	if len(leases) > 0 && before > 0 && d.cordons(n, worker) >= before {
		return fmt.Errorf("the worker %s is cordoned and got %d steps", worker, len(leases))
	}
	return nil
}
