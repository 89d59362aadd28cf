package kernel

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Lease is a copy of a step held by a worker. Its token is Step.Token, which the API encodes so that it cannot be
// guessed.
type Lease struct {
	Step     task.Step
	Task     task.Task
	Template *task.Template
	// ParentResults are the results of the direct dependencies, by step name.
	ParentResults map[string][]byte
	// LargeParents are those kept in the blob store, by step name; nil for none.
	LargeParents map[string]*task.LargeResult
	// Checkpoint is the last one of an earlier attempt, or nil.
	Checkpoint []byte
	// TraceParent is the W3C trace context for the worker, or "".
	TraceParent string
}

// Poll leases up to capacity steps to a worker, lowest sort key first. With wait > 0 it blocks until there is one,
// wait is over or ctx ends. With start, or in single-phase mode, attempts begin immediately. wait is cut to
// Leases.MaxLongPoll, capacity to Limits.BatchItems. Poll may be called concurrently. The second result tells the
// worker to drain.
//
// Steps claimed for a caller that has left, and those after the first that exceed the bytes of a page, are given back
// without a charge.
//
// NotFound: the worker is unknown. Unavailable: the store was lost during the wait, noticed within a few poll
// intervals.
func (e *Kernel) Poll(ctx context.Context, worker task.ID, capacity int, wait time.Duration,
	start bool,
) ([]Lease, bool, error) {
	version := e.waiters.version.Load() // before the worker is read, so that its changes count
	w, err := e.ReachedWorker(ctx, worker)
	if err != nil {
		return nil, false, err
	}
	if w, err = e.noteSeen(ctx, w); err != nil {
		return nil, false, err
	}
	leases, drain, err := e.poll(ctx, w, &poller{start: start || e.Cfg.Leases.ClaimMode == settings.SinglePhase}, version,
		capacity, wait)
	if !drain || err != nil {
		return leases, drain, err
	}
	// A worker that was frozen during its poll should not end: its next poll brings it back.
	if w, err = e.ReachedWorker(ctx, worker); err != nil {
		return leases, drain, err
	}
	silent := w.State == task.WorkerDead && e.Now().Sub(w.LastHeartbeat) >= e.Cfg.Leases.Lease()
	return leases, !silent, nil
}

func (e *Kernel) poll(ctx context.Context, w *task.Worker, p *poller, version int64, capacity int,
	wait time.Duration,
) ([]Lease, bool, error) {
	wait = min(wait, e.Cfg.Leases.MaxLongPoll)
	timeout := sync.OnceValue(func() <-chan time.Time { return time.After(wait) })
	p.worker, p.brief = w.No, wait <= 0
	capacity = min(max(capacity, 1), e.Cfg.Limits.BatchItems)
	for rounds := 0; ; rounds++ {
		known, err := e.Catalog.ensureRead(ctx) // without routes a poll would find nothing
		if err != nil {
			e.waiters.forwardWake(p)
			return nil, false, err
		}
		p.served = e.Catalog.served(w)
		adm := e.admit(ctx, w, min(capacity, p.served.fit(e.Cfg.Limits.PageBytes)), rounds)
		if adm.room == 0 {
			e.waiters.forwardWake(p) // woken for steps that it cannot take
		}
		if adm.leaving {
			return nil, true, nil
		}
		p.routes, p.capacity, p.idle = p.served.routes(), adm.room, false
		if adm.room == 0 {
			p.routes, p.capacity, p.idle = nil, capacity, true // waits without claiming
		}
		leases, over, err := e.round(ctx, p, version, adm, wait > 0, timeout)
		leases, rest := p.served.within(leases, e.Cfg.Limits.PageBytes)
		e.dismissed(adm, len(leases))
		if len(rest) > 0 { // if this fails, their leases run out
			_ = e.giveBack(context.WithoutCancel(ctx), rest)
		}
		if err != nil || len(leases) > 0 || over && (wait > 0 || e.Catalog.forgets.Load() == known) {
			return leases, p.dismissed, err
		}
		version = e.waiters.version.Load()
		if w, err = e.ReachedWorker(ctx, w.ID); err != nil {
			e.waiters.forwardWake(p)
			return nil, false, err
		}
	}
}

