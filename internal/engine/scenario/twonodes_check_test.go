package scenario_test

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (d *duo) check(whole bool) error {
	for _, check := range []func() error{d.checkTasks, d.checkKeys, d.checkWorkers, d.checkCases, d.checkDeadlines} {
		if err := check(); err != nil {
			return err
		}
	}
	if !whole {
		return nil
	}
	if d.all {
		return d.on(d.nodes[0]).compare()
	}
	p, err := d.nodes[0].picture()
	if err != nil {
		return err
	}
	for _, one := range p.Tasks {
		if err := errors.Join(one.check(), one.checkCases(p.Cases)); err != nil {
			return fmt.Errorf("task %s: %w", one.Task.ID, err)
		}
	}
	return nil
}

// checkTasks requires every accepted task until its retention ends.
func (d *duo) checkTasks() error {
	found := map[task.ID]*task.Task{}
	f := engine.TaskFilter{Limit: 1000}
	for more := true; more; more = !f.Below.IsZero() {
		tasks, next, err := d.nodes[0].engine.Tasks(d.t.Context(), f)
		if err != nil {
			return err
		}
		for _, t := range tasks {
			found[t.ID] = t
		}
		f.Below = next
	}
	kept := d.tasks[:0]
	for _, id := range d.tasks {
		if found[id] != nil {
			kept = append(kept, id)
			continue
		}
		last := d.known[id]
		if age := d.now.Sub(time.UnixMilli(id.Seq() >> 12)); last == nil && d.all && age > d.nodes[0].retained() {
			continue
		}
		if last == nil || !last.State.Terminal() || d.now.Sub(last.FinishedAt.Time()) <= duoConfig.Retention.Finished {
			return fmt.Errorf("the task %s was accepted and is gone; it was last seen as %+v", id, last)
		}
	}
	d.deleted = d.deleted || len(kept) < len(d.tasks)
	if d.tasks = kept; len(found) > len(kept) {
		return fmt.Errorf("%d tasks are stored, %d were accepted", len(found), len(kept))
	}
	d.known = found
	return nil
}

// checkKeys checks that each key names its task throughout its window.
func (d *duo) checkKeys() error {
	for name := range d.keys {
		b, within := d.bound(name)
		if !within {
			continue
		}
		key := engine.KeyName{Namespace: engine.DefaultNamespace, Key: name}
		now, err := d.nodes[0].store.BoundTasks(d.t.Context(), []engine.KeyName{key}, task.At(d.now))
		if err != nil {
			return err
		}
		if now[key] != b.task {
			return fmt.Errorf("the key %s was bound to the task %s %v ago and names %s now",
				name, b.task, d.now.Sub(b.at), now[key])
		}
	}
	return nil
}

// checkWorkers checks that retention keeps a worker for long enough after its last sign of life.
func (d *duo) checkWorkers() error {
	list, err := d.nodes[0].store.Workers(d.t.Context(), 0)
	if err != nil {
		return err
	}
	there := map[task.ID]bool{}
	for _, w := range list {
		there[w.ID] = true
	}
	kept := d.workers[:0]
	for _, id := range d.workers {
		if silent := d.now.Sub(d.heard[id]); !there[id] && silent <= duoConfig.Retention.Workers {
			return fmt.Errorf("the worker %s gave a sign of life %v ago and is forgotten", id, silent)
		}
		if there[id] {
			kept = append(kept, id)
		}
	}
	d.workers = kept
	return nil
}

func (d *duo) checkCases() error {
	for id, of := range d.pending {
		c, err := d.nodes[0].store.FindCase(d.t.Context(), id)
		if err != nil {
			return err
		}
		if c == nil || d.known[of] == nil {
			return fmt.Errorf("the case %s is pending, and it or its task %s is gone", id, of)
		}
	}
	return nil
}

// checkDeadlines checks that a repaired task has its full time from then on.
func (d *duo) checkDeadlines() error {
	for id := range d.repaired {
		t := d.known[id]
		if t == nil {
			continue
		}
		def, err := d.nodes[0].engine.TemplateOf(d.t.Context(), t.DefID)
		if err != nil {
			return err
		}
		if def.Lifecycle.MaxDuration == 0 {
			continue
		}
		records, err := d.nodes[0].engine.Records(d.t.Context(), id)
		if err != nil {
			return err
		}
		if err := checkFullTime(t, records.Events, def.Lifecycle.MaxDuration); err != nil {
			return fmt.Errorf("the task %s %w", id, err)
		}
	}
	return nil
}

