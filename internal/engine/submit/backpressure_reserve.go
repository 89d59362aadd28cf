package submit

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/rate"
	"github.com/taskerhq/tasker/internal/model/task"
)

// reservation decides about the submissions of one call. It counts as load until release.
type reservation struct {
	b        *Backpressure
	admitted []*Draft
	refused  map[*Draft]error

	at      task.Instant
	normal  int             // the admitted ones to which back-pressure applies
	counted map[*Draft]bool // those counted against their users' limits
}

type group struct {
	drafts []*Draft
	why    kernel.Refusal
	err    *task.Error
}

// reserve counts tasks as being stored, until release, or refuses all of them with an error. With each it decides
// about every task as if it had come alone.
//
// A submission with a known idempotency key or a guarded unique key creates no task: it is accepted and does not
// count.
func (b *Backpressure) reserve(ctx context.Context, drafts []*Draft, each bool) (*reservation, error) {
	t := &reservation{b: b, at: b.e.Now(), refused: map[*Draft]error{}, counted: map[*Draft]bool{}}
	groups, err := b.decideAll(ctx, t, b.groups(drafts, each))
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		if g.err == nil {
			continue
		}
		b.refuse(g.why, len(g.drafts))
		if !each {
			return nil, g.err
		}
		for _, d := range g.drafts {
			t.refused[d] = g.err
		}
	}
	for _, d := range drafts {
		if t.refused[d] == nil {
			t.admitted = append(t.admitted, d)
			if b.appliesTo(d) {
				t.normal++
			}
		}
	}
	b.active.Add(int64(len(t.admitted)))
	b.pending.Add(int64(t.normal))
	return t, nil
}

// release uncounts against users' limits the tasks that were not created; with nil receipts, all.
func (t *reservation) release(receipts []Receipt) {
	t.b.active.Add(-int64(len(t.admitted)))
	t.b.pending.Add(-int64(t.normal))
	for i, d := range t.admitted {
		if t.counted[d] && (receipts == nil || !receipts[i].Created) {
			t.b.users.GiveBack(userOf(d), t.at)
		}
	}
}

func (b *Backpressure) groups(drafts []*Draft, each bool) []*group {
	var groups []*group
	for _, d := range drafts {
		switch {
		case !b.appliesTo(d):
		case each || len(groups) == 0:
			groups = append(groups, &group{drafts: []*Draft{d}})
		default:
			groups[0].drafts = append(groups[0].drafts, d)
		}
	}
	return groups
}

// decideAll looks up known keys only for refused groups, and decides again without those submissions.
func (b *Backpressure) decideAll(ctx context.Context, t *reservation, groups []*group) ([]*group, error) {
	if len(groups) == 0 {
		return nil, nil
	}
	depth := 0
	if b.tiers() {
		var err error
		if depth, err = b.estimate(ctx, t.at); err != nil {
			return nil, err
		}
	}
	accepted := 0
	var suspects []*Draft
	judge := func(g *group) {
		if g.why, g.err = b.decide(t, depth+accepted+b.heldBefore(g.drafts), g.drafts); g.err == nil {
			accepted += len(g.drafts)
		}
	}
	for _, g := range groups {
		if judge(g); g.err != nil && g.why != kernel.Overloaded {
			suspects = append(suspects, g.drafts...)
		}
	}
	known, err := Of(b.e).knownDrafts(ctx, suspects)
	if err != nil || len(known) == 0 {
		return groups, err
	}
	for _, g := range groups {
		if g.err == nil {
			continue
		}
		fresh := slices.DeleteFunc(slices.Clone(g.drafts), func(d *Draft) bool { return known[d] })
		switch {
		case len(fresh) == 0:
			g.err = nil
		case len(fresh) < len(g.drafts):
			g.why, g.err = b.decide(t, depth+accepted+b.heldBefore(fresh), fresh)
		}
	}
	return groups, nil
}

