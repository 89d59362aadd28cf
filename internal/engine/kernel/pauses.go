package kernel

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/engine/check"
	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// A pause holds back the steps of a route, a handler, a template or a namespace. Running work continues, and
// submissions are accepted. See closures for its effect.

const (
	// Every process has all pauses in memory. maxPausesOf bounds one namespace, so that a key limited to it does not
	// use up all.
	maxPauses     = 10_000
	maxPausesOf   = 1000
	maxPausesKept = 2 * maxPauses
	pauseKept     = 30 * 24 * time.Hour
	// pausesNote changes with every change of a pause, so that one short read shows whether a process is up to date.
	pausesNote = "pauses_version"
)

// mu orders reads, so that an older one never replaces a newer one.
type pauses struct {
	mu      sync.Mutex
	rows    []task.Pause
	outages []*task.Outage
	version string
	read    bool // rows are those of version

	released released // of the loop that calls ReleasePaused
}

// PauseRequest is an operator's request for a pause.
type PauseRequest struct {
	Target task.PauseTarget
	Actor  string
	Reason string
	// Until is the automatic end; 0: none.
	Until task.Instant
}

type actTarget struct {
	Kind         task.PauseKind `json:"kind"`
	Name         string         `json:"name,omitempty"`
	Capabilities []string       `json:"capabilities,omitempty"`
	Until        ActTime        `json:"until,omitzero"`
}

// Pause holds back the steps of a target, which need not exist yet, until a time or ResumePaused. Pausing again
// changes actor, reason and end, not the beginning. It stores an act, and reports whether the target was not paused
// before.
//
// When Pause returns, only claims under way hand out steps of the target in this process. Other processes follow: see
// RefreshPauses.
//
// Invalid: every problem with its field. Exhausted: there are maxPauses already, or maxPausesOf in the namespace.
func (e *Kernel) Pause(ctx context.Context, r PauseRequest) (p *task.Pause, created bool, err error) {
	now := e.Now()
	problems := append(r.Target.Faults(), check.Renamed(CheckActor(r.Actor, r.Reason), "/actor", "/paused_by")...)
	if fault := task.InstantFault(r.Until); fault != "" {
		problems = append(problems, task.Problem{Location: "/until", Message: fault})
	} else if r.Until != 0 && r.Until <= now {
		problems = append(problems, task.Problem{Location: "/until", Message: "must be in the future"})
	}
	if len(problems) > 0 {
		return nil, false, check.Refusal("nothing was paused", problems)
	}
	err = e.changePauses(ctx, "pause", func(u *Unit) error {
		before, err := e.pauseStore.FindPause(u.Ctx, u.Tx, r.Target)
		if err != nil {
			return err
		}
		p = &task.Pause{PauseTarget: r.Target, Actor: ActorOf(ctx, r.Actor), Reason: r.Reason, At: u.Now, Until: r.Until}
		if created = before == nil || before.End(u.Now) != 0; created {
			all, of, err := e.pauseStore.CountPauses(u.Ctx, u.Tx, r.Target.Namespace)
			switch {
			case err != nil:
				return err
			case all >= maxPauses:
				return tooManyPauses(fmt.Sprintf("%d pauses are in force", all))
			case of >= maxPausesOf:
				return tooManyPauses(fmt.Sprintf("%d pauses are in force in the namespace %q", of, r.Target.Namespace))
			}
		} else {
			p.At = before.At
		}
		if err := actOnPause(u, task.ActPause, p, p.Actor, p.Reason); err != nil {
			return err
		}
		if err := e.pauseStore.SavePause(u.Ctx, u.Tx, p); err != nil {
			return err
		}
		return TellEvent(u, deadletter.PauseHappened(deadletter.EventPauseBegun, p, u.Now))
	})
	return p, created, err
}

func tooManyPauses(are string) error {
	return &task.Error{Code: task.Exhausted, Message: are + ", the most there may be",
		Hint: "resume what need not wait, or pause the handlers or the namespace as a whole"}
}

