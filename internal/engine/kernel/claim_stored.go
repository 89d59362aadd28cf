package kernel

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/model/task"
)

func (e *Kernel) claimTogether(groups [][]slot, out [][]Lease) error {
	var limits *claimLimits
	err := e.Write(context.Background(), "claim", func(u *Unit) error {
		clear(out)
		limits = limitClaims(u, groups)
		c := claiming{limits: limits, ready: func(routes []int64, want int) ([]Work, error) {
			return u.Tx.Ready(u.Ctx, routes, want)
		}}
		for _, g := range groups {
			if err := u.claim(g, out, &c); err != nil {
				return err
			}
		}
		return limits.save()
	})
	if err == nil {
		limits.committed()
		e.waiters.noteDepths(groups, out)
	}
	return err
}

type slot struct {
	*poller
	at int
}

func groupByRoutes(calls []*poller) [][]slot {
	var groups [][]slot
	of := map[*int64]int{}
	for i, p := range calls {
		key := &p.routes[0] // such pollers share the list
		g, ok := of[key]
		if !ok {
			g = len(groups)
			of[key] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], slot{p, i})
	}
	return groups
}

const (
	maxReady = 2000
	// maxParked bounds the steps of paused templates that one transaction parks, except in its last read.
	maxParked = 1000
	// maxParkingRounds bounds such repetitions for a poll that does not wait.
	maxParkingRounds = 20
)

type claiming struct {
	limits *claimLimits
	ready  func(routes []int64, want int) ([]Work, error)
	parked int
}

func (u *Unit) claim(slots []slot, out [][]Lease, c *claiming) error {
	for _, s := range slots {
		s.onlyParked = false
	}
	routes := slots[0].routes
	for n := 0; len(slots) > 0; n++ {
		if routes = c.limits.open(routes); len(routes) == 0 {
			return nil
		}
		want := 0
		for _, s := range slots {
			want = min(want+s.capacity-len(out[s.at]), maxReady)
		}
		want = c.limits.look(routes, want, n)
		if slices.ContainsFunc(slots, func(s slot) bool { return s.brief }) {
			u.Tx.Doubt()
		}
		works, err := c.ready(routes, want)
		if err != nil || len(works) == 0 {
			return err
		}
		open, err := u.Ready.parkPaused(u.Rows.intern(works))
		if err != nil {
			return err
		}
		passed, err := c.limits.pass(open)
		if err != nil {
			return err
		}
		if slots, err = u.deal(passed, slots, out); err != nil {
			return err
		}
		unused := c.limits.done(passed)
		c.parked += len(works) - len(open)
		// unusable steps took places in a limit that still has room
		if unused && len(passed) < len(open) {
			claimAgain(slots)
			return nil
		}
		if len(works) < want {
			return nil
		}
		if c.parked >= maxParked {
			claimAgain(slots)
			return nil
		}
	}
	return nil
}

// claimAgain makes pollers that got nothing claim again in another transaction.
func claimAgain(slots []slot) {
	for _, s := range slots {
		s.onlyParked = true
	}
}

// deal returns the pollers with capacity left, or none when no poller may have the rest.
func (u *Unit) deal(works []Work, slots []slot, out [][]Lease) ([]slot, error) {
	steps := make([]*task.Step, len(works))
	for i, w := range works {
		steps[i] = w.Step
	}
	if err := u.Rows.gatherAll(steps, u.Rows.parents); err != nil {
		return nil, err
	}
	if err := u.Rows.readCheckpoints(works); err != nil {
		return nil, err
	}
	for n, w := range works {
		for len(slots) > 0 && !(len(out[slots[0].at]) < slots[0].capacity && u.E.fits(out[slots[0].at], w.Step.Priority)) {
			slots = slots[1:]
		}
		if len(slots) == 0 {
			steps = steps[:n] // the others stay ready
			break
		}
		to := slots[0]
		// active before and after: the task does not change
		if err := u.hand(w, to.poller); err != nil {
			return nil, err
		}
		l, whole, err := u.lease(w)
		if err != nil {
			return nil, err
		}
		if whole {
			if out[to.at] == nil { // leases are large: growing a list would copy them and leave as much garbage
				out[to.at] = make([]Lease, 0, min(to.capacity, len(works)-n))
			}
			out[to.at] = append(out[to.at], l)
		}
	}
	if len(slots) > 0 && len(out[slots[0].at]) == slots[0].capacity {
		slots = slots[1:]
	}
	if len(steps) == 0 {
		return slots, nil
	}
	// saved now, so that the next read of the queue does not find them
	return slots, u.Tx.SaveSteps(u.Ctx, steps)
}

// hand grants a lease of Leases.StartTimeout or, for a begun attempt, Leases.Lease; a broker's queue adds the step's
// time in it.
func (u *Unit) hand(w Work, c *poller) (err error) {
	s, from := w.Step, w.Step.State
	u.Observed.handed(s, c.worker, c.start)
	if u.E.Queue.leasesElsewhere() { // tokens are times, as the dispatcher's
		s.Token = max(s.Token, u.E.nextToken(u.Now)-1)
	}
	cfg := u.E.Cfg.Leases
	switch {
	case c.start:
		err = s.Claim(c.worker, u.Now, u.Now.Add(cfg.Lease()))
	case c.toQueue:
		var t *task.Template
		if t, err = u.Rows.Template(s.DefID); err == nil {
			err = s.Assign(c.worker, u.Now, u.Now.Add(u.E.dispatchTTL(s, t)+cfg.StartTimeout))
		}
	default:
		err = s.Assign(c.worker, u.Now, u.Now.Add(cfg.StartTimeout))
	}
	if err != nil {
		return err
	}
	u.Observed.stepMoved(w, from)
	return beginGates(u, w)
}