func checkFullTime(t *task.Task, events []task.Event, allowed time.Duration) error {
	since := func(i task.Instant) time.Duration { return i.Time().Sub(start) }
	var repaired task.Instant
	for _, e := range events {
		if e.From == task.Errored {
			repaired = e.At
		}
		overran := e.To == task.Errored && e.Cause == "max_duration_minutes exceeded"
		if overran && repaired > 0 && e.At < repaired.Add(allowed) {
			return fmt.Errorf("was repaired at +%v and had overrun its %v at +%v", since(repaired), allowed, since(e.At))
		}
	}
	if open := !t.State.Settled() && repaired > 0; open && t.DeadlineAt != 0 && t.DeadlineAt < repaired.Add(allowed) {
		return fmt.Errorf("was repaired at +%v and has %v from then on, but its deadline is +%v",
			since(repaired), allowed, since(t.DeadlineAt))
	}
	return nil
}

// checkUnserved requires a case for each step that is ready for too long on a route without a worker. Call it after
// the upkeep has finished.
func (d *duo) checkUnserved(n *node) error {
	if n.engine.Arriving() {
		return nil
	}
	since := task.At(d.now).Add(-n.engine.Config().Cases.WorkerUnavailableAfter)
	routes, err := n.store.Routes(n.ctx)
	if err != nil {
		return err
	}
	workers, err := n.store.Workers(n.ctx, since)
	if err != nil {
		return err
	}
	if err := d.checkTasks(); err != nil {
		return err
	}
	for _, r := range routes {
		served := false
		for _, w := range workers {
			served = served || w.Serves(*r)
		}
		if served || d.pausedSince(r, since.Time()) {
			continue
		}
		steps, err := n.store.QueueStore().ReadyAfter(n.ctx, r.ID, math.MinInt64, task.ID{}, 10_000)
		if err != nil {
			return err
		}
		bare := 0
		for _, s := range steps {
			if s.ReadyAt <= since && d.known[s.TaskID].Meta.Case == "" {
				bare++
			}
		}
		if bare > 0 {
			return fmt.Errorf("%d of %d steps are ready for long on the route of %s, which nobody serves, and have no case",
				bare, len(steps), r.Handler)
		}
	}
	return nil
}

func (d *duo) finish() error {
	if d.all {
		return firstError(d.rest(true, true), d.on(d.nodes[0]).finish())
	}
	d.advance(6 * time.Minute)
	if err := d.aloneVerb(op{kind: "upkeep"}); err != nil {
		return err
	}
	n := d.nodes[0]
	n.stop()
	if err := errors.Join(d.open(0), d.resumeAll(n)); err != nil {
		return err
	}
	all := task.Worker{Name: "last", Capacity: 1000, Capabilities: []string{"gpu"}}
	if err := d.register(n, all); err != nil {
		return err
	}
	last := d.workers[len(d.workers)-1]
	for range 100 {
		open, err := d.repair(n)
		if err != nil || open == 0 {
			return err
		}
		if err := n.upkeep.RunOnce(n.ctx); err != nil {
			return err
		}
		leases, err := d.claim(n, last, 1000, true)
		if err != nil {
			return err
		}
		if err := d.settle(n, complete(leases)); err != nil {
			return err
		}
		if len(leases) == 0 {
			d.advance(11 * time.Minute)
		}
	}
	return fmt.Errorf("%d tasks are stuck", len(d.tasks))
}

func complete(leases []engine.Lease) []engine.Result {
	results := make([]engine.Result, len(leases))
	for i, l := range leases {
		results[i] = engine.Result{Step: l.Step.ID, Token: l.Step.Token, Status: engine.ResultCompleted}
	}
	return results
}

// repair resets every step in error and returns the number of open tasks.
func (d *duo) repair(n *node) (open int, err error) {
	if err := d.checkTasks(); err != nil {
		return 0, err
	}
	for _, id := range d.tasks {
		t := d.known[id]
		if t.State.Terminal() {
			continue
		}
		open++
		if t.State != task.Errored {
			continue
		}
		_, rows, err := n.steps(id)
		if err != nil {
			return 0, err
		}
		for _, r := range rows {
			if r.State != task.StepErrored {
				continue
			}
			act := engine.StepAct{Kind: engine.ResetForRetry, Actor: "ada", Reason: "at the end"}
			if _, err := n.engine.Operate(n.ctx, id, r.ID, act); err != nil {
				return 0, err
			}
		}
	}
	return open, nil
}
