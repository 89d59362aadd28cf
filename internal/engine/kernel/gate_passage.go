package kernel

import (
	"context"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	// admitSignals and admitSteps bound a transaction of Admit.
	admitSignals = 500
	admitSteps   = 500
)

// Admit lets steps pass at gates that were signalled or whose time has come. It returns their number, and whether
// there may be more. Processes may run it concurrently. A *due.Error names skipped steps.
func (e *Kernel) Admit(ctx context.Context) (n int, more bool, err error) {
	some, err := e.GateReads.Signalled(ctx, e.Now())
	if err != nil || !some {
		return 0, false, err
	}
	n, more, first, err := e.admitSome(ctx, nil)
	if err == nil || ctx.Err() != nil || len(first) == 0 {
		return n, more && err == nil, err
	}
	n = 0
	err = e.due.passing.Try(ctx, e.Now(), first, func(ctx context.Context, some []task.ID) error {
		passed, _, _, err := e.admitSome(ctx, setOfIDs(some))
		n += passed
		return err
	})
	return n, due.OnlyRows(err), err
}

// admitSome is one transaction, for the given steps unless nil. It also returns the steps that were to pass.
func (e *Kernel) admitSome(ctx context.Context, only map[task.ID]bool) (n int, more bool, first []task.ID, err error) {
	err = e.Write(ctx, "admit", func(u *Unit) error {
		a := passage{u: u, capped: map[int64]bool{}, only: only}
		err := a.run()
		n, more, first = a.passed, a.more, a.first
		return err
	})
	if err != nil {
		n = 0
	}
	return n, more, first, err
}

