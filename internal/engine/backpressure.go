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

// Refusal is the reason for which back-pressure refuses a submission. The words are those of
// the metric label and of the configuration keys.
type Refusal string

// The reasons, in the order in which they are checked.
const (
	Overloaded    Refusal = "overloaded"
	OverAllowList Refusal = "allow_list_only"
	OverHigh      Refusal = "high_only"
	OverSoft      Refusal = "soft"
	OverBurst     Refusal = "user_burst"
	OverSustained Refusal = "user_sustained"
)

// Refusals lists every reason.
var Refusals = []Refusal{Overloaded, OverAllowList, OverHigh, OverSoft, OverBurst, OverSustained}

// backpressure decides which submissions are accepted. It never counts the queue for a
// submission. It estimates the depth from a count that runs in the background while submissions
// arrive, and from the steps that this process has added and handed out since. It errs on the
// side of accepting: the estimate may be a few seconds old, and a burst may pass a limit by the
// number of tasks that are stored at once. mu guards the fields below it; the atomic counters
// change without it on every submission.
type backpressure struct {
	e     *Engine
	cfg   settings.Backpressure
	users *rate.Limits

	active  atomic.Int64 // tasks that are being stored, in any scope
	pending atomic.Int64 // of these, accepted here
	refused [6]atomic.Int64

	mu      sync.Mutex
	depth   int  // ready steps
	held    int  // tasks that wait for their turn: they count for submissions with an ordering key
	capped  bool // the count reached its limit: there were more
	at      task.Instant
	cost    time.Duration // duration of the last count
	counted bool

	counts *coalesce.Group[struct{}, struct{}]
}

const (
	// A count is valid for recount, or for recountShare times its own duration if that is longer. Counting thus takes a
	// small part of the time, however long the queue is.
	recount      = time.Second
	recountShare = 20
	// longestCount bounds the duration that a count is taken to have: a clock that is set meanwhile would make it valid
	// for hours.
	longestCount = time.Second
	// staleCount is the age, in such periods, at which a count is no longer used.
	staleCount = 10
)

// newBackpressure returns the back-pressure of an engine. Concurrent counts share one read of
// the store, with its own context: the caller that began it may leave.
func newBackpressure(e *Engine) *backpressure {
	b := &backpressure{e: e, cfg: e.cfg.Backpressure,
		users: rate.NewLimits(e.cfg.Backpressure.UserBurst, e.cfg.Backpressure.UserSustained)}
	b.counts = coalesce.New(callers, 1, func(calls []struct{}) ([]struct{}, error) {
		return calls, b.count(context.Background())
	})
	return b
}

// tiers reports whether any tier depends on the depth of the queue.
func (b *backpressure) tiers() bool {
	return b.cfg.Soft > 0 || b.cfg.HighOnly > 0 || b.cfg.AllowListOnly > 0
}

// appliesTo reports whether back-pressure may refuse a submission.
func (b *backpressure) appliesTo(d *draft) bool {
	return b.cfg.Scope == settings.AllScope || d.in.Queued
}

// minNormalLoad is the smallest computed normal load of a process.
const minNormalLoad = 5000

// normalLoad is the number of tasks that may be stored at once before the load is above normal; 0: no bound.
func (b *backpressure) normalLoad(now task.Instant) int {
	switch {
	case b.cfg.NormalLoad < 0:
		return 0
	case b.cfg.NormalLoad > 0:
		return b.cfg.NormalLoad
	}
	return max(minNormalLoad, int(b.e.meter.storeRate(now)))
}

// tier returns the highest tier that a depth reaches, "" for none; the lowest level that this
// tier accepts; and a text that names what it accepts. A tier of 0 is switched off. The highest
// tier accepts no level at all, only task types on the allow-list.
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

// highLevel is the level named high, or the highest named level if there is none.
func (e *Engine) highLevel() int {
	for _, p := range e.cfg.Priorities {
		if p.Name == "high" {
			return p.Level
		}
	}
	return e.cfg.Priorities[0].Level
}

// allowed reports whether the task's type is on the allow-list.
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
	// The bounds of the advice in Retry-After: a shorter one would make clients poll, a longer
	// one would leave an empty queue unused.
	shortestWait = time.Second
	longestWait  = time.Minute
)

// drained estimates the time until the queue is below the lowest tier. The estimate uses the
// rate at which this process settles steps; without one it returns the longest wait.
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

// refuse counts n refused tasks, for Pressure and for the observer.
func (b *backpressure) refuse(why Refusal, n int) {
	b.refused[slices.Index(Refusals, why)].Add(int64(n))
	if b.e.observer != nil {
		b.e.observer.Refused(why, n)
	}
}

// estimate returns the estimated number of ready steps. It blocks only when there is no recent count.
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

// exactDepth is the depth up to which the queue is counted even if no tier needs it, so that a refusal can report the
// number.
const exactDepth = 100_000

// count counts the queue up to a limit above the highest tier.
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
	b.at = began // what has come since may not be in it
	b.depth, b.held, b.capped, b.counted = total, held, total >= limit, true
	b.cost = min(b.e.instant().Sub(began), longestCount)
	return nil
}

// moved records that n more steps are ready or, with a negative n, fewer.
func (b *backpressure) moved(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.depth = max(b.depth+n, 0)
}

// Pressure is the load of a process and the submissions refused because of it.
type Pressure struct {
	Scope settings.BackpressureScope
	// Tier is the tier that the queue has reached, "" for none.
	Tier Refusal
	// Depth is the estimated number of ready steps. It is valid only while Counted is set, which the first submission
	// that depends on the depth does.
	Depth   int
	Counted bool
	// Active counts tasks that are being stored. NormalLoad is the normal number of them; 0: no bound. Overloaded is
	// twice that number.
	Active, NormalLoad int
	Overloaded         bool
	// Refused counts the tasks refused since the process began.
	Refused map[Refusal]int64
}

// Pressure returns the current load without a read from the store.
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