// heldBefore counts waiting tasks for a group with ordering keys: otherwise one slow key fills the database with
// messages that are never ready.
func (b *Backpressure) heldBefore(drafts []*Draft) int {
	if !slices.ContainsFunc(drafts, func(d *Draft) bool { return d.In.Meta.OrderingKey != "" }) {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

func (b *Backpressure) decide(t *reservation, depth int, drafts []*Draft) (kernel.Refusal, *task.Error) {
	if err := b.checkLoad(t.at); err != nil {
		return kernel.Overloaded, err
	}
	if why, err := b.checkDepth(t.at, depth, drafts); err != nil {
		return why, err
	}
	return b.checkUsers(t, drafts)
}

// checkLoad refuses everything at twice the normal load, when waiting calls only use memory. Unavailable makes a
// client try another node.
func (b *Backpressure) checkLoad(now task.Instant) *task.Error {
	normal := b.normalLoad(now)
	if in := int(b.active.Load()); normal == 0 || in < 2*normal {
		return nil
	}
	return &task.Error{Code: task.Unavailable, RetryAfter: time.Second, Hint: "nothing was stored; try again later",
		Message: fmt.Sprintf("the server is overloaded: it holds twice its normal number of %d unstored tasks", normal)}
}

func (b *Backpressure) checkDepth(now task.Instant, depth int, drafts []*Draft) (kernel.Refusal, *task.Error) {
	tier, least, who := b.Tier(depth)
	if tier == "" {
		return "", nil
	}
	outside := slices.IndexFunc(drafts, func(d *Draft) bool { return !b.allowed(d) && d.priority < least })
	if outside < 0 {
		return "", nil
	}
	e := &task.Error{Code: task.Exhausted, RetryAfter: b.drained(now, depth),
		Message: fmt.Sprintf("the queue is full: %s, and only %s accepted", b.depthText(depth), who),
		Hint:    "nothing was stored; try again later, or raise engine.backpressure." + string(tier)}
	if len(drafts) > 1 {
		e.Problems = []task.Problem{{Location: fmt.Sprintf("/tasks/%d", drafts[outside].place),
			Message: fmt.Sprintf("has level %d", drafts[outside].priority)}}
	}
	return tier, e
}

func (b *Backpressure) depthText(depth int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch coming := depth - b.depth; {
	case b.capped:
		return fmt.Sprintf("at least %d steps are ready", b.depth)
	case coming > 0:
		return fmt.Sprintf("%d steps are ready and %d are being stored or wait for their turn", b.depth, coming)
	}
	return fmt.Sprintf("%d steps are ready", depth)
}

// checkUsers counts a group, all or nothing. More tasks than a limit ever allows are TooLarge; the rest is Exhausted
// with a wait.
func (b *Backpressure) checkUsers(t *reservation, drafts []*Draft) (kernel.Refusal, *task.Error) {
	if !b.users.On() {
		return "", nil
	}
	counts := map[rate.User]int{}
	for _, d := range drafts {
		counts[userOf(d)]++
	}
	hit := b.users.Take(counts, t.at)
	if hit == nil {
		for _, d := range drafts {
			t.counted[d] = true
		}
		return "", nil
	}
	reason, within := kernel.OverBurst, "a minute"
	if hit.Sustained {
		reason, within = kernel.OverSustained, "an hour"
	}
	if hit.Never {
		return reason, &task.Error{Code: task.TooLarge, Hint: "nothing was stored; send fewer at a time",
			Message: fmt.Sprintf("more tasks at once than the %d that one user may submit within %s", hit.Limit, within)}
	}
	return reason, &task.Error{Code: task.Exhausted, Hint: "nothing was stored; try again later", RetryAfter: hit.Room,
		Message: fmt.Sprintf("the user has submitted the %d tasks that are allowed within %s", hit.Limit, within)}
}

func userOf(d *Draft) rate.User { return rate.User{Key: d.In.Caller, ID: d.In.Meta.Initiator} }
