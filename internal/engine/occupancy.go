package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// occupancy is the number of steps that workers hold, so that a poll gets no more steps than its worker has free slots.
// This process adds what its polls took and subtracts what ended here, at no cost. It does not see other processes.
// Where there are others, it counts again at the interval at which it reads their changes, and sooner when a poll would
// get less than it requested.
//
// A count and what happens here meanwhile do not mix: it may or may not include a step whose end is being stored. So
// the count of a worker that moved meanwhile is not adopted, unless its last one is old; then what is not sure counts
// as held. An error is always on the safe side, fewer steps than there are slots, and lasts until the next count. Only
// what other processes have handed out since the last count is not seen.
type occupancy struct {
	counting sync.Mutex // held during a count; never together with mu
	counts   atomic.Int64

	mu      sync.Mutex
	counted task.Instant // 0: never
	took    time.Duration
	workers map[int64]*workerSlots // by number; no entry: holds nothing
	arrived map[heldLease]struct{} // results that are being stored: one that is reported twice frees one slot
}

// heldLease names what a result ends.
type heldLease struct {
	step  task.ID
	token int64
}

// arrival is a result that has arrived, and its place in the call.
type arrival struct {
	heldLease
	no int
}

// workerSlots are the slots of one worker.
type workerSlots struct {
	held    int // steps
	leaving int // of held: the result has arrived and is being stored
	asked   int // promised to polls under way
	recent  int // of held: taken since the count under way began
	blocked int // polls that wait for a free slot

	moved   bool         // results arrived, or leases ended, since the count under way began, or were under way then
	count   int64        // the last count that was adopted; 0: none
	adopted task.Instant // when that was
}

// idle reports whether nothing would be forgotten with the entry.
func (p *workerSlots) idle() bool {
	return p.held == 0 && p.leaving == 0 && p.asked == 0 && p.blocked == 0
}

// slotsOf returns the slots of a worker. The caller holds mu.
func (o *occupancy) slotsOf(worker int64) *workerSlots {
	p := o.workers[worker]
	if p == nil {
		if o.workers == nil {
			o.workers = map[int64]*workerSlots{}
		}
		p = &workerSlots{}
		o.workers[worker] = p
	}
	return p
}

// ask promises a poll up to want of the free slots of a worker. With block, a poll that gets none is counted as
// waiting.
func (o *occupancy) ask(w *task.Worker, want int, block bool) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.slotsOf(w.No)
	n := min(want, max(w.Capacity-max(p.held-p.leaving, 0)-p.asked, 0))
	p.asked += n
	if n == 0 && block {
		p.blocked++
	}
	return n
}

// take records steps that a worker got.
func (o *occupancy) take(worker int64, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.slotsOf(worker)
	p.held += n
	p.recent += n
}

// answer ends a poll that was promised slots, or waited for one, and took some steps.
func (o *occupancy) answer(worker int64, promised, taken int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.slotsOf(worker)
	p.asked -= promised
	p.held += taken
	p.recent += taken
	if promised == 0 {
		p.blocked--
	}
}

// free records steps that workers no longer hold, and returns the workers whose polls wait for a free slot. since is
// the number of the last count before they ended; a later one may have left them out already.
func (o *occupancy) free(ended map[int64]int, since int64) (blocked []int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for worker, n := range ended {
		p := o.workers[worker]
		if p == nil {
			continue // it polls another process
		}
		p.moved = true
		expected := min(n, p.leaving) // done has left these in
		p.leaving -= expected
		if p.count > since {
			n = expected
		}
		p.held = max(p.held-n, 0)
		if p.blocked > 0 {
			blocked = append(blocked, worker)
		}
	}
	return blocked
}

// leave records steps whose results have arrived. No worker processes them any more, so the next steps are handed out
// while the results are stored. It returns which of them had not arrived before, and whether polls wait for that.
func (o *occupancy) leave(worker int64, results []arrival) (fresh []arrival, blocked bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.arrived == nil {
		o.arrived = map[heldLease]struct{}{}
	}
	for _, a := range results {
		if _, known := o.arrived[a.heldLease]; !known {
			o.arrived[a.heldLease] = struct{}{}
			fresh = append(fresh, a)
		}
	}
	if len(fresh) == 0 {
		return nil, false
	}
	p := o.slotsOf(worker)
	p.leaving += len(fresh)
	p.moved = true
	return fresh, p.blocked > 0
}

// stay ends leave. Results that were not stored, kept of them, free nothing; the others did when their leases ended.
func (o *occupancy) stay(worker int64, results []arrival, kept int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, a := range results {
		delete(o.arrived, a.heldLease)
	}
	p := o.slotsOf(worker)
	p.leaving = max(p.leaving-kept, 0)
	p.moved = true
}