// ResumePaused ends the pause of one target, not wider ones, and stores the act. NotFound: the target is not paused.
// Invalid: every problem with its field.
func (e *Kernel) ResumePaused(ctx context.Context, target task.PauseTarget, actor, reason string) (*task.Pause, error) {
	problems := append(target.Faults(), check.Renamed(CheckActor(actor, reason), "/actor", "/resumed_by")...)
	if len(problems) > 0 {
		return nil, check.Refusal("nothing was resumed", problems)
	}
	var p *task.Pause
	err := e.changePauses(ctx, "resume", func(u *Unit) (err error) {
		if p, err = e.pauseStore.FindPause(u.Ctx, u.Tx, target); err != nil {
			return err
		}
		if p == nil || p.End(u.Now) != 0 {
			return task.Errorf(task.NotFound, "%s is not paused", target)
		}
		return endPause(u, p, u.Now, ActorOf(ctx, actor), reason)
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

func endPause(u *Unit, p *task.Pause, at task.Instant, actor, reason string) error {
	p.EndedAt, p.EndedBy, p.EndReason = at, actor, reason
	if err := actOnPause(u, task.ActResume, p, actor, reason); err != nil {
		return err
	}
	if err := u.E.pauseStore.SavePause(u.Ctx, u.Tx, p); err != nil {
		return err
	}
	return TellEvent(u, deadletter.PauseHappened(deadletter.EventPauseEnded, p, u.Now))
}

func actOnPause(u *Unit, kind string, p *task.Pause, actor, reason string) error {
	data, err := json.Marshal(actTarget{p.Kind, p.Name, task.SplitCapabilities(p.Capabilities), ActTime(p.Until)})
	if err != nil {
		return fmt.Errorf("encode act: %w", err)
	}
	act := task.Act{At: u.Now, Kind: kind, Actor: actor, Reason: cmp.Or(reason, NoReason), Namespace: p.Namespace,
		From: "active", To: "paused", Data: data}
	if kind == task.ActResume {
		act.From, act.To = act.To, act.From
	}
	if p.Kind == task.PauseTemplate {
		act.Template = p.Name
	}
	u.Records.Acts = append(u.Records.Acts, act)
	return nil
}

func (e *Kernel) closuresChanged(u *Unit) error {
	// no two changes leave the same text
	return e.NoteStore.Note(u.Ctx, u.Tx, pausesNote, strconv.FormatUint(rand.Uint64(), 36))
}

func (e *Kernel) changePauses(ctx context.Context, verb string, change func(u *Unit) error) error {
	err := e.Write(ctx, verb, func(u *Unit) error {
		if err := change(u); err != nil {
			return err
		}
		return u.E.closuresChanged(u)
	})
	if err != nil {
		return err
	}
	e.Publish(PeerEvents{Pauses: true})
	// The pause is stored; on an error the upkeep loop reads it later.
	_ = e.RefreshPauses(context.WithoutCancel(ctx))
	return nil
}

// RefreshPauses reads changed pauses and outages, and applies begun and ended ones. Upkeep calls it at an interval,
// and events of other processes do. Without its event, a process follows a change within
// settings.Config.PollInterval.
func (e *Kernel) RefreshPauses(ctx context.Context) error {
	p := &e.pauses
	p.mu.Lock()
	defer p.mu.Unlock()
	version, err := e.NoteStore.FindNote(ctx, pausesNote)
	if err != nil {
		return fmt.Errorf("look for pauses: %w", err)
	}
	now, known := e.Now(), e.Catalog.Closures.Load()
	if p.read && p.version == version && (known.next == 0 || known.next > now) {
		return nil
	}
	if !p.read || p.version != version {
		rows, err := e.pauseStore.Pauses(ctx, maxPausesKept)
		if err != nil {
			return fmt.Errorf("read pauses: %w", err)
		}
		outages, err := e.readOutages(ctx)
		if err != nil {
			return fmt.Errorf("read outages: %w", err)
		}
		p.rows, p.outages, p.version, p.read = rows, outages, version, true
	}
	c := closuresAt(p.rows, p.outages, now)
	e.Catalog.close(c)
	e.noteProbes(c)
	return nil
}

// forget makes the next refresh read the pauses, which stay in force until then.
func (p *pauses) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read = false
}

// EndPauses stores the end of up to limit pauses, with an act of the system, deletes up to limit old ones, and
// returns their number. The ends take effect without it. A *due.Error lists skipped pauses.
func (e *Kernel) EndPauses(ctx context.Context, limit int) (int, error) {
	now := e.Now()
	e.pauses.mu.Lock()
	rows := e.pauses.rows
	e.pauses.mu.Unlock()
	var over []task.PauseTarget
	old := false
	for _, p := range rows {
		if p.EndedAt == 0 && p.End(now) != 0 {
			over = append(over, p.PauseTarget)
		}
		old = old || p.EndedAt != 0 && p.EndedAt < now.Add(-pauseKept)
	}
	over, err := e.due.pauses.Read(e.Now(), limit, func(int) ([]task.PauseTarget, error) { return over, nil })
	if err != nil {
		return 0, err
	}
	stepped := e.due.pauses.Try(ctx, e.Now(), over, e.endPauses)
	if !old || stepped != nil && !due.OnlyRows(stepped) {
		return len(over), stepped
	}
	dropped := 0
	err = e.changePauses(ctx, "drop_pauses", func(u *Unit) (err error) {
		dropped, err = e.pauseStore.DropPauses(u.Ctx, u.Tx, u.Now.Add(-pauseKept), limit)
		return err
	})
	return max(len(over), dropped), cmp.Or(err, stepped)
}

func (e *Kernel) endPauses(ctx context.Context, targets []task.PauseTarget) error {
	return e.changePauses(ctx, "end_pauses", func(u *Unit) error {
		for _, target := range targets {
			p, err := e.pauseStore.FindPause(u.Ctx, u.Tx, target)
			if err != nil {
				return err
			}
			if p == nil || p.EndedAt != 0 || p.End(u.Now) == 0 {
				continue // an operator has changed it
			}
			if err := endPause(u, p, p.Until, System, "its time is over"); err != nil {
				return err
			}
		}
		return nil
	})
}

// PauseFilter selects pauses. Zero fields match all.
type PauseFilter struct {
	Kind       task.PauseKind
	Namespaces []string
	After      task.PauseTarget // exclusive
	Limit      int
}

// Pauses returns the pauses in force within the key's reach, by target, and whether there are more. Invalid: a limit
// outside of 1 to Limits.PageItems.
func (e *Kernel) Pauses(ctx context.Context, f PauseFilter) ([]task.Pause, bool, error) {
	if err := check.Page(f.Limit, 0, e.Cfg.Limits.PageItems); err != nil {
		return nil, false, err
	}
	rows, err := e.pauseStore.Pauses(ctx, maxPausesKept)
	if err != nil {
		return nil, false, fmt.Errorf("read pauses: %w", err)
	}
	now, key, pass := e.Now(), access.From(ctx), Passing(f.Namespaces)
	rows = slices.DeleteFunc(rows, func(p task.Pause) bool {
		return p.End(now) != 0 || !pass(p.Namespace) || !key.Reaches(p.Namespace) || f.Kind != "" && p.Kind != f.Kind ||
			p.Compare(f.After) <= 0
	})
	slices.SortFunc(rows, func(a, b task.Pause) int { return a.Compare(b.PauseTarget) })
	return rows[:min(f.Limit, len(rows))], len(rows) > f.Limit, nil
}

// ClosedBy returns the pause that closes a route in this process, or nil. The caller must not change it.
func (e *Kernel) ClosedBy(r *task.Route) *task.Pause { return e.Catalog.Closures.Load().of(r) }

// ClosedRoutes counts the routes that pauses close in this process.
func (e *Kernel) ClosedRoutes() (n int) {
	closed, c := e.Catalog.closed.Load(), e.Catalog.Closures.Load()
	if closed == nil {
		return 0
	}
	for id := range *closed {
		if r := e.Catalog.RouteByID(id); r != nil && c.of(r) != nil {
			n++
		}
	}
	return n
}
