package kernel

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine/check"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/model/task"
)

// An outage closes a route after many failures with one fingerprint. See closures for its effect, outage_bursts.go
// for its beginning, and outage_probes.go for its end.

const (
	maxOpenOutages   = 10_000
	maxClosedOutages = 10_000
	outagesKept      = 30 * 24 * time.Hour
)

type actOutage struct {
	Outage       string   `json:"outage_uuid"`
	Handler      string   `json:"handler"`
	Capabilities []string `json:"capabilities,omitempty"`
	Title        string   `json:"title,omitempty"`
	Failures     int      `json:"failures"`
}

func outageAct(kind string, o *task.Outage, actor, reason string, now task.Instant) (task.Act, error) {
	data, err := json.Marshal(actOutage{o.ID.String(), o.Handler, task.SplitCapabilities(o.Capabilities), o.Title,
		o.Failures})
	if err != nil {
		return task.Act{}, fmt.Errorf("encode act: %w", err)
	}
	act := task.Act{At: now, Kind: kind, Actor: actor, Reason: cmp.Or(reason, NoReason), Namespace: o.Namespace,
		From: string(OutageOpen), To: string(OutageClosed), Data: data}
	if kind == task.ActOpenOutage {
		act.From, act.To = "", string(OutageOpen)
	}
	return act, nil
}

// Limits on time count from the ends of closed outages, so readOutages includes recent ones.
func (e *Kernel) readOutages(ctx context.Context) ([]*task.Outage, error) {
	open, err := e.outageStore.Outages(ctx, OutageFilter{State: OutageOpen, Limit: maxOpenOutages})
	if err != nil {
		return nil, err
	}
	closed, err := e.outageStore.Outages(ctx, OutageFilter{State: OutageClosed, Limit: maxClosedOutages})
	return append(open, closed...), err
}

// OutageOf returns the open outage of a route in this process, or nil. The caller must not change it.
func (e *Kernel) OutageOf(r *task.Route) *task.Outage { return e.Catalog.Closures.Load().outages[r.ID] }

// OpenOutages counts the open outages in this process.
func (e *Kernel) OpenOutages() int { return len(e.Catalog.Closures.Load().outages) }

// ProbeDue returns when the next probe of an outage is due.
func (e *Kernel) ProbeDue(o *task.Outage) task.Instant {
	return o.ProbeDue(e.Now(), e.outages.rules())
}

// Outages returns a page of outages within the key's reach, newest first, and whether there are more. Invalid: a
// limit outside of 1 to Limits.PageItems.
func (e *Kernel) Outages(ctx context.Context, f OutageFilter) ([]*task.Outage, bool, error) {
	if err := check.Page(f.Limit, 0, e.Cfg.Limits.PageItems); err != nil {
		return nil, false, err
	}
	limit := f.Limit
	f.Limit++
	key := access.From(ctx)
	switch given := len(f.Namespaces) > 0; {
	case !given:
		f.Namespaces = key.Namespaces()
	default:
		f.Namespaces = slices.DeleteFunc(slices.Clone(f.Namespaces), func(n string) bool { return !key.Reaches(n) })
		if len(f.Namespaces) == 0 {
			return nil, false, nil
		}
	}
	list, err := e.outageStore.Outages(ctx, f)
	if err != nil {
		return nil, false, fmt.Errorf("read outages: %w", err)
	}
	return list[:min(limit, len(list))], len(list) > limit, nil
}

// Outage returns an outage. NotFound: there is none within the request's reach.
func (e *Kernel) Outage(ctx context.Context, id task.ID) (*task.Outage, error) {
	o, err := e.outageStore.FindOutage(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read outage: %w", err)
	}
	if o == nil || !access.From(ctx).Reaches(o.Namespace) {
		return nil, noOutage(id)
	}
	return o, nil
}

func noOutage(id task.ID) error { return task.Errorf(task.NotFound, "there is no outage %s", id) }

// CloseOutage closes an outage, with an act. A running probe continues. NotFound: there is no such outage. Conflict:
// it is not as expected. WrongState: it is closed. Invalid: every problem with its field.
func (e *Kernel) CloseOutage(ctx context.Context, id task.ID, actor, reason string, version int64,
) (*task.Outage, error) {
	if problems := check.Renamed(CheckActor(actor, reason), "/actor", "/closed_by"); len(problems) > 0 {
		return nil, check.Refusal("the outage was not closed", problems)
	}
	var o *task.Outage
	err := e.Write(ctx, "close_outage", func(u *Unit) (err error) {
		if o, err = e.outageStore.LockOutage(u.Ctx, u.Tx, id); err != nil {
			return err
		}
		switch {
		case o == nil || !access.From(ctx).Reaches(o.Namespace):
			return noOutage(id)
		case !o.Open():
			return task.Errorf(task.WrongState, "the outage %s is closed", id)
		case version != 0 && version != o.Version:
			return task.Errorf(task.Conflict, "the outage %s has changed: it has version %d", id, o.Version)
		}
		return outageSlot.Of(u).close(o, ActorOf(ctx, actor), cmp.Or(reason, NoReason))
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

// TidyOutages deletes up to limit old counts of failures, and up to limit outages closed long ago. It returns the
// larger number. One process at a time should call it.
func (e *Kernel) TidyOutages(ctx context.Context, limit int) (n int, err error) {
	err = e.Transact(ctx, func(ctx context.Context, tx Tx) error {
		now := e.Now()
		bursts, err := e.burstStore.DropBursts(ctx, tx, now.Add(-e.Cfg.OutageBreaker.Within), limit)
		if err != nil {
			return err
		}
		gone, err := e.outageStore.DropOutages(ctx, tx, now.Add(-outagesKept), limit)
		n = max(bursts, gone)
		return err
	})
	return n, err
}