// due reports whether the last count is older than age, and so old that another one costs little.
func (o *occupancy) due(now task.Instant, age time.Duration) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.counted == 0 || now.Sub(o.counted) >= max(age, countShare*o.took)
}

// doubt requires a new count before the next poll gets anything.
func (o *occupancy) doubt() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.counted = 0
}

// begin is called before a count, done after it.
func (o *occupancy) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.workers {
		p.recent, p.moved = 0, p.leaving > 0
	}
}

// done adopts a count that began at begin, but for workers that moved meanwhile and whose last count is younger than
// patience. Entries of workers that hold nothing, and that no poll waits for, are removed.
func (o *occupancy) done(counts map[int64]int, now task.Instant, took, patience time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	number := o.counts.Add(1)
	for worker := range counts {
		o.slotsOf(worker)
	}
	for worker, p := range o.workers {
		if p.moved && p.count != 0 && now.Sub(p.adopted) < patience {
			continue
		}
		// The count may or may not include what was taken in the meantime, and what leaves. Both count as held: free takes
		// away what leaves.
		p.held = counts[worker] + p.recent + p.leaving
		p.count, p.adopted = number, now
		if p.idle() {
			delete(o.workers, worker)
		}
	}
	o.counted, o.took = now, took
}

const (
	// countShare bounds the cost of counting, to one part in countShare of the time.
	countShare = 10
	// countShort is the minimum age of a count for a poll that gets too little: where other processes hand out and
	// settle too, and where this process is the only one.
	countShort, countShortAlone = 10 * time.Millisecond, time.Second
)

// Holds returns how many steps a worker holds, as far as this process knows: see occupancy. It reads nothing.
func (e *Engine) Holds(w *task.Worker) int {
	o := &e.occupancy
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.workers[w.No]
	if p == nil {
		return 0
	}
	return max(p.held-p.leaving, 0)
}

// bounds reports whether a worker gets no more steps than it has free slots.
func (e *Engine) bounds(w *task.Worker) bool {
	return e.cfg.Leases.EnforceCapacity != settings.Off && w.Capacity > 0
}

// occupy promises a poll the free slots of its worker, up to the number wanted. A worker that
// would get less than it wants has its steps counted first, because the numbers may be out of
// date to its disadvantage.
func (e *Engine) occupy(ctx context.Context, w *task.Worker, want int, block bool) int {
	o, now := &e.occupancy, e.instant()
	short := countShortAlone
	if e.Shared() {
		short = countShort
	}
	if e.Shared() && o.due(now, e.cfg.PollInterval) || o.due(now, forEver) {
		e.recount(ctx, now)
	}
	if o.due(now, short) {
		if n := o.ask(w, want, false); n == want {
			return n
		} else if n > 0 {
			o.answer(w.No, n, 0)
		}
		e.recount(ctx, now)
	}
	return o.ask(w, want, block)
}

// recount counts the steps held by all workers, unless another call has done so since. When counting fails, the old
// numbers stay.
func (e *Engine) recount(ctx context.Context, since task.Instant) {
	o := &e.occupancy
	o.counting.Lock()
	defer o.counting.Unlock()
	o.mu.Lock()
	fresh := o.counted > since
	o.mu.Unlock()
	if fresh {
		return
	}
	o.begin()
	began := e.instant()
	if counts, err := e.Loads(ctx); err == nil {
		now := e.instant()
		o.done(counts, now, now.Sub(began), e.cfg.PollInterval)
	}
}

// leaving frees slots of a worker whose results have arrived. The caller calls the returned function with the answers,
// or with nil when there are none.
func (e *Engine) leaving(results []Result) func([]Answer) {
	if e.cfg.Leases.EnforceCapacity == settings.Off {
		return func([]Answer) {}
	}
	worker := results[0].Worker
	if worker == 0 {
		return func([]Answer) {}
	}
	arrived := make([]arrival, 0, len(results))
	for i := range results {
		if r := &results[i]; r.Worker == worker && r.Token != 0 {
			arrived = append(arrived, arrival{heldLease{r.Step, r.Token}, i})
		}
	}
	fresh, blocked := e.occupancy.leave(worker, arrived)
	if len(fresh) == 0 {
		return func([]Answer) {}
	}
	if blocked {
		e.waiters.recheck(worker)
	}
	return func(answers []Answer) {
		kept := 0
		for _, a := range fresh {
			if answers == nil || answers[a.no].Err != nil {
				kept++
			}
		}
		e.occupancy.stay(worker, fresh, kept)
	}
}

// freed records leases that have ended. since is the number of the last count before that.
func (e *Engine) freed(ended map[int64]int, since int64) {
	if len(ended) == 0 {
		return
	}
	for _, worker := range e.occupancy.free(ended, since) {
		e.waiters.recheck(worker)
	}
}