// round reports whether the poll is over; else the caller tries again.
func (e *Kernel) round(ctx context.Context, p *poller, version int64, adm admission, wait bool,
	timeout func() <-chan time.Time,
) ([]Lease, bool, error) {
	looked := e.Now()
	leases, err := e.claim(ctx, p, wait)
	if err != nil || len(leases) > 0 || !wait || ctx.Err() != nil {
		p.countClaimed(leases)
		e.waiters.forwardWake(p)
		return leases, true, err
	}
	if !e.waiters.await(p, version) {
		return nil, false, nil
	}
	for _, at := range [...]task.Instant{e.Catalog.passableAt(p.routes, looked), e.restsUntil(p.routes, looked)} {
		if at != 0 && (adm.until == 0 || at < adm.until) {
			adm.until = at
		}
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

// await reports whether the poll's time is over or its caller has left.
func (e *Kernel) await(ctx context.Context, p *poller, timeout, again <-chan time.Time) (over bool) {
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
	<-p.wake // a transaction holds the poll, briefly
	if over {
		e.waiters.forwardWake(p)
	}
	return over
}

// claim takes what a single read offers if split: the poller would wait otherwise.
func (e *Kernel) claim(ctx context.Context, p *poller, split bool) ([]Lease, error) {
	// the claim itself is not cancelled: leases are either delivered or given back
	whole := context.WithoutCancel(ctx)
	if leases, err := e.probeFor(whole, p); err != nil || len(leases) > 0 {
		if err == nil && ctx.Err() != nil {
			return nil, e.giveBack(whole, leases)
		}
		return leases, err
	}
	if len(p.routes) == 0 || len(e.Catalog.passable(p.routes, e.Now())) == 0 {
		return nil, nil
	}
	for n := 1; ; n++ {
		p.onlyParked = false
		leases, err := e.claimFromQueue(whole, p, split)
		if err != nil {
			return nil, err
		}
		if ctx.Err() != nil && len(leases) > 0 {
			return nil, e.giveBack(whole, leases)
		}
		if len(leases) > 0 || !p.onlyParked || ctx.Err() != nil || !split && n == maxParkingRounds {
			return leases, nil
		}
	}
}

// claimFromQueue falls back to the store if the dispatcher is lost: an empty answer would be wrong.
func (e *Kernel) claimFromQueue(ctx context.Context, p *poller, split bool) ([]Lease, error) {
	for range maxClaimRounds {
		if err := e.Queue.begin(ctx, !split); err != nil {
			return nil, err
		}
		phase, take := e.Queue.phase(), e.claims.Do
		if phase.inStore && split && e.Cfg.Scheduling.FairnessWindow == 0 { // the two halves cannot share a fairness window
			take = e.splitClaim
		}
		leases, err := take(ctx, p)
		if err != nil || len(leases) > 0 || phase.epoch != 0 && phase == e.Queue.phase() {
			return leases, err
		}
	}
	if e.coordinator != nil && !split {
		return nil, errNoTerm // an empty answer would be wrong
	}
	return nil, nil
}

func (e *Kernel) giveBack(ctx context.Context, leases []Lease) error {
	e.occupancy.take(leases[0].Step.WorkerNo, len(leases)) // their ends are reported next
	results := make([]Result, len(leases))
	for i, l := range leases {
		results[i] = Result{Step: l.Step.ID, Token: l.Step.Token, Status: ResultReleased}
	}
	_, err := e.Settle(ctx, results)
	return err
}

// runClaims lets pollers of the same routes share one read of the queue, in order of arrival.
func (e *Kernel) runClaims(calls []*poller) ([][]Lease, error) {
	if slices.ContainsFunc(calls, (*poller).outdated) {
		return e.claimAnew(calls)
	}
	return e.Queue.claim(calls)
}

func (p *poller) outdated() bool {
	if p.served == nil || len(p.routes) == 0 {
		return false
	}
	current := p.served.routes()
	return len(current) == 0 || &current[0] != &p.routes[0]
}

func (e *Kernel) claimAnew(calls []*poller) ([][]Lease, error) {
	out := make([][]Lease, len(calls))
	var serving []*poller
	var at []int
	for i, p := range calls {
		if p.outdated() {
			p.routes = p.served.routes()
		}
		if len(p.routes) > 0 {
			serving, at = append(serving, p), append(at, i)
		}
	}
	if len(serving) == 0 {
		return out, nil
	}
	found, err := e.Queue.claim(serving)
	for n, leases := range found {
		out[at[n]] = leases
	}
	return out, err
}

// lease returns whole false for a damaged step that no worker can process; its lease has ended.
func (u *Unit) lease(w Work) (l Lease, whole bool, err error) {
	t, err := u.Rows.Template(w.Step.DefID)
	if err != nil {
		return Lease{}, false, err
	}
	if reason, _, is := task.WhyUnopened(w.Task.Context); is {
		return Lease{}, false, u.Ready.unopened(w, "the context of the task", reason)
	}
	if fault := faultOf(w, t); fault != "" {
		return Lease{}, false, failDamaged(u, w, fault)
	}
	u.E.Points.stepHanded(u, w, t)
	l = Lease{Step: *w.Step, Task: *w.Task, Template: t, TraceParent: u.Observed.attemptTrace(w)}
	if l.Checkpoint, err = u.Rows.checkpointOf(w); err != nil {
		return Lease{}, false, err
	}
	if reason, _, is := task.WhyUnopened(l.Checkpoint); is {
		return Lease{}, false, u.Ready.unopened(w, "its checkpoint", reason)
	}
	spec := t.Spec(w.Step)
	reads := spec.Reads()
	if len(reads) == 0 {
		return l, true, nil
	}
	parents, err := u.Rows.Siblings(FamilyOf(w.Step, reads))
	if err != nil {
		return Lease{}, false, err
	}
	l.ParentResults = make(map[string][]byte, len(parents))
	for _, p := range parents {
		name := t.Spec(p).Name
		if reason, _, is := task.WhyUnopened(p.Result); is {
			return Lease{}, false, u.Ready.unopened(w, "the result of step "+name, reason)
		}
		if fault := task.JSONFault(p.Result, math.MaxInt); p.Result != nil && fault != "" {
			return Lease{}, false, failDamaged(u, w, "the result of step "+name+" "+fault)
		}
		if large := task.LargeResultOf(p.ID, p.Result); large != nil {
			if l.LargeParents == nil {
				l.LargeParents = map[string]*task.LargeResult{}
			}
			l.LargeParents[name] = large
			continue
		}
		l.ParentResults[name] = p.Result
	}
	return l, true, nil
}
