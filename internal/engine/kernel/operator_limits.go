package kernel

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/taskerhq/tasker/internal/engine/check"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/model/limit"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	maxOperatorLimits = 1000
	maxLimitsKept     = 2 * maxOperatorLimits
	limitsNote        = "limits_version"
)

// LimitRequest is an operator's request for a limit.
type LimitRequest struct {
	Target  task.PauseTarget
	Permits int
	Rate    limit.Rate
	Actor   string
	Reason  string
}

type actLimit struct {
	Kind         task.PauseKind `json:"kind"`
	Name         string         `json:"name"`
	Capabilities []string       `json:"capabilities,omitempty"`
	Concurrency  int            `json:"concurrency,omitempty"`
	Rate         string         `json:"rate,omitempty"`
}

// SetLimit sets or changes the limit of a handler or a route, which need not exist yet. Running steps continue, and
// count. It stores an act, and reports whether the target had no limit before.
//
// Until other processes read a new limit (see RefreshLimits) they may begin steps of the target; a change counts
// immediately.
//
// Invalid: every problem with its field. Exhausted: there are maxOperatorLimits already.
func (e *Kernel) SetLimit(ctx context.Context, r LimitRequest) (l *task.OperatorLimit, created bool, err error) {
	l = &task.OperatorLimit{PauseTarget: r.Target, Permits: r.Permits, Rate: r.Rate}
	problems := append(l.Faults(), check.Renamed(CheckActor(r.Actor, r.Reason), "/actor", "/set_by")...)
	if len(problems) > 0 {
		return nil, false, check.Refusal("no limit was set", problems)
	}
	all, err := e.limitStore.OperatorLimits(ctx, maxOperatorLimits)
	if err != nil {
		return nil, false, fmt.Errorf("count limits: %w", err)
	}
	routes, err := e.coveredRoutes(ctx, r.Target)
	if err != nil {
		return nil, false, err
	}
	err = e.changeLimits(ctx, "set_limit", func(u *Unit) error {
		found, err := e.limitStore.LockLimits(u.Ctx, u.Tx, []int64{r.Target.LimitNo()})
		if err != nil {
			return err
		}
		l = &task.OperatorLimit{PauseTarget: r.Target, Permits: r.Permits, Rate: r.Rate, Actor: ActorOf(ctx, r.Actor),
			Reason: r.Reason, At: u.Now, ChangedAt: u.Now}
		if created = len(found) == 0 || found[0].EndedAt != 0; !created {
			l.At, l.Bucket = found[0].At, found[0].Bucket
		} else if len(all) == maxOperatorLimits && all[maxOperatorLimits-1].EndedAt == 0 {
			return task.Errorf(task.Exhausted, "%d limits are in force, the most there may be: delete what is not needed, "+
				"or limit handlers as a whole", maxOperatorLimits)
		}
		if err := actOnLimit(u, task.ActSetLimit, l, l.Actor, l.Reason); err != nil {
			return err
		}
		if err := e.limitStore.SaveLimit(u.Ctx, u.Tx, l); err != nil {
			return err
		}
		if l.Permits == 0 {
			return e.limitStore.DropPermitsOf(u.Ctx, u.Tx, l.LimitNo())
		}
		return e.limitStore.AdoptPermits(u.Ctx, u.Tx, l.LimitNo(), routes)
	})
	if err != nil {
		return nil, false, err
	}
	return l, created, nil
}

