package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// One order of ready steps is in force for all processes that share a store; the store keeps it. A process that starts
// with another configuration puts its own order in force; the others adopt it, and report the difference. A process
// without a configured order (an engine that a program embeds beside the servers) adopts the stored one. Steps that
// become ready get their keys from the order in force at once; waiting steps are rekeyed (see rekey.go).

// schedulingNote is the key of the note that holds the order in force.
const schedulingNote = "scheduling"

// ordering is an order in force. version grows by one with each new order; since tells two of
// the same version apart.
type ordering struct {
	order   task.Scheduling
	version int
	since   task.Instant
}

// orderingText is the stored form of an ordering. Times are microseconds.
type orderingText struct {
	Version     int                 `json:"version"`
	Since       task.Instant        `json:"since"`
	Mode        task.SchedulingMode `json:"mode"`
	AgingWeight int64               `json:"aging_weight,omitempty"`
	MaxWait     int64               `json:"max_wait,omitempty"`
	Promotions  []promotionText     `json:"promotions,omitempty"`
}

// promotionText is the stored form of a promotion.
type promotionText struct {
	Level int   `json:"level"`
	After int64 `json:"after"`
}

// text encodes an ordering for the note.
func (o *ordering) text() (string, error) {
	t := orderingText{Version: o.version, Since: o.since, Mode: o.order.Mode,
		AgingWeight: o.order.AgingWeight.Microseconds(), MaxWait: o.order.MaxWait.Microseconds()}
	for _, p := range o.order.Promotions {
		t.Promotions = append(t.Promotions, promotionText{p.Level, p.After.Microseconds()})
	}
	b, err := json.Marshal(t)
	if err != nil {
		return "", fmt.Errorf("encode the order in force: %w", err)
	}
	return string(b), nil
}

// parseOrdering is the reverse of text. Rules of the configuration are not checked again: the
// process that stored the order has done so.
func parseOrdering(text string) (*ordering, error) {
	var t orderingText
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return nil, fmt.Errorf("read the order in force: %w", err)
	}
	span := func(us int64) time.Duration { return time.Duration(us) * time.Microsecond }
	o := &ordering{version: t.Version, since: t.Since,
		order: task.Scheduling{Mode: t.Mode, AgingWeight: span(t.AgingWeight), MaxWait: span(t.MaxWait)}}
	for _, p := range t.Promotions {
		o.order.Promotions = append(o.order.Promotions, task.Promotion{Level: p.Level, After: span(p.After)})
	}
	return o, nil
}

// Order is the order of ready steps that is in force.
func (e *Engine) Order() task.Scheduling { return e.ordering.Load().order }

// OwnOrder reports whether the order in force is the configured one, or none is configured. It is false when another
// process has put its own order in force later.
func (e *Engine) OwnOrder() bool { return e.follows || e.Order().Equal(e.cfg.Order()) }

// EffectivePriority is the level at which a waiting step is handed out; for any other step, its own level.
func (e *Engine) EffectivePriority(s *task.Step) int { return e.Order().Effective(s, e.instant()) }

// EffectivePriorityOf is the highest level at which one of a task's waiting steps is handed
// out; the task's own where none waits. It reads the steps of the task.
func (e *Engine) EffectivePriorityOf(ctx context.Context, t *task.Task) (int, error) {
	if t.Counts.Active == 0 {
		return t.Priority, nil
	}
	steps, err := e.store.FindSteps(ctx, t.ID)
	if err != nil {
		return 0, fmt.Errorf("look at the steps of task %s: %w", t.ID, err)
	}
	level, waits := 0, false
	for _, s := range steps {
		if s.OnRoute() {
			level, waits = max(level, e.EffectivePriority(s)), true
		}
	}
	if !waits {
		return t.Priority, nil
	}
	return level, nil
}

// storedOrdering returns the stored order in force; nil before the first.
func (e *Engine) storedOrdering(ctx context.Context) (*ordering, error) {
	text, err := e.noteStore.FindNote(ctx, schedulingNote)
	if err != nil {
		return nil, fmt.Errorf("look up the order in force: %w", err)
	}
	if text == "" {
		return nil, nil
	}
	return parseOrdering(text)
}

// followOrdering adopts the order in force.
func (e *Engine) followOrdering(ctx context.Context) error {
	o, err := e.storedOrdering(ctx)
	if err == nil && o != nil && o.id() != e.ordering.Load().id() {
		e.ordering.Store(o)
		e.rekeying.Store(true)
	}
	return err
}

// id distinguishes orders in force, including two that were put in force at once.
func (o *ordering) id() orderingID { return orderingID{o.version, o.since} }

// orderingID identifies an order in force.
type orderingID struct {
	Version int          `json:"version"`
	Since   task.Instant `json:"since"`
}

// declareOrdering puts the configured order in force, unless it already is. The note and the
// start of rekeying are one transaction, so no process sees a new order without the work that
// it needs.
func (e *Engine) declareOrdering(ctx context.Context) error {
	was, err := e.storedOrdering(ctx)
	if err != nil {
		return err
	}
	e.rekeying.Store(true) // until a check shows that all steps are rekeyed
	now := &ordering{order: e.cfg.Order(), version: 1, since: e.instant()}
	if was != nil {
		if e.follows || was.order.Equal(now.order) {
			e.ordering.Store(was)
			return nil
		}
		now.version = was.version + 1
	}
	text, err := now.text()
	if err != nil {
		return err
	}
	begin := &rekeyPlace{Of: now.id()}
	if was == nil {
		route, err := e.routeFrom(ctx, 0)
		if err != nil {
			return err
		}
		if route == 0 || now.order.Mode != task.Aging {
			begin = nil // existing steps, if any, have keys of the strict order, and none was promoted
		}
	}
	err = e.transact(ctx, func(ctx context.Context, tx Tx) error {
		if err := e.noteStore.Note(ctx, tx, schedulingNote, text); err != nil {
			return err
		}
		return noteRekeyPlace(ctx, e.noteStore, tx, begin)
	})
	if err != nil {
		return fmt.Errorf("put the configured order in force: %w", err)
	}
	e.ordering.Store(now)
	return nil
}
