package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker/internal/coalesce"
	"github.com/taskerhq/tasker/internal/rate"
	"github.com/taskerhq/tasker/internal/settings"
	"github.com/taskerhq/tasker/internal/task"
)

// Refusal is why back-pressure refused a submission.
type Refusal string

// The reasons, in the order in which they are looked for.
const (
	Overloaded    Refusal = "overloaded"
	OverAllowList Refusal = "allow_list_only"
	OverHigh      Refusal = "high_only"
	OverSoft      Refusal = "soft"
	OverBurst     Refusal = "user_burst"
	OverSustained Refusal = "user_sustained"
)

// Refusals are all of them.
var Refusals = []Refusal{Overloaded, OverAllowList, OverHigh, OverSoft, OverBurst, OverSustained}

// backpressure decides which submissions are accepted. It never counts the queue
// for a submission: it goes by a count that is made in the background while
// somebody submits, and by what this process has put in and handed out since.
type backpressure struct {
	e     *Engine
	cfg   settings.Backpressure
	users *rate.Limits

	active  atomic.Int64 // tasks that are being stored, whatever their scope
	pending atomic.Int64 // of these, accepted here
	refused [6]atomic.Int64

	mu      sync.Mutex
	depth   int  // ready steps
	capped  bool // there were more when they were counted
	at      task.Instant
	cost    time.Duration // of the last count
	counted bool

	counts *coalesce.Group[struct{}, struct{}]
}

const (
	// recount is how long a count is good for, recountShare how many times its own
	// duration: counting takes a small part of the time, however long the queue.
	recount      = time.Second
	recountShare = 20
	// staleCount is the age at which a count is not gone by any more, in rhythms.
	staleCount = 10
)

func newBackpressure(e *Engine) *backpressure {
	b := &backpressure{e: e, cfg: e.cfg.Backpressure,
		users: rate.NewLimits(e.cfg.Backpressure.UserBurst, e.cfg.Backpressure.UserSustained)}
	b.counts = coalesce.New(callers, 1, func(calls []struct{}) ([]struct{}, error) {
		return calls, b.count(context.Background())
	})
	return b
}

// tiers reports whether the depth of the queue matters at all.
func (b *backpressure) tiers() bool {
	return b.cfg.Soft > 0 || b.cfg.HighOnly > 0 || b.cfg.AllowListOnly > 0
}

// appliesTo reports whether a submission is one that may be refused.
func (b *backpressure) appliesTo(d *draft) bool {
	return b.cfg.Scope == settings.AllScope || d.in.Queued
}

// minNormalLoad is what a process can always have in hand.
const minNormalLoad = 5000

// normalLoad is how much may be in hand before that is more than normal; 0: there
// is no bound.
func (b *backpressure) normalLoad(now task.Instant) int {
	switch {
	case b.cfg.NormalLoad < 0:
		return 0
	case b.cfg.NormalLoad > 0:
		return b.cfg.NormalLoad
	}
	return max(minNormalLoad, int(b.e.meter.storeRate(now)))
}

// tier returns the highest tier that a depth reaches, "" for none; the lowest level
// that it accepts, and in words who that is.
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

// highLevel is the level named high, else the highest that has a name.
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
	return slices.Contains(b.cfg.AllowList, t.Name) || slices.Contains(b.cfg.AllowList, t.Namespace+"/"+t.Name)
}

const (
	shortestWait = time.Second
	longestWait  = time.Minute
)

// drained is after how long the queue is likely to be below the lowest tier.
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

// estimate is the number of ready steps, as far as it is known. It blocks only when
// there is no count that is recent enough.
func (b *backpressure) estimate(ctx context.Context, now task.Instant) (int, error) {
	b.mu.Lock()
	rhythm := max(recount, recountShare*b.cost)
	age := now.Sub(b.at)
	counted := b.counted && age >= 0
	b.mu.Unlock()
	switch {
	case !counted || age > staleCount*rhythm:
		if _, err := b.counts.Do(ctx, struct{}{}); err != nil {
			return 0, fmt.Errorf("count the queue: %w", err)
		}
	case age > rhythm:
		b.counts.Post(struct{}{})
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.depth + int(b.pending.Load()), nil
}

// exactDepth is how far the queue is counted though no tier needs it, so that those
// who are refused are told how many there are.
const exactDepth = 100_000

// count counts the queue, as far as the highest tier and some way beyond.
func (b *backpressure) count(ctx context.Context) error {
	limit := max(b.cfg.Soft, b.cfg.HighOnly, b.cfg.AllowListOnly, exactDepth) + 1
	began := b.e.instant()
	counts, err := b.e.queue.readyCounts(ctx, limit)
	if err != nil {
		return err
	}
	total := 0
	for _, n := range counts {
		total += n
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at = b.e.instant()
	b.depth, b.capped, b.cost, b.counted = total, total >= limit, b.at.Sub(began), true
	return nil
}

// moved notes that n steps more are ready, or, with a negative n, fewer.
func (b *backpressure) moved(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.depth = max(b.depth+n, 0)
}

// Pressure says how much there is to do, and what is refused for it.
type Pressure struct {
	Scope settings.BackpressureScope
	// Tier is the tier that the queue has reached, "" for none.
	Tier Refusal
	// Depth is the number of ready steps, as far as this process knows; only while
	// Counted, which is not so before the first submission that depends on it.
	Depth   int
	Counted bool
	// Active counts tasks that are being stored, NormalLoad is how many are normal;
	// 0 is any number. Overloaded is twice that.
	Active, NormalLoad int
	Overloaded         bool
	// Refused counts the tasks refused since the process began.
	Refused map[Refusal]int64
}

// Pressure says how much there is to do just now, without asking the store.
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
