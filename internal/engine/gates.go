package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/limit"
	"github.com/taskerhq/tasker/internal/task"
)

// A step under limits passes its gates in a fixed order before it enters the queue of its route. Becoming ready, it is
// parked at the first one and the gate is signalled: nothing is locked, because a submission may be part of a caller's
// transaction that stays open for long. After the commit Admit locks gates, computes how many steps may pass, gives
// permits to the first that wait, and moves them to their next gate or to their route. So no claim reads a step that a
// limit holds back, and permits exist exactly for steps between a gate and the end of their attempt.
//
// The transaction that ends an attempt, or a step, deletes its permits and signals their gates.

// gates are the changes of a unit to gates.
type gates struct {
	u        *unit
	entering []Work    // became ready, and may be under limits
	freed    []task.ID // steps whose permits end
	signals  map[int64]Gate
	passable bool // steps may pass gates for which permits were freed
}

// left frees the permits of a step that has left a state in which it may hold some, unless it still may.
func (g *gates) left(w Work, from task.StepState) {
	if (from == task.StepEnqueued || from.Leased()) && !w.Step.State.Leased() {
		g.freed, g.passable = append(g.freed, w.Step.ID), true
	}
}

// leftLimits frees the permits of limits of operators of a step whose attempt has ended.
func (g *gates) leftLimits(w Work, from task.StepState, by []*knownLimit) {
	if !from.Leased() || w.Step.State.Leased() {
		return
	}
	if !w.Task.Meta.Limited { // else they are freed with those of gates
		g.freed = append(g.freed, w.Step.ID)
	}
	for _, l := range by {
		g.u.wake.permitFreed(l.no)
	}
}

// enter parks the steps that became ready under limits; the others are ready.
func (g *gates) enter() error {
	entering := g.entering
	g.entering = nil
	if err := g.readKeys(entering); err != nil {
		return err
	}
	for _, w := range entering {
		if !w.Step.OnRoute() {
			continue
		}
		path, err := g.path(w)
		if err != nil {
			return err
		}
		if len(path) == 0 {
			g.u.ready.steps = append(g.u.ready.steps, w)
			continue
		}
		if err := g.park(w, path[0]); err != nil {
			return err
		}
	}
	return nil
}

// park stops a step at a gate.
func (g *gates) park(w Work, at Gate) error {
	g.signal(at)
	return w.Step.Park(task.ParkedLimit(at.No), g.u.order)
}

// signal marks a gate as one to look at after the commit.
func (g *gates) signal(at Gate) {
	if g.signals == nil {
		g.signals = map[int64]Gate{}
	}
	if was, ok := g.signals[at.No]; !ok || was.Namespace == "" || was.Rev < at.Rev {
		g.signals[at.No] = at
	}
}

// readKeys reads the contexts of tasks from which the keys of their steps come.
func (g *gates) readKeys(works []Work) error {
	var bare []*task.Task
	for _, w := range works {
		if !w.Task.Meta.Limited || w.Task.Context != nil || g.u.rows.tasks[w.Task.ID] == nil ||
			slices.Contains(bare, w.Task) {
			continue
		}
		def, err := g.u.rows.template(w.Step.DefID)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(def.Spec(w.Step).Gates, func(l limit.Gate) bool { return !l.Key.Constant() }) {
			bare = append(bare, w.Task)
		}
	}
	return g.u.rows.readContexts(bare)
}

// path returns the gates of a step in their order: those that count permits, then rates.
func (g *gates) path(w Work) ([]Gate, error) {
	var path []Gate
	if w.Task.Meta.Limited {
		def, err := g.u.rows.template(w.Step.DefID)
		if err != nil {
			return nil, err
		}
		for _, l := range def.Spec(w.Step).Gates {
			key := l.Key.Of(task.Readable(w.Task.Context)) // no key has a sensitive value
			path = append(path, Gate{No: limit.Number(def.Namespace, l.Name, key), Namespace: def.Namespace, Name: l.Name,
				Key: key, Permits: l.Permits, Rate: l.Rate, Rev: def.DefID})
		}
	}
	slices.SortStableFunc(path, func(a, b Gate) int { return cmp.Compare(stageOf(a), stageOf(b)) })
	return path, nil
}

