package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker/internal/kit/coalesce"
	"github.com/taskerhq/tasker/internal/model/rate"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// backpressure never counts the queue for a submission: it estimates the depth from a background count and the steps
// added and handed out here since. The estimate may be seconds old, and a burst may exceed a limit by the tasks being
// stored. mu guards the fields below it.
type backpressure struct {
	e     *Engine
	cfg   settings.Backpressure
	users *rate.Limits

	active  atomic.Int64 // tasks being stored, in any scope
	pending atomic.Int64 // of these, those under back-pressure
	refused [6]atomic.Int64

	mu      sync.Mutex
	depth   int
	held    int  // tasks that wait for their turn; they count for submissions with an ordering key
	capped  bool // the count stopped at its limit
	at      task.Instant
	cost    time.Duration // of the last count
	counted bool

	counts *coalesce.Group[struct{}, struct{}]
}

const (
	// A count is valid for recount, or recountShare times its duration if longer, so that counting stays a small part
	// of the time.
	recount      = time.Second
	recountShare = 20
	// longestCount bounds the measured duration against clock steps.
	longestCount = time.Second
	// staleCount is the age, in such periods, from which a count is not used.
	staleCount = 10
)

// newBackpressure lets concurrent counts share one read. Its context is separate, because the first caller may leave.
func newBackpressure(e *Engine) *backpressure {
	b := &backpressure{e: e, cfg: e.cfg.Backpressure,
		users: rate.NewLimits(e.cfg.Backpressure.UserBurst, e.cfg.Backpressure.UserSustained)}
	b.counts = coalesce.New(callers, 1, func(calls []struct{}) ([]struct{}, error) {
		return calls, b.count(context.Background())
	})
	return b
}

func (b *backpressure) tiers() bool {
	return b.cfg.Soft > 0 || b.cfg.HighOnly > 0 || b.cfg.AllowListOnly > 0
}

func (b *backpressure) appliesTo(d *draft) bool {
	return b.cfg.Scope == settings.AllScope || d.in.Queued
}

const minNormalLoad = 5000

// normalLoad returns 0 for no bound.
func (b *backpressure) normalLoad(now task.Instant) int {
	switch {
	case b.cfg.NormalLoad < 0:
		return 0
	case b.cfg.NormalLoad > 0:
		return b.cfg.NormalLoad
	}
	return max(minNormalLoad, int(b.e.meter.storeRate(now)))
}

// tier returns the highest tier reached ("" for none), the lowest level that it accepts, and a text about those. The
// highest tier accepts only the allow-list.
func (b *backpressure) tier(depth int) (tier Refusal, least int, who string) {
	reached := func(at int) bool { return at > 0 && depth >= at }
	switch {
	case reached(b.cfg.AllowListOnly):
		return OverAllowList, task.MaxPriority + 1, "task types on the allow-list are"
	case reached(b.cfg.HighOnly):
		high := b.e.highLevel()
		return OverHigh, high, fmt.Sprintf("priority %s and above is", b.e.PriorityName(high))
	case reached(b.cfg.Soft):
		usual, _ := b.e.Level("")
		return OverSoft, usual + 1, fmt.Sprintf("what is above priority %s is", b.e.PriorityName(usual))
	}
	return "", 0, ""
}

func (e *Engine) highLevel() int {
	for _, p := range e.cfg.Priorities {
		if p.Name == "high" {
			return p.Level
		}
	}
	return e.cfg.Priorities[0].Level
}

func (b *backpressure) allowed(d *draft) bool {
	t := d.template
	return slices.ContainsFunc(b.cfg.AllowList, func(entry string) bool {
		namespace, name, both := strings.Cut(entry, "/")
		if !both {
			return entry == t.Name
		}
		return namespace == t.Namespace && name == t.Name
	})
}

const (
	// Bounds of Retry-After: a shorter wait makes clients poll, a longer one leaves an empty queue unused.
	shortestWait = time.Second
	longestWait  = time.Minute
)

