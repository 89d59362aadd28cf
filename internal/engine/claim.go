package engine

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/task"
)

// Lease is one step in the hands of a worker.
type Lease struct {
	Step     task.Step
	Task     task.Task
	Template *task.Template
	// ParentResults are the results of the direct dependencies, by step name.
	ParentResults map[string][]byte
	// TraceParent is the W3C trace context for the worker, "" for none.
	TraceParent string
}

// Poll hands up to capacity steps to a worker, lowest ordering key first. With
// wait > 0 it blocks until there is at least one, wait is over or ctx ends. With
// start, or in single-phase mode, the attempts begin at once.
//
// Steps claimed for a caller that has gone meanwhile are given back, and no
// attempt is charged. So are steps whose contexts and parents' results would come to more
// bytes than a page may have, but for one.
//
// A poll that waits when the store is lost ends with Unavailable as soon as that
// is noticed, within a few poll intervals.
//
// The second result tells the worker to drain: nothing more will come.
func (e *Engine) Poll(ctx context.Context, worker task.ID, capacity int, wait time.Duration,
	start bool,
) ([]Lease, bool, error) {
	version := e.waiters.version.Load() // before the worker is looked at: a change of it counts too
	w, err := e.Worker(ctx, worker)
	if err != nil {
		return nil, false, err
	}
	if w, err = e.noteSeen(ctx, w); err != nil {
		return nil, false, err
	}
	wait = min(wait, e.cfg.Leases.MaxLongPoll)
	timeout := sync.OnceValue(func() <-chan time.Time { return time.After(wait) })
	if e.catalog.forgotten.Load() { // without routes a poll would come away with nothing
		if err := e.catalog.loadRoutes(ctx); err != nil {
			return nil, false, err
		}
	}
	p := &poller{worker: w.No, served: e.catalog.served(w), start: start || e.cfg.Leases.ClaimMode == SinglePhase}
	capacity = min(max(capacity, 1), e.cfg.Limits.BatchItems)
	for rounds := 0; ; rounds++ {
		adm := e.admit(ctx, w, min(capacity, p.served.fit(e.cfg.Limits.PageBytes)), rounds)
		if adm.room == 0 {
			e.waiters.forwardWake(p) // it was woken for what it may not take
		}
		if adm.leaving {
			return nil, true, nil
		}
		p.routes, p.capacity = p.served.routes(), adm.room
		if adm.room == 0 {
			p.routes, p.capacity = nil, capacity // waits, and claims nothing
		}
		leases, over, err := e.round(ctx, p, version, adm, wait > 0, timeout)
		leases, rest := p.served.within(leases, e.cfg.Limits.PageBytes)
		e.dismissed(adm, len(leases))
		if len(rest) > 0 { // if this fails, their leases run out
			_ = e.giveBack(context.WithoutCancel(ctx), rest)
		}
		if err != nil || over || len(leases) > 0 {
			return leases, p.dismissed, err
		}
		version = e.waiters.version.Load()
		if w, err = e.Worker(ctx, worker); err != nil {
			e.waiters.forwardWake(p)
			return nil, false, err
		}
	}
}

// round looks for steps once and, with wait, waits for some. It reports whether
// the poll is over; if not, there is reason to look again.
func (e *Engine) round(ctx context.Context, p *poller, version int64, adm admission, wait bool,
	timeout func() <-chan time.Time,
) ([]Lease, bool, error) {
	leases, err := e.claim(ctx, p, wait)
	if err != nil || len(leases) > 0 || !wait || ctx.Err() != nil {
		p.countClaimed(leases)
		e.waiters.forwardWake(p)
		return leases, true, err
	}
	if !e.waiters.await(p, version) {
		return nil, false, nil
	}
	over := e.await(ctx, p, timeout(), e.until(adm))
	switch {
	case len(p.handed) > 0 && ctx.Err() != nil:
		return nil, true, e.giveBack(context.WithoutCancel(ctx), p.handed)
	case p.failed != nil:
		return nil, true, fmt.Errorf("wait for steps: %w", p.failed)
	}
	return p.handed, over || p.dismissed, nil
}