// stageOf orders gates: a step that has used a part of a rate waits for nothing else.
func stageOf(g Gate) int {
	if g.Permits > 0 {
		return 0
	}
	return 1
}

// save frees permits and stores the signals of the unit.
func (g *gates) save() error {
	if len(g.freed) > 0 {
		if err := g.u.e.gateRows.FreePermits(g.u.ctx, g.u.tx, g.freed); err != nil {
			return err
		}
	}
	if len(g.signals) == 0 {
		return nil
	}
	list := make([]Gate, 0, len(g.signals))
	for _, s := range g.signals {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b Gate) int { return cmp.Compare(a.No, b.No) })
	return g.u.e.gateRows.Signal(g.u.ctx, g.u.tx, list)
}

// stirred reports whether gates are to be looked at after the commit.
func (g *gates) stirred() bool { return g.passable || len(g.signals) > 0 }

const (
	// admitSignals and admitSteps bound a transaction of Admit.
	admitSignals = 500
	admitSteps   = 500
)

// Admit looks at gates that were signalled, or whose next step may pass by now, and lets steps pass. It returns their
// number, and whether there may be more to do at once. It may run in several processes at once.
func (e *Engine) Admit(ctx context.Context) (n int, more bool, err error) {
	some, err := e.gateReads.Signalled(ctx, e.instant())
	if err != nil || !some {
		return 0, false, err
	}
	err = e.write(ctx, "admit", func(u *unit) error {
		a := passage{u: u, capped: map[int64]bool{}}
		err := a.run()
		n, more = a.passed, a.more
		return err
	})
	return n, more && err == nil, err
}

// AdmitAll runs Admit until nothing is left to do, after the run under way, if there is one.
func (e *Engine) AdmitAll(ctx context.Context) error {
	_, err := e.admits.Do(ctx, struct{}{})
	return err
}

// admitAll runs Admit until nothing is left to do. An error is left to the loop of package upkeep, which tries again.
func (e *Engine) admitAll(calls []struct{}) ([]struct{}, error) {
	for more := true; more; {
		var err error
		if _, more, err = e.Admit(context.Background()); err != nil {
			return nil, err
		}
	}
	return calls, nil
}

// passage is one run of Admit.
type passage struct {
	u      *unit
	passed int
	more   bool
	capped map[int64]bool // gates at which the bounds of the transaction keep steps, not the limit
}

// run lets steps pass the gates that are to be looked at.
func (a *passage) run() error {
	u, rows := a.u, a.u.e.gateRows
	gates, taken, err := rows.TakeSignals(u.ctx, u.tx, u.now, admitSignals)
	if err != nil {
		return err
	}
	a.more = taken == admitSignals
	rooms, err := a.rooms(gates)
	if err != nil {
		return err
	}
	var first []Permit
	if len(rooms) > 0 {
		if first, err = rows.FirstParked(u.ctx, u.tx, rooms); err != nil {
			return err
		}
	}
	passed, err := a.pass(gates, first)
	if err != nil {
		return err
	}
	return a.settle(gates, rooms, passed)
}

// rooms returns how many steps may pass each gate, up to admitSteps together; a gate that gets less than it might is
// looked at again.
func (a *passage) rooms(gates []Gate) ([]GateRoom, error) {
	u := a.u
	nos := make([]int64, 0, len(gates))
	for _, g := range gates {
		if g.Permits > 0 {
			nos = append(nos, g.No)
		}
	}
	held, err := u.e.gateRows.CountPermits(u.ctx, u.tx, nos)
	if err != nil {
		return nil, err
	}
	var rooms []GateRoom
	left := admitSteps
	for _, g := range gates {
		room := admitSteps
		switch {
		case g.Permits > 0:
			room = g.Permits - held[g.No]
		case !g.Rate.Zero():
			room = g.Rate.Free(g.Bucket, nanos(u.now))
		}
		switch {
		case room <= 0:
			continue
		case left == 0:
			u.ready.gates.signal(Gate{No: g.No})
			a.more = true
			continue
		}
		if a.capped[g.No] = room >= left; a.capped[g.No] {
			room = left
		}
		rooms = append(rooms, GateRoom{g.No, room})
		left -= room
	}
	return rooms, nil
}