func setOfIDs(ids []task.ID) map[task.ID]bool {
	set := make(map[task.ID]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// AdmitAll runs Admit until nothing is left to do, after a current run.
func (e *Kernel) AdmitAll(ctx context.Context) error {
	_, err := e.admits.Do(ctx, struct{}{})
	return err
}

// AdmitDue lets steps pass rates whose time has come.
func (e *Kernel) AdmitDue(ctx context.Context) error {
	if !e.limits.paced.Load() && e.limits.asked.Swap(true) {
		return nil
	}
	if err := e.AdmitAll(ctx); err != nil {
		return err
	}
	next, err := e.GateReads.NextGate(ctx)
	if err != nil {
		return fmt.Errorf("look for the next time of a rate: %w", err)
	}
	if next != 0 {
		e.limits.paced.Store(true)
	}
	if next != 0 && next <= e.Now().Add(e.Cfg.UpkeepInterval) {
		e.waiters.publishDue(next)
	}
	return nil
}

// admitAll leaves errors to the upkeep loop, which tries again.
func (e *Kernel) admitAll(calls []struct{}) ([]struct{}, error) { return calls, Repeat(e.Admit) }

// passage is one run of Admit.
type passage struct {
	u      *Unit
	passed int
	more   bool
	only   map[task.ID]bool // may pass; nil: all
	first  []task.ID        // those that were to pass
	capped map[int64]bool   // gates bounded by the transaction, not by their limit
	held   map[int64]int    // steps that have passed a rate and wait for a worker
}

func (a *passage) run() error {
	u, rows := a.u, a.u.E.gateRows
	gates, taken, err := rows.TakeSignals(u.Ctx, u.Tx, u.Now, admitSignals)
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
		if first, err = a.firstParked(rooms); err != nil {
			return err
		}
	}
	passed, err := a.pass(gates, first)
	if err != nil {
		return err
	}
	return a.settle(gates, rooms, passed)
}

// firstParked returns the first non-resting steps of each gate, up to its room, and has gates with more looked at
// again.
func (a *passage) firstParked(rooms []GateRoom) ([]Permit, error) {
	u, resting := a.u, a.u.E.due.passing
	room, wider := make(map[int64]int, len(rooms)), slices.Clone(rooms)
	for i, r := range rooms {
		room[r.Gate] = r.Steps
		wider[i].Steps += resting.Resting()
	}
	list, err := u.E.gateRows.FirstParked(u.Ctx, u.Tx, wider)
	if err != nil {
		return nil, err
	}
	var first []Permit
	for _, p := range list {
		switch {
		case room[p.Gate] == 0 || a.only == nil && resting.Rests(p.Step, u.Now):
			continue
		case a.only != nil && !a.only[p.Step]:
			gateSlot.Of(u).signal(Gate{No: p.Gate})
			continue
		}
		room[p.Gate]--
		first, a.first = append(first, p), append(a.first, p.Step)
	}
	return first, nil
}

// rooms returns up to admitSteps together; a gate that gets less than it might is looked at again.
func (a *passage) rooms(gates []Gate) ([]GateRoom, error) {
	u := a.u
	nos := make([]int64, 0, len(gates))
	var rates []int64
	for _, g := range gates {
		if g.Permits > 0 {
			nos = append(nos, g.No)
		} else {
			rates = append(rates, g.No)
		}
	}
	held, err := u.E.gateRows.CountPermits(u.Ctx, u.Tx, nos)
	if err != nil {
		return nil, err
	}
	if a.held, err = u.E.gateRows.CountPasses(u.Ctx, u.Tx, rates); err != nil {
		return nil, err
	}
	var rooms []GateRoom
	left := admitSteps
	for i := range gates {
		g, room := &gates[i], admitSteps
		switch {
		case g.Permits > 0:
			room = g.Permits - held[g.No]
		case !g.Rate.Zero():
			// steps that began since the last look, or may at any time, count as if they began now
			g.Bucket = g.Rate.Spend(g.Bucket, nanos(u.Now), g.Freed+a.held[g.No])
			room = g.Rate.Free(g.Bucket, nanos(u.Now))
		}
		switch {
		case room <= 0:
			continue
		case left == 0:
			gateSlot.Of(u).signal(Gate{No: g.No})
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

// nanos is the unit of buckets.
func nanos(t task.Instant) int64 { return int64(t) * 1000 }

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
	works, err := u.Rows.Load(ids)
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
	if err := gateSlot.Of(u).readKeys(live); err != nil {
		return nil, err
	}
	passed := map[int64]int{}
	var permits []Permit
	for _, w := range live {
		no := at[w.Step]
		if p := (Permit{no, w.Step.ID}); kind[no].Permits > 0 {
			permits = append(permits, p)
		} else {
			g := gateSlot.Of(u)
			g.passing = append(g.passing, ratePass{p, w.Step})
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
	return passed, u.E.gateRows.AddPermits(u.Ctx, u.Tx, permits)
}

func (a *passage) advance(w Work, no int64) error {
	u := a.u
	path, err := gateSlot.Of(u).path(w)
	if err != nil {
		return err
	}
	u.Rows.ChangedStep(w.Step)
	i := slices.IndexFunc(path, func(g Gate) bool { return g.No == no })
	if i < len(path)-1 { // also when the gate left the path: then it begins anew
		if i < 0 {
			g := gateSlot.Of(u)
			g.freed, g.passable = append(g.freed, w.Step.ID), true
		}
		return gateSlot.Of(u).park(w, path[i+1])
	}
	if err := w.Step.Release(u.Now, u.Order); err != nil {
		return err
	}
	u.Ready.steps = append(u.Ready.steps, w)
	return nil
}

func (a *passage) settle(gates []Gate, rooms []GateRoom, passed map[int64]int) error {
	u := a.u
	room := make(map[int64]int, len(rooms))
	for _, r := range rooms {
		room[r.Gate] = r.Steps
	}
	for i := range gates {
		g := &gates[i]
		g.NextAt = 0
		full := passed[g.No] == room[g.No]
		switch {
		case !g.Rate.Zero():
			g.Bucket = g.Rate.Take(g.Bucket, nanos(u.Now), passed[g.No])
			if full && a.held[g.No] < g.Rate.Burst { // else one that has passed must begin first, which signals the gate
				next := g.Rate.Next(g.Bucket, nanos(u.Now))
				g.NextAt = task.Instant((next + 999) / 1000)
				u.E.limits.paced.Store(true)
				u.Wake.DueAt(g.NextAt)
			}
		case full && a.capped[g.No]:
			gateSlot.Of(u).signal(Gate{No: g.No})
			a.more = true
		}
	}
	if len(gates) == 0 {
		return nil
	}
	if err := u.E.gateRows.SaveGates(u.Ctx, u.Tx, gates); err != nil {
		return fmt.Errorf("save gates: %w", err)
	}
	return nil
}