// drained estimates the time until the queue is below the lowest tier, at this process's rate of settling; without
// one it is longestWait.
func (b *backpressure) drained(now task.Instant, depth int) time.Duration {
	lowest := settings.MaxDepth
	for _, at := range []int{b.cfg.Soft, b.cfg.HighOnly, b.cfg.AllowListOnly} {
		if at > 0 {
			lowest = min(lowest, at)
		}
	}
	rate := b.e.drainRate(now)
	if rate <= 0 {
		return longestWait
	}
	wait := time.Duration(float64(max(depth-lowest, 0)+1) / rate * float64(time.Second))
	return min(max(wait, shortestWait), longestWait)
}

func (b *backpressure) refuse(why Refusal, n int) {
	b.refused[slices.Index(Refusals, why)].Add(int64(n))
	if b.e.observer != nil {
		b.e.observer.Refused(why, n)
	}
}

// estimate blocks only without a recent count.
func (b *backpressure) estimate(ctx context.Context, now task.Instant) (int, error) {
	b.mu.Lock()
	interval := max(recount, recountShare*b.cost)
	age := now.Sub(b.at)
	counted := b.counted && age >= 0
	b.mu.Unlock()
	switch {
	case !counted || age > staleCount*interval:
		if _, err := b.counts.Do(ctx, struct{}{}); err != nil {
			return 0, fmt.Errorf("count the queue: %w", err)
		}
	case age > interval:
		b.counts.Post(struct{}{})
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.depth + int(b.pending.Load()), nil
}

// exactDepth is counted even without tiers, so that a refusal can report the number.
const exactDepth = 100_000

func (b *backpressure) count(ctx context.Context) error {
	limit := max(b.cfg.Soft, b.cfg.HighOnly, b.cfg.AllowListOnly, exactDepth) + 1
	began := b.e.instant()
	counts, err := b.e.queue.readyCounts(ctx, limit)
	if err != nil {
		return err
	}
	held, err := b.e.orderingStore.CountWaiting(ctx, min(limit, TurnsCounted))
	if err != nil {
		return err
	}
	total, err := b.e.queueCounts.CountPaused(ctx, limit)
	if err != nil {
		return err
	}
	atGates, err := b.e.gateReads.CountParked(ctx, limit)
	if err != nil {
		return err
	}
	total += atGates
	for _, n := range counts {
		total += n
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at = began // later changes may not be in it
	b.depth, b.held, b.capped, b.counted = total, held, total >= limit, true
	b.cost = min(b.e.instant().Sub(began), longestCount)
	return nil
}

func (b *backpressure) moved(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.depth = max(b.depth+n, 0)
}

// Pressure is the load of a process and its refusals.
type Pressure struct {
	Scope settings.BackpressureScope
	// Tier is the tier that the queue has reached, or "".
	Tier Refusal
	// Depth is the estimated number of ready steps, valid only if Counted: once a submission has depended on it.
	Depth   int
	Counted bool
	// Active counts tasks being stored. NormalLoad is their normal number (0: no bound); Overloaded means twice that.
	Active, NormalLoad int
	Overloaded         bool
	// Refused counts refused tasks since the process began.
	Refused map[Refusal]int64
}

// Pressure reads nothing from the store.
func (e *Engine) Pressure() Pressure {
	b, now := e.pressure, e.instant()
	p := Pressure{Scope: b.cfg.Scope, Active: int(b.active.Load()), NormalLoad: b.normalLoad(now),
		Refused: map[Refusal]int64{}}
	p.Overloaded = p.NormalLoad > 0 && p.Active >= 2*p.NormalLoad
	b.mu.Lock()
	p.Depth, p.Counted = b.depth, b.counted
	b.mu.Unlock()
	if p.Counted {
		p.Tier, _, _ = b.tier(p.Depth)
	}
	for i, r := range Refusals {
		p.Refused[r] = b.refused[i].Load()
	}
	return p
}