// nanos is a time as buckets count it.
func nanos(t task.Instant) int64 { return int64(t) * 1000 }

// pass moves steps past their gates. It returns how many passed each.
func (a *passage) pass(gates []Gate, first []Permit) (map[int64]int, error) {
	if len(first) == 0 {
		return nil, nil
	}
	u := a.u
	kind := make(map[int64]Gate, len(gates))
	for _, g := range gates {
		kind[g.No] = g
	}
	ids := make([]task.ID, len(first))
	for i, p := range first {
		ids[i] = p.Step
	}
	works, err := u.rows.load(ids)
	if err != nil {
		return nil, err
	}
	var live []Work
	at := map[*task.Step]int64{}
	for i, w := range works {
		if w.Step != nil && w.Step.Parked() && w.Step.Queue == task.ParkedLimit(first[i].Gate) {
			live, at[w.Step] = append(live, w), first[i].Gate
		}
	}
	if err := u.ready.gates.readKeys(live); err != nil {
		return nil, err
	}
	passed := map[int64]int{}
	var permits []Permit
	for _, w := range live {
		no := at[w.Step]
		if kind[no].Permits > 0 {
			permits = append(permits, Permit{no, w.Step.ID})
		}
		passed[no]++
		if err := a.advance(w, no); err != nil {
			return nil, err
		}
	}
	a.passed = len(live)
	if len(permits) == 0 {
		return passed, nil
	}
	return passed, u.e.gateRows.AddPermits(u.ctx, u.tx, permits)
}

// advance moves a step that may pass a gate to the next one, or to its route.
func (a *passage) advance(w Work, no int64) error {
	u := a.u
	path, err := u.ready.gates.path(w)
	if err != nil {
		return err
	}
	u.rows.changedStep(w.Step)
	i := slices.IndexFunc(path, func(g Gate) bool { return g.No == no })
	if i < len(path)-1 { // also when the gate is no longer on the path: then it begins anew
		if i < 0 {
			u.ready.gates.freed, u.ready.gates.passable = append(u.ready.gates.freed, w.Step.ID), true
		}
		return u.ready.gates.park(w, path[i+1])
	}
	if err := w.Step.Release(u.now, u.order); err != nil {
		return err
	}
	u.ready.steps = append(u.ready.steps, w)
	return nil
}

// settle stores the gates: what passed of a rate, and when to look at it again.
func (a *passage) settle(gates []Gate, rooms []GateRoom, passed map[int64]int) error {
	u := a.u
	room := make(map[int64]int, len(rooms))
	for _, r := range rooms {
		room[r.Gate] = r.Steps
	}
	for i := range gates {
		g := &gates[i]
		g.NextAt = 0
		full := passed[g.No] == room[g.No] // more may wait
		switch {
		case !g.Rate.Zero():
			g.Bucket = g.Rate.Take(g.Bucket, nanos(u.now), passed[g.No])
			if full {
				next := g.Rate.Next(g.Bucket, nanos(u.now))
				g.NextAt = task.Instant((next + 999) / 1000)
				u.e.limits.paced.Store(true)
				u.wake.dueAt(g.NextAt)
			}
		case full && a.capped[g.No]:
			u.ready.gates.signal(Gate{No: g.No})
			a.more = true
		}
	}
	if len(gates) == 0 {
		return nil
	}
	if err := u.e.gateRows.SaveGates(u.ctx, u.tx, gates); err != nil {
		return fmt.Errorf("save gates: %w", err)
	}
	return nil
}