// await blocks until the poller is woken, or to look again at what it may take,
// and reports whether its time is over or its caller has gone instead.
func (e *Engine) await(ctx context.Context, p *poller, timeout, again <-chan time.Time) (over bool) {
	select {
	case <-p.wake:
		return false
	case <-again:
	case <-timeout:
		over = true
	case <-ctx.Done():
		over = true
	}
	if e.waiters.withdraw(p) {
		return over
	}
	<-p.wake // a transaction has the poll in hand; it is over in a moment
	if over {
		e.waiters.forwardWake(p)
	}
	return over
}

func (e *Engine) claim(ctx context.Context, p *poller, beside bool) ([]Lease, error) {
	if len(p.routes) == 0 {
		return nil, nil
	}
	// the claim itself is not abandoned half-way: its outcome must be known
	whole := context.WithoutCancel(ctx)
	leases, err := e.claimFromQueue(whole, p, beside)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil && len(leases) > 0 {
		return nil, e.giveBack(whole, leases)
	}
	return leases, nil
}

// claimFromQueue claims from what is the queue: when the dispatcher is lost on the
// way, from the store after all, because nothing would be a wrong answer.
func (e *Engine) claimFromQueue(ctx context.Context, p *poller, beside bool) ([]Lease, error) {
	for range maxClaimRounds {
		if err := e.queue.begin(ctx, !beside); err != nil {
			return nil, err
		}
		phase, take := e.queue.phase(), e.claims.Do
		if phase.inStore && beside && e.cfg.Scheduling.FairnessWindow == 0 { // the halves know nothing of each other
			take = e.splitClaim
		}
		leases, err := take(ctx, p)
		if err != nil || len(leases) > 0 || phase.epoch != 0 && phase == e.queue.phase() {
			return leases, err
		}
	}
	if e.coordinator != nil && !beside {
		return nil, errNoTerm // nothing would be a wrong answer
	}
	return nil, nil
}

// giveBack releases leases that nobody will ever use.
func (e *Engine) giveBack(ctx context.Context, leases []Lease) error {
	e.occupancy.take(leases[0].Step.WorkerNo, len(leases)) // their ends are about to be told
	results := make([]Result, len(leases))
	for i, l := range leases {
		results[i] = Result{Step: l.Step.ID, Token: l.Step.Token, Status: ResultReleased}
	}
	_, err := e.Settle(ctx, results)
	return err
}

// runClaims serves many pollers in one transaction. Those that serve the same
// routes share one look at the queue, in the order they came.
func (e *Engine) runClaims(calls []*poller) ([][]Lease, error) { return e.queue.claim(calls) }

