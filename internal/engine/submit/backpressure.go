package submit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/kit/coalesce"
	"github.com/taskerhq/tasker/internal/model/rate"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Backpressure never counts the queue for a submission: it estimates the depth from a background count and the steps
// added and handed out here since. The estimate may be seconds old, and a burst may exceed a limit by the tasks being
// stored. mu guards the fields below it.
type Backpressure struct {
	e     *kernel.Kernel
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
	// Recount is how long a count is valid, or RecountShare times its duration if longer, so that counting stays a
	// small part of the time.
	Recount = time.Second
	// RecountShare bounds that part.
	RecountShare = 20
	// longestCount bounds the measured duration against clock steps.
	longestCount = time.Second
	// staleCount is the age, in such periods, from which a count is not used.
	staleCount = 10
)

// newBackpressure lets concurrent counts share one read. Its context is separate, because the first caller may leave.
func newBackpressure(e *kernel.Kernel) *Backpressure {
	b := &Backpressure{e: e, cfg: e.Cfg.Backpressure,
		users: rate.NewLimits(e.Cfg.Backpressure.UserBurst, e.Cfg.Backpressure.UserSustained)}
	b.counts = coalesce.New(kernel.Callers, 1, func(calls []struct{}) ([]struct{}, error) {
		return calls, b.count(context.Background())
	})
	return b
}

func (b *Backpressure) tiers() bool {
	return b.cfg.Soft > 0 || b.cfg.HighOnly > 0 || b.cfg.AllowListOnly > 0
}

func (b *Backpressure) appliesTo(d *Draft) bool {
	return b.cfg.Scope == settings.AllScope || d.In.Queued
}

const minNormalLoad = 5000

// normalLoad returns 0 for no bound.
func (b *Backpressure) normalLoad(now task.Instant) int {
	switch {
	case b.cfg.NormalLoad < 0:
		return 0
	case b.cfg.NormalLoad > 0:
		return b.cfg.NormalLoad
	}
	return max(minNormalLoad, int(b.e.Meter.StoreRate(now)))
}

// Tier returns the highest tier reached ("" for none), the lowest level that it accepts, and a text about those. The
// highest tier accepts only the allow-list.
func (b *Backpressure) Tier(depth int) (tier kernel.Refusal, least int, who string) {
	reached := func(at int) bool { return at > 0 && depth >= at }
	switch {
	case reached(b.cfg.AllowListOnly):
		return kernel.OverAllowList, task.MaxPriority + 1, "task types on the allow-list are"
	case reached(b.cfg.HighOnly):
		high := Of(b.e).highLevel()
		return kernel.OverHigh, high, fmt.Sprintf("priority %s and above is", b.e.PriorityName(high))
	case reached(b.cfg.Soft):
		usual, _ := b.e.Level("")
		return kernel.OverSoft, usual + 1, fmt.Sprintf("what is above priority %s is", b.e.PriorityName(usual))
	}
	return "", 0, ""
}

func (e *Room) highLevel() int {
	for _, p := range e.Cfg.Priorities {
		if p.Name == "high" {
			return p.Level
		}
	}
	return e.Cfg.Priorities[0].Level
}

func (b *Backpressure) allowed(d *Draft) bool {
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
func (b *Backpressure) drained(now task.Instant, depth int) time.Duration {
	lowest := settings.MaxDepth
	for _, at := range []int{b.cfg.Soft, b.cfg.HighOnly, b.cfg.AllowListOnly} {
		if at > 0 {
			lowest = min(lowest, at)
		}
	}
	rate := b.e.DrainRate(now)
	if rate <= 0 {
		return longestWait
	}
	wait := time.Duration(float64(max(depth-lowest, 0)+1) / rate * float64(time.Second))
	return min(max(wait, shortestWait), longestWait)
}

func (b *Backpressure) refuse(why kernel.Refusal, n int) {
	b.refused[slices.Index(kernel.Refusals, why)].Add(int64(n))
	if b.e.Observer != nil {
		b.e.Observer.Refused(why, n)
	}
}

// estimate blocks only without a recent count.
func (b *Backpressure) estimate(ctx context.Context, now task.Instant) (int, error) {
	b.mu.Lock()
	interval := max(Recount, RecountShare*b.cost)
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

func (b *Backpressure) count(ctx context.Context) error {
	limit := max(b.cfg.Soft, b.cfg.HighOnly, b.cfg.AllowListOnly, exactDepth) + 1
	began := b.e.Now()
	counts, err := b.e.Queue.ReadyCounts(ctx, limit)
	if err != nil {
		return err
	}
	held, err := b.e.OrderingStore.CountWaiting(ctx, min(limit, kernel.TurnsCounted))
	if err != nil {
		return err
	}
	total, err := b.e.QueueCounts.CountPaused(ctx, limit)
	if err != nil {
		return err
	}
	atGates, err := b.e.GateReads.CountParked(ctx, limit)
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
	b.cost = min(b.e.Now().Sub(began), longestCount)
	return nil
}

func (b *Backpressure) moved(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.depth = max(b.depth+n, 0)
}

// Pressure is the load of a process and its refusals.
type Pressure struct {
	Scope settings.BackpressureScope
	// Tier is the tier that the queue has reached, or "".
	Tier kernel.Refusal
	// Depth is the estimated number of ready steps, valid only if Counted: once a submission has depended on it.
	Depth   int
	Counted bool
	// Active counts tasks being stored. NormalLoad is their normal number (0: no bound); Overloaded means twice that.
	Active, NormalLoad int
	Overloaded         bool
	// Refused counts refused tasks since the process began.
	Refused map[kernel.Refusal]int64
}

// Pressure reads nothing from the store.
func (e *Room) Pressure() Pressure {
	b, now := e.Backpressure, e.Now()
	p := Pressure{Scope: b.cfg.Scope, Active: int(b.active.Load()), NormalLoad: b.normalLoad(now),
		Refused: map[kernel.Refusal]int64{}}
	p.Overloaded = p.NormalLoad > 0 && p.Active >= 2*p.NormalLoad
	b.mu.Lock()
	p.Depth, p.Counted = b.depth, b.counted
	b.mu.Unlock()
	if p.Counted {
		p.Tier, _, _ = b.Tier(p.Depth)
	}
	for i, r := range kernel.Refusals {
		p.Refused[r] = b.refused[i].Load()
	}
	return p
}
