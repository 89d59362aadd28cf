package kernel

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// occupancy counts the steps that workers hold, so that a poll gets no more steps than its worker has free slots. It
// adds steps taken and subtracts steps ended here. With other processes it also counts in the store, at the interval
// of reading their changes, and sooner when a poll would get too little.
//
// A count may or may not include a step whose end is being stored. So it does not replace the number of a worker that
// moved meanwhile, unless the last count is old; then doubtful steps count as held. An error thus leaves slots empty
// until the next count. Only other processes' hand-outs since the last count are missing.
type occupancy struct {
	counting sync.Mutex
	counts   atomic.Int64

	mu      sync.Mutex
	counted task.Instant // 0: never
	took    time.Duration
	workers map[int64]*workerSlots
	arrived map[heldLease]struct{} // results being stored: a result reported twice frees one slot
}

type heldLease struct {
	step  task.ID
	token int64
}

type arrival struct {
	heldLease
	no int
}

type workerSlots struct {
	held    int
	leaving int // of held: the result is being stored
	asked   int // promised to polls under way
	recent  int // of held: taken since the current count began
	blocked int // polls that wait for a free slot

	moved   bool  // a result arrived or a lease ended since the current count began, or was under way then
	count   int64 // the last adopted count; 0: none
	adopted task.Instant
}

func (p *workerSlots) idle() bool {
	return p.held == 0 && p.leaving == 0 && p.asked == 0 && p.blocked == 0
}

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

// With block, a poll that gets none counts as waiting.
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

func (o *occupancy) take(worker int64, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.slotsOf(worker)
	p.held += n
	p.recent += n
}

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

// free returns the workers whose polls wait for a slot. since is the number of the last count before the ends; a
// later one may exclude the steps already.
func (o *occupancy) free(ended map[int64]int, since int64) (blocked []int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for worker, n := range ended {
		p := o.workers[worker]
		if p == nil {
			continue // it polls another process
		}
		p.moved = true
		expected := min(n, p.leaving) // done has included these
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

// leave frees the slots of steps whose results are being stored. It returns the results that are new, and whether
// polls wait.
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

// stay ends leave. The kept results were not stored and free nothing; the others' slots became free when their leases
// ended.
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

// due reports whether another count is needed and cheap.
func (o *occupancy) due(now task.Instant, age time.Duration) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.counted == 0 || now.Sub(o.counted) >= max(age, countShare*o.took)
}

func (o *occupancy) doubt() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.counted = 0
}

func (o *occupancy) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.workers {
		p.recent, p.moved = 0, p.leaving > 0
	}
}

// done adopts a count, except for workers that moved meanwhile and were counted within patience. It removes idle
// entries.
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
		// The count may include steps taken meanwhile and steps leaving. Both count as held: free subtracts the
		// latter.
		p.held = counts[worker] + p.recent + p.leaving
		p.count, p.adopted = number, now
		if p.idle() {
			delete(o.workers, worker)
		}
	}
	o.counted, o.took = now, took
}

const (
	// countShare bounds the time spent counting to one part in countShare.
	countShare = 10
	// countShort is the minimum age of a count when a poll gets too little: with other processes, and alone.
	countShort, countShortAlone = 10 * time.Millisecond, time.Second
)

// Holds returns how many steps a worker holds as far as this process has counted.
func (e *Kernel) Holds(w *task.Worker) int {
	o := &e.occupancy
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.workers[w.No]
	if p == nil {
		return 0
	}
	return max(p.held-p.leaving, 0)
}

func (e *Kernel) bounds(w *task.Worker) bool {
	return e.Cfg.Leases.EnforceCapacity != settings.Off && w.Capacity > 0
}

// occupy counts first if the worker has too few free slots, because the number may be out of date.
func (e *Kernel) occupy(ctx context.Context, w *task.Worker, want int, block bool) int {
	o, now := &e.occupancy, e.Now()
	short := countShortAlone
	if e.Shared() {
		short = countShort
	}
	if e.Shared() && o.due(now, e.Cfg.PollInterval) || o.due(now, forEver) {
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

func (e *Kernel) recount(ctx context.Context, since task.Instant) {
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
	began := e.Now()
	if counts, err := e.Loads(ctx); err == nil {
		now := e.Now()
		o.done(counts, now, now.Sub(began), e.Cfg.PollInterval)
	}
}

// The caller of leaving calls the returned function with the answers, or with nil.
func (e *Kernel) leaving(results []Result) func([]Answer) {
	if e.Cfg.Leases.EnforceCapacity == settings.Off {
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

// since is the number of the last count before the ends.
func (e *Kernel) freed(ended map[int64]int, since int64) {
	if len(ended) == 0 {
		return
	}
	for _, worker := range e.occupancy.free(ended, since) {
		e.waiters.recheck(worker)
	}
}
