package scenario_test

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (d *duo) aloneVerb(o op) error {
	n := d.nodes[o.n[0]%2]
	if kind, is := strings.CutPrefix(o.kind, modelVerb); is {
		return d.modelVerb(d.nodes[o.n[5]%2], op{kind, o.n})
	}
	switch o.kind {
	case "advance":
		d.advance([]time.Duration{time.Millisecond, time.Second, 31 * time.Second, 91 * time.Second, 6 * time.Minute,
			11 * time.Minute}[o.n[1]%6])
		return nil
	case "key edge", "worker edge", "finish edge", "deadline edge":
		return d.edge(o)
	case "news":
		return d.carryNews()
	case "restart":
		if o.n[1]%4 > 0 {
			return nil
		}
		n.stop()
		err := d.open(int(o.n[0] % 2))
		d.learned(n)
		return err
	case "bury":
		_, err := n.engine.MarkDeadWorkers(n.ctx)
		return err
	case "crew": // workers with room, of one route and of two
		return errors.Join(
			d.register(n, task.Worker{Name: "w", Capacity: 10, Handlers: []string{duoHandlers[o.n[1]%2]}}),
			d.register(n, task.Worker{Name: "w", Capacity: 10, Handlers: []string{"h", "i"}}))
	case "stock": // a few older tasks for one route, another one each time
		handler := duoHandlers[d.stocked%2]
		d.stocked++
		subs := slices.Repeat([]engine.Submission{{TaskType: handler, Context: []byte("1")}}, 2+int(o.n[2]%5))
		d.advance(time.Millisecond)
		return d.accepted(n.engine.Submit(n.ctx, subs, false))
	case "finishing":
		return d.begin(n, 2)
	case "failing":
		return d.fail(n)
	case "dispatching", "silence", "expiry edge":
		return d.deliveryAlone(n, o)
	case "upkeep":
		return errors.Join(d.verb(n, o), d.checkUnserved(n))
	default:
		return d.verb(n, o)
	}
}

func (d *duo) begin(n *node, tasks int) error {
	if err := d.register(n, task.Worker{Name: "w", Capacity: 10, Handlers: []string{"h", "i"}}); err != nil {
		return err
	}
	subs := make([]engine.Submission, tasks)
	for i := range subs {
		subs[i] = engine.Submission{TaskType: duoHandlers[i%2], Context: []byte("1")}
	}
	if err := d.accepted(n.engine.Submit(n.ctx, subs, false)); err != nil {
		return err
	}
	leases, err := d.claim(n, d.workers[len(d.workers)-1], 10, true)
	if err != nil {
		return err
	}
	return d.settle(n, complete(leases))
}

// fail makes a new task with a deadline fail for good.
func (d *duo) fail(n *node) error {
	if err := d.accepted(n.engine.Submit(n.ctx, []engine.Submission{{Name: "timed"}}, false)); err != nil {
		return err
	}
	if err := d.register(n, task.Worker{Name: "w", Capacity: 10, Handlers: []string{"h"}}); err != nil {
		return err
	}
	leases, err := d.claim(n, d.workers[len(d.workers)-1], 10, true)
	if err != nil {
		return err
	}
	results := complete(leases)
	for i := range results {
		results[i].Status, results[i].Failure = engine.ResultFailed, &task.Failure{Type: "fatal", Message: "x"}
	}
	return d.settle(n, results)
}

func (d *duo) advance(by time.Duration) {
	d.now = d.now.Add(by)
	for _, n := range d.nodes {
		n.world.set(d.now)
	}
}

// edge moves the clock to the end of a key's window, a deadline or a retention, or close to it.
func (d *duo) edge(o op) error {
	var edges []time.Time
	switch o.kind {
	case "key edge":
		for _, b := range d.keys {
			edges = append(edges, b.at.Add(duoConfig.IdempotencyWindow))
		}
	case "worker edge":
		if len(d.workers) == 0 {
			return nil
		}
		edges = append(edges, d.heard[d.mostSilent()].Add(duoConfig.Retention.Workers))
	default:
		for _, t := range d.known {
			if done := t.State.Terminal(); done && o.kind == "finish edge" && !t.Meta.Case.Kept() {
				edges = append(edges, t.FinishedAt.Time().Add(duoConfig.Retention.Finished))
			} else if !done && o.kind == "deadline edge" && t.DeadlineAt > 0 {
				edges = append(edges, t.DeadlineAt.Time())
			}
		}
	}
	edges = slices.DeleteFunc(edges, d.now.After)
	if len(edges) == 0 {
		return nil
	}
	near := time.Second // just behind it, most times
	if pick := o.n[2] % 8; pick < 2 {
		near = []time.Duration{-time.Second, 0}[pick]
	}
	to := slices.MinFunc(edges, time.Time.Compare).Add(near)
	d.advance(max(to.Sub(d.now), 0))
	return nil
}

func (d *duo) carryNews() error {
	d.marks--
	for _, n := range d.nodes {
		n.store.carry()
		n.store.Store.Publish(engine.PeerEvents{Workers: []int64{d.marks}})
	}
	for _, n := range d.nodes {
		if err := errors.Join(n.store.heardOf(d.marks), n.engine.HandlePeerEvents(n.ctx)); err != nil {
			return err
		}
	}
	d.learned(d.nodes[0], d.nodes[1])
	d.heardOfCordons()
	return nil
}
