package engine

import (
	"context"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/settings"
	"github.com/taskerhq/tasker/internal/task"
)

// occupancy is what workers hold, so that a poll gets no more steps than its worker has
// places for. It is kept by adding what polls of this process took and taking away what
// ended here, which costs nothing. What happens in other processes is not seen: there
// it is counted anew at the interval at which a process looks what others did, and
// sooner when a poll would come away with less than it asked for.
//
// An error is always to the safe side, that less is given than there is room for, and
// lasts until the next count.
type occupancy struct {
	counting sync.Mutex // held by who counts; not together with mu

	mu      sync.Mutex
	counted task.Instant // 0: never
	took    time.Duration
	workers map[int64]*workerSlots // by number; none: as much as nothing
}

// workerSlots are those of one worker.
type workerSlots struct {
	held    int // steps
	leaving int // of held: a result has come, and is being stored
	asked   int // promised to polls under way
	recent  int // of held: taken since the count under way began
	blocked int // polls that wait for a place
}

// slotsOf returns those of a worker. The caller holds mu.
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

// ask promises a poll up to want of the places that a worker has free. With block, a poll
// that gets none is noted as one that waits.
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

// take notes steps that a worker got.
func (o *occupancy) take(worker int64, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.slotsOf(worker)
	p.held += n
	p.recent += n
}

// answer ends a poll that was promised so many places, or waited for one, and took some.
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

// free notes steps that workers do not hold any more, and returns those of the workers
// who have polls that wait for that.
func (o *occupancy) free(ended map[int64]int) (blocked []int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for worker, n := range ended {
		p := o.workers[worker]
		if p == nil {
			continue // it polls elsewhere
		}
		p.held, p.leaving = max(p.held-n, 0), max(p.leaving-n, 0)
		if p.blocked > 0 {
			blocked = append(blocked, worker)
		}
	}
	return blocked
}

// leave notes steps whose results have come: nobody works on them any more, so the next ones
// are handed out while the results are stored. It reports whether polls wait for that.
func (o *occupancy) leave(worker int64, n int) (blocked bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.slotsOf(worker)
	p.leaving += n
	return p.blocked > 0
}

// stay takes back leave for steps whose results were not stored. Those of steps that are not
// held any more were taken back when their leases ended.
func (o *occupancy) stay(worker int64, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.slotsOf(worker)
	p.leaving = max(p.leaving-n, 0)
}

// due reports whether the last count is older than that, and so long ago that another one
// costs little.
func (o *occupancy) due(now task.Instant, age time.Duration) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.counted == 0 || now.Sub(o.counted) >= max(age, countShare*o.took)
}

// doubt has all counted anew before the next poll gets anything.
func (o *occupancy) doubt() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.counted = 0
}

// begin is before a count, done after it.
func (o *occupancy) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.workers {
		p.recent = 0
	}
}

func (o *occupancy) done(counts map[int64]int, now task.Instant, took time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for worker := range counts {
		o.slotsOf(worker)
	}
	for worker, p := range o.workers {
		// what was taken meanwhile may be among what was counted, or not
		p.held = counts[worker] + p.recent
		if *p == (workerSlots{}) {
			delete(o.workers, worker)
		}
	}
	o.counted, o.took = now, took
}

const (
	// countShare bounds what counting costs: one part of so many of the time.
	countShare = 10
	// countShort is how old a count has to be for a poll that comes away with too little:
	// where others hand out and settle too, and where only this process does.
	countShort, countShortAlone = 10 * time.Millisecond, time.Second
)

// bounds reports whether a worker is given no more than it has places for.
func (e *Engine) bounds(w *task.Worker) bool {
	return e.cfg.Leases.EnforceCapacity != settings.Off && w.Capacity > 0
}

// occupy promises a poll as many of the places that it wants as its worker has free.
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

// recount counts what all workers hold, unless somebody has done so since. What cannot be
// counted stays as it is known.
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

// leaving hands out places of a worker whose results have come. The caller calls what it
// returns with the answers, nil when there are none.
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

// freed tells of leases that have ended.
func (e *Engine) freed(ended map[int64]int) {
	if len(ended) == 0 {
		return
	}
	for _, worker := range e.occupancy.free(ended) {
		e.waiters.recheck(worker)
	}
}