// DeleteLimit ends the limit of a target and stores the act. NotFound: it has none. Invalid: every problem with its
// field.
func (e *Kernel) DeleteLimit(ctx context.Context, target task.PauseTarget, actor, reason string,
) (l *task.OperatorLimit, err error) {
	problems := append(target.Faults(), check.Renamed(CheckActor(actor, reason), "/actor", "/deleted_by")...)
	if len(problems) > 0 {
		return nil, check.Refusal("no limit was deleted", problems)
	}
	err = e.changeLimits(ctx, "delete_limit", func(u *Unit) error {
		found, err := e.limitStore.LockLimits(u.Ctx, u.Tx, []int64{target.LimitNo()})
		if err != nil {
			return err
		}
		if len(found) == 0 || found[0].EndedAt != 0 {
			return task.Errorf(task.NotFound, "%s has no limit of an operator", target)
		}
		l = &found[0]
		l.EndedAt, l.EndedBy, l.EndReason = u.Now, ActorOf(ctx, actor), reason
		if err := actOnLimit(u, task.ActDeleteLimit, l, l.EndedBy, reason); err != nil {
			return err
		}
		if err := e.limitStore.DropPermitsOf(u.Ctx, u.Tx, target.LimitNo()); err != nil {
			return err
		}
		return e.limitStore.SaveLimit(u.Ctx, u.Tx, l)
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

func actOnLimit(u *Unit, kind string, l *task.OperatorLimit, actor, reason string) error {
	data := actLimit{Kind: l.Kind, Name: l.Name, Capabilities: task.SplitCapabilities(l.Capabilities),
		Concurrency: l.Permits}
	if !l.Rate.Zero() {
		data.Rate = l.Rate.String()
	}
	text, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encode act: %w", err)
	}
	u.Records.Acts = append(u.Records.Acts, task.Act{At: u.Now, Kind: kind, Actor: actor,
		Reason: cmp.Or(reason, NoReason), Namespace: l.Namespace, Data: text})
	return nil
}

func (e *Kernel) changeLimits(ctx context.Context, verb string, change func(u *Unit) error) error {
	err := e.Write(ctx, verb, func(u *Unit) error {
		if err := change(u); err != nil {
			return err
		}
		// no two changes leave the same text
		return e.NoteStore.Note(u.Ctx, u.Tx, limitsNote, strconv.FormatUint(rand.Uint64(), 36))
	})
	if err != nil {
		return err
	}
	e.Publish(PeerEvents{Limits: true})
	// The limit is stored; on an error the upkeep loop reads it later.
	_ = e.RefreshLimits(context.WithoutCancel(ctx))
	_ = e.AdoptLeases(context.WithoutCancel(ctx))
	return nil
}

func (e *Kernel) coveredRoutes(ctx context.Context, target task.PauseTarget) (covered []int64, err error) {
	routes, err := e.Store.Routes(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for routes: %w", err)
	}
	for _, r := range routes {
		if of := targetsOf(r); slices.Contains(of[1:], target) {
			covered = append(covered, r.ID)
		}
	}
	return covered, nil
}

// RefreshLimits reads changed limits. Upkeep calls it at an interval, and events of other processes do. Without its
// event, a process follows a change within settings.Config.PollInterval.
func (e *Kernel) RefreshLimits(ctx context.Context) error {
	l := &e.limits
	l.mu.Lock()
	defer l.mu.Unlock()
	version, err := e.NoteStore.FindNote(ctx, limitsNote)
	if err != nil {
		return fmt.Errorf("look for limits: %w", err)
	}
	if l.read && l.version == version {
		return nil
	}
	rows, err := e.limitStore.OperatorLimits(ctx, maxLimitsKept)
	if err != nil {
		return fmt.Errorf("read limits: %w", err)
	}
	l.rows, l.version, l.read = rows, version, true
	e.Catalog.setLimits(limitsOf(rows))
	return nil
}

// OperatorLimitView is a limit of an operator with its state.
type OperatorLimitView struct {
	task.OperatorLimit
	Held   int          // permits in use
	NextAt task.Instant // when the rate lets the next step begin; 0: now
}

// Exhausted reports whether the limit lets no step begin.
func (v *OperatorLimitView) Exhausted() bool {
	return v.Permits > 0 && v.Held >= v.Permits || v.NextAt != 0
}

// OperatorLimitFilter selects limits. Zero fields match all.
type OperatorLimitFilter struct {
	Kind       task.PauseKind
	Name       string
	Namespaces []string
	After      task.PauseTarget // exclusive
	Limit      int
}

// OperatorLimits returns the limits in force within the key's reach, by target, and whether there are more. Invalid:
// a limit outside of 1 to Limits.PageItems.
func (e *Kernel) OperatorLimits(ctx context.Context, f OperatorLimitFilter) ([]OperatorLimitView, bool, error) {
	if err := check.Page(f.Limit, 0, e.Cfg.Limits.PageItems); err != nil {
		return nil, false, err
	}
	rows, err := e.limitStore.OperatorLimits(ctx, maxLimitsKept)
	if err != nil {
		return nil, false, fmt.Errorf("read limits: %w", err)
	}
	key, pass := access.From(ctx), Passing(f.Namespaces)
	rows = slices.DeleteFunc(rows, func(l task.OperatorLimit) bool {
		return l.EndedAt != 0 || !pass(l.Namespace) || !key.Reaches(l.Namespace) || f.Kind != "" && l.Kind != f.Kind ||
			f.Name != "" && l.Name != f.Name || l.Compare(f.After) <= 0
	})
	slices.SortFunc(rows, func(a, b task.OperatorLimit) int { return a.Compare(b.PauseTarget) })
	views, err := e.viewLimits(ctx, rows[:min(f.Limit, len(rows))])
	return views, len(rows) > f.Limit, err
}

// ViewLimit adds its state to a limit.
func (e *Kernel) ViewLimit(ctx context.Context, l *task.OperatorLimit) (*OperatorLimitView, error) {
	views, err := e.viewLimits(ctx, []task.OperatorLimit{*l})
	if err != nil {
		return nil, err
	}
	return &views[0], nil
}

func (e *Kernel) limitsNow(ctx context.Context, nos []int64) ([]OperatorLimitView, error) {
	rows, err := e.limitStore.FindLimits(ctx, nos)
	if err != nil {
		return nil, fmt.Errorf("read limits: %w", err)
	}
	return e.viewLimits(ctx, slices.DeleteFunc(rows, func(l task.OperatorLimit) bool { return l.EndedAt != 0 }))
}

func (e *Kernel) viewLimits(ctx context.Context, rows []task.OperatorLimit) ([]OperatorLimitView, error) {
	nos := make([]int64, len(rows))
	for i := range rows {
		nos[i] = rows[i].LimitNo()
	}
	held, err := e.limitStore.HeldPermits(ctx, nos)
	if err != nil {
		return nil, fmt.Errorf("count permits: %w", err)
	}
	views, now := make([]OperatorLimitView, len(rows)), e.Now()
	for i, l := range rows {
		views[i] = OperatorLimitView{OperatorLimit: l, Held: held[nos[i]]}
		if l.Rate.Zero() {
			continue
		}
		if next := nextPass(&l, now); next > now {
			views[i].NextAt = next
		}
	}
	return views, nil
}

func nextPass(l *task.OperatorLimit, now task.Instant) task.Instant {
	return task.Instant((l.Rate.Next(l.Bucket, nanos(now)) + 999) / 1000)
}

// LimitedBy returns the limit that now stops the steps of a route, or nil, and up to HoldersShown tasks with its
// permits.
func (e *Kernel) LimitedBy(ctx context.Context, r *task.Route) (*OperatorLimitView, []task.ID, error) {
	by := e.Catalog.limitsOn(r.ID)
	if len(by) == 0 {
		return nil, nil, nil
	}
	nos := make([]int64, len(by))
	for i, l := range by {
		nos[i] = l.no
	}
	views, err := e.limitsNow(ctx, nos)
	if err != nil {
		return nil, nil, err
	}
	for i := range views {
		if v := &views[i]; v.Exhausted() {
			holders, err := e.GateReads.Holders(ctx, v.LimitNo(), HoldersShown)
			return v, holders, err
		}
	}
	return nil, nil, nil
}

// HeldBack includes limits: waiting under one does not count for thresholds of states either.
func (e *Kernel) HeldBack() task.HeldUntil {
	paused, k := e.heldUntil(), e.Catalog.Limits.Load()
	if k == nil {
		return paused
	}
	return func(s *task.Step) (since task.Instant) {
		if paused != nil {
			since = paused(s)
		}
		switch limited := len(k.byRoute[s.RouteID]) > 0; {
		case s.Queue == task.NoQueue:
		case limited && s.State == task.StepEnqueued:
			return task.Endless
		case limited && s.State.Leased():
			since = max(since, s.AssignedAt, s.StartedAt)
		default:
			if r := e.Catalog.RouteByID(s.RouteID); r != nil {
				since = max(since, k.endedSince(r))
			}
		}
		return since
	}
}