// claimStored serves them from the store.
func (e *Engine) claimStored(calls []*poller) ([][]Lease, error) {
	out := make([][]Lease, len(calls))
	groups := groupByRoutes(calls)
	err := e.write(context.Background(), "claim", func(u *unit) error {
		clear(out)
		for _, g := range groups {
			if err := u.claim(g, out); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		e.waiters.noteDepths(groups, out)
	}
	return out, err
}

// slot is a poller and its place in the batch.
type slot struct {
	*poller
	at int
}

// groupByRoutes groups pollers that serve the same routes, in the order of the first of
// each group.
func groupByRoutes(calls []*poller) [][]slot {
	var groups [][]slot
	of := map[*int64]int{}
	for i, p := range calls {
		key := &p.routes[0] // pollers that serve the same routes share the list
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

// maxReady bounds how many steps one look at the queue asks for.
const maxReady = 2000

// claim deals ready steps out to pollers of the same routes: to the first up to
// its capacity, then to the next.
func (u *unit) claim(seats []slot, out [][]Lease) error {
	for len(seats) > 0 {
		want := 0
		for _, s := range seats {
			want = min(want+s.capacity-len(out[s.at]), maxReady)
		}
		works, err := u.tx.Ready(u.ctx, seats[0].routes, want)
		if err != nil || len(works) == 0 {
			return err
		}
		if seats, err = u.deal(u.rows.intern(works), seats, out); err != nil {
			return err
		}
		if len(works) < want {
			return nil
		}
	}
	return nil
}

// deal hands out steps, and returns the pollers that have room left. What none of
// them may have is not taken; then none is left.
func (u *unit) deal(works []Work, seats []slot, out [][]Lease) ([]slot, error) {
	steps := make([]*task.Step, len(works))
	for i, w := range works {
		steps[i] = w.Step
	}
	if err := u.rows.gatherAll(steps, u.rows.parents); err != nil {
		return nil, err
	}
	for n, w := range works {
		for len(seats) > 0 && !(len(out[seats[0].at]) < seats[0].capacity && u.e.fits(out[seats[0].at], w.Step.Priority)) {
			seats = seats[1:]
		}
		if len(seats) == 0 {
			steps = steps[:n] // the others stay where they are
			break
		}
		to := seats[0]
		// counted as active before and after: the task is not touched
		if err := u.hand(w, to.poller); err != nil {
			return nil, err
		}
		l, err := u.lease(w)
		if err != nil {
			return nil, err
		}
		if l != nil {
			out[to.at] = append(out[to.at], *l)
		}
	}
	if len(seats) > 0 && len(out[seats[0].at]) == seats[0].capacity {
		seats = seats[1:]
	}
	if len(steps) == 0 {
		return seats, nil
	}
	// saved at once, so that the next look at the queue does not see them
	return seats, u.tx.SaveSteps(u.ctx, steps)
}

func (u *unit) hand(w Work, c *poller) (err error) {
	s, from := w.Step, w.Step.State
	u.observed.handed(s, c.worker, c.start)
	if u.e.queue.leasesElsewhere() { // tokens are times, as those that the dispatcher gives out
		s.Token = max(s.Token, u.e.nextToken(u.now)-1)
	}
	cfg := u.e.cfg.Leases
	if c.start {
		err = s.Claim(c.worker, u.now, u.now.Add(cfg.Lease()))
	} else {
		err = s.Assign(c.worker, u.now, u.now.Add(cfg.StartTimeout))
	}
	if err == nil {
		u.observed.stepMoved(w, from)
	}
	return err
}

// lease is what a worker gets to know of a step in its hands. It is nil for a step that
// no worker can do anything with: that one is out of the worker's hands again.
func (u *unit) lease(w Work) (*Lease, error) {
	t, err := u.rows.template(w.Step.DefID)
	if err != nil {
		return nil, err
	}
	if fault := faultOf(w, t); fault != "" {
		return nil, u.failDamaged(w, fault)
	}
	if w.Task.Meta.Case == task.HasPending {
		u.cases.recovered(w.Task, "worker "+u.e.workers.nameOf(w.Step.WorkerNo)+" took step "+t.Spec(w.Step).Name)
	}
	l := &Lease{Step: *w.Step, Task: *w.Task, Template: t, TraceParent: u.observed.attemptTrace(w)}
	spec := t.Spec(w.Step)
	if len(spec.Parents) == 0 {
		return l, nil
	}
	parents, err := u.rows.siblings(family(w.Step, spec.Parents))
	if err != nil {
		return l, err
	}
	l.ParentResults = make(map[string][]byte, len(parents))
	for _, p := range parents {
		if p.Result != nil && task.JSONFault(p.Result, math.MaxInt) != "" {
			return nil, u.failDamaged(w, "the result of step "+t.Spec(p).Name+" "+task.JSONFault(p.Result, math.MaxInt))
		}
		l.ParentResults[t.Spec(p).Name] = p.Result
	}
	return l, nil
}
