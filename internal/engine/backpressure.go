package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker/internal/coalesce"
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
	cfg   Backpressure
	users *userLimits

	inHand  atomic.Int64 // tasks that are being stored, whatever their scope
	pending atomic.Int64 // of these, accepted here
	refused [6]atomic.Int64

	mu      sync.Mutex
	depth   int // ready steps
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
	b := &backpressure{e: e, cfg: e.cfg.Backpressure, users: newUserLimits(e.cfg.Backpressure.UserBurst, e.cfg.Backpressure.UserSustained)}
	b.counts = coalesce.New(callers, 1, func(calls []struct{}) ([]struct{}, error) {
		return calls, b.count(context.Background())
	})
	return b
}

// tiers reports whether the depth of the queue matters at all.
func (b *backpressure) tiers() bool {
	return b.cfg.Soft > 0 || b.cfg.HighOnly > 0 || b.cfg.AllowListOnly > 0
}

// concerns reports whether a submission is one that may be refused.
func (b *backpressure) concerns(d *draft) bool { return b.cfg.Scope == AllScope || d.in.Queued }

// enter takes tasks in hand; done is called once they are stored, or are not. When
// too much is in hand, or in the queue, or a user has submitted too much, all are
// refused, and nothing of them is counted.
func (b *backpressure) enter(ctx context.Context, drafts []*draft) (done func(), err error) {
	var mine []*draft
	for _, d := range drafts {
		if b.concerns(d) {
			mine = append(mine, d)
		}
	}
	if len(mine) > 0 {
		if err := b.judge(ctx, mine); err != nil {
			return nil, err
		}
	}
	b.inHand.Add(int64(len(drafts)))
	b.pending.Add(int64(len(mine)))
	return func() {
		b.inHand.Add(-int64(len(drafts)))
		b.pending.Add(-int64(len(mine)))
	}, nil
}

func (b *backpressure) judge(ctx context.Context, drafts []*draft) error {
	now := b.e.instant()
	if err := b.checkLoad(now, len(drafts)); err != nil {
		return err
	}
	if b.tiers() {
		depth, err := b.estimate(ctx, now)
		if err != nil {
			return err
		}
		if err := b.checkDepth(now, depth, drafts); err != nil {
			return err
		}
	}
	return b.checkUsers(now, drafts)
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

func (b *backpressure) checkLoad(now task.Instant, n int) error {
	normal := b.normalLoad(now)
	if in := int(b.inHand.Load()); normal == 0 || in < 2*normal {
		return nil
	}
	b.refuse(Overloaded, n)
	return &task.Error{Code: task.Unavailable, Message: fmt.Sprintf("the server is overloaded: it has twice the %d tasks in hand that are normal", normal),
		Hint: "nothing was stored; try again later", RetryAfter: time.Second}
}

// checkDepth refuses what is not urgent enough for the length of the queue.
func (b *backpressure) checkDepth(now task.Instant, depth int, drafts []*draft) error {
	tier, least, who := b.tier(depth)
	if tier == "" {
		return nil
	}
	outside := slices.IndexFunc(drafts, func(d *draft) bool { return !b.allowed(d) && d.priority < least })
	if outside < 0 {
		return nil
	}
	b.refuse(tier, len(drafts))
	e := &task.Error{Code: task.Exhausted, Message: fmt.Sprintf("the queue is full: %d steps are ready, and only %s accepted", depth, who),
		Hint: "nothing was stored; try again later, or raise engine.backpressure." + string(tier), RetryAfter: b.drained(now, depth)}
	if len(drafts) > 1 {
		e.Problems = []task.Problem{{Location: fmt.Sprintf("/tasks/%d", drafts[outside].place), Message: fmt.Sprintf("has level %d", drafts[outside].priority)}}
	}
	return e
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
	lowest := maxDepth
	for _, at := range []int{b.cfg.Soft, b.cfg.HighOnly, b.cfg.AllowListOnly} {
		if at > 0 {
			lowest = min(lowest, at)
		}
	}
	rate := b.e.meter.drainRate(now)
	if rate <= 0 {
		return longestWait
	}
	wait := time.Duration(float64(max(depth-lowest, 0)+1) / rate * float64(time.Second))
	return min(max(wait, shortestWait), longestWait)
}

func (b *backpressure) checkUsers(now task.Instant, drafts []*draft) error {
	if !b.users.on() {
		return nil
	}
	counts := map[user]int{}
	for _, d := range drafts {
		counts[userOf(d)]++
	}
	hit := b.users.take(counts, now)
	if hit == nil {
		return nil
	}
	b.refuse(hit.reason, len(drafts))
	within := "a minute"
	if hit.reason == OverSustained {
		within = "an hour"
	}
	if hit.never {
		return &task.Error{Code: task.TooLarge, Message: fmt.Sprintf("more tasks at once than the %d that one user may submit within %s", hit.limit, within),
			Hint: "nothing was stored; send fewer at a time"}
	}
	return &task.Error{Code: task.Exhausted, Message: fmt.Sprintf("the user has submitted the %d tasks that are allowed within %s", hit.limit, within),
		Hint: "nothing was stored; try again later", RetryAfter: hit.room}
}

// userOf is on whose behalf a task is submitted.
func userOf(d *draft) user { return user{key: d.in.Caller, id: d.in.Meta.Initiator} }

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

// count counts the queue, as far as the highest tier.
func (b *backpressure) count(ctx context.Context) error {
	limit := max(b.cfg.Soft, b.cfg.HighOnly, b.cfg.AllowListOnly, 1)
	began := b.e.instant()
	counts, err := b.e.readyCounts(ctx, limit)
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
	b.depth, b.cost, b.counted = total, b.at.Sub(began), true
	return nil
}

// moved notes that tasks were put in, or, with a negative n, steps were taken out.
func (b *backpressure) moved(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.depth = max(b.depth+n, 0)
}

// Pressure says how much there is to do, and what is refused for it.
type Pressure struct {
	Scope BackpressureScope
	// Tier is the tier that the queue has reached, "" for none.
	Tier Refusal
	// Depth is the number of ready steps, as far as this process knows; only while
	// Counted, which is not so before the first submission that depends on it.
	Depth   int
	Counted bool
	// InHand counts tasks that are being stored, NormalLoad is how many are normal;
	// 0 is any number. Overloaded is twice that.
	InHand, NormalLoad int
	Overloaded         bool
	// Refused counts the tasks refused since the process began.
	Refused map[Refusal]int64
}

// Pressure says how much there is to do just now, without asking the store.
func (e *Engine) Pressure() Pressure {
	b, now := e.pressure, e.instant()
	p := Pressure{Scope: b.cfg.Scope, InHand: int(b.inHand.Load()), NormalLoad: b.normalLoad(now), Refused: map[Refusal]int64{}}
	p.Overloaded = p.NormalLoad > 0 && p.InHand >= 2*p.NormalLoad
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

// refusedByPressure reports whether an error is a refusal, and not that the queue
// could not be counted.
func refusedByPressure(err error) bool {
	var e *task.Error
	return errors.As(err, &e) && (e.RetryAfter > 0 || e.Code == task.TooLarge)
}
