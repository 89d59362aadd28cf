package engine

import (
	"context"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/settings"
	"github.com/taskerhq/tasker/internal/task"
)

// occupancy is the number of steps that workers hold, so that a poll gets no more steps than its worker has free slots.
// This process adds what its polls took and subtracts what ended here, at no cost. It does not see other processes.
// Where there are others, it counts again at the interval at which it reads their changes, and sooner when a poll would
// get less than it requested.
//
// An error is always on the safe side, fewer steps than there are slots, and lasts until the next count.
type occupancy struct {
	counting sync.Mutex // held during a count; never together with mu

	mu      sync.Mutex
	counted task.Instant // 0: never
	took    time.Duration
	workers map[int64]*workerSlots // by number; no entry: holds nothing
}

// workerSlots are the slots of one worker.
type workerSlots struct {
	held    int // steps
	leaving int // of held: the result has arrived and is being stored
	asked   int // promised to polls under way
	recent  int // of held: taken since the count under way began
	blocked int // polls that wait for a free slot
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
	n := min(want, max(w.Capacity-p.held+p.leaving-p.asked, 0))
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

// free records steps that workers no longer hold, and returns the workers whose polls wait for a free slot.
func (o *occupancy) free(ended map[int64]int) (blocked []int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for worker, n := range ended {
		p := o.workers[worker]
		if p == nil {
			continue // it polls another process
		}
		p.held, p.leaving = max(p.held-n, 0), max(p.leaving-n, 0)
		if p.blocked > 0 {
			blocked = append(blocked, worker)
		}
	}
	return blocked
}

// leave records steps whose results have arrived. No worker processes them any more, so the next steps are handed out
// while the results are stored. It reports whether polls wait for that.
func (o *occupancy) leave(worker int64, n int) (blocked bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.slotsOf(worker)
	p.leaving += n
	return p.blocked > 0
}

// stay reverts leave for steps whose results were not stored. Steps that are no longer held were reverted when their
// leases ended.
func (o *occupancy) stay(worker int64, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.slotsOf(worker)
	p.leaving = max(p.leaving-n, 0)
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
		p.recent = 0
	}
}

// done adopts a count that began at begin. Entries of workers that hold nothing, and that no
// poll waits for, are removed.
func (o *occupancy) done(counts map[int64]int, now task.Instant, took time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for worker := range counts {
		o.slotsOf(worker)
	}
	for worker, p := range o.workers {
		// the count may or may not include what was taken in the meantime
		p.held = counts[worker] + p.recent
		if *p == (workerSlots{}) {
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
		o.done(counts, now, now.Sub(began))
	}
}

// leaving frees slots of a worker whose results have arrived. The caller calls the returned function with the answers,
// or with nil when there are none.
func (e *Engine) leaving(results []Result) func([]Answer) {
	if e.cfg.Leases.EnforceCapacity == settings.Off {
		return func([]Answer) {}
	}
	worker, n := results[0].Worker, 0
	for i := range results {
		if r := &results[i]; r.Worker == worker && r.Token != 0 {
			n++
		}
	}
	if worker == 0 || n == 0 {
		return func([]Answer) {}
	}
	if e.occupancy.leave(worker, n) {
		e.waiters.recheck(worker)
	}
	return func(answers []Answer) {
		kept := n
		for i := range answers {
			if r := &results[i]; r.Worker == worker && r.Token != 0 && answers[i].Err == nil {
				kept--
			}
		}
		e.occupancy.stay(worker, kept)
	}
}

// freed records leases that have ended.
func (e *Engine) freed(ended map[int64]int) {
	if len(ended) == 0 {
		return
	}
	for _, worker := range e.occupancy.free(ended) {
		e.waiters.recheck(worker)
	}
}
