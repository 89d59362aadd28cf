package kernel

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// All processes on a store use the order of ready steps in the store. A process that starts with another configured
// order replaces it; the others adopt it, and report the difference. A process without one (an embedded engine)
// adopts it. New ready steps get their keys from it; waiting steps are rekeyed (see rekey.go).

const schedulingNote = "scheduling"

// since distinguishes two orders of the same version.
type ordering struct {
	order   task.Scheduling
	version int
	since   task.Instant
}

// Times are microseconds.
type orderingText struct {
	Version     int                 `json:"version"`
	Since       task.Instant        `json:"since"`
	Mode        task.SchedulingMode `json:"mode"`
	AgingWeight int64               `json:"aging_weight,omitempty"`
	MaxWait     int64               `json:"max_wait,omitempty"`
	Promotions  []promotionText     `json:"promotions,omitempty"`
}

type promotionText struct {
	Level int   `json:"level"`
	After int64 `json:"after"`
}

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

// The process that stored the order has checked the configuration's rules.
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

// Order is the current order of ready steps.
func (e *Kernel) Order() task.Scheduling { return e.ordering.Load().order }

// OwnOrder reports whether the current order is the configured one, or none is configured.
func (e *Kernel) OwnOrder() bool { return e.follows || e.Order().Equal(e.Cfg.Order()) }

// EffectivePriority is the level at which a waiting step is handed out; for other steps, their own level.
func (e *Kernel) EffectivePriority(s *task.Step) int { return e.Order().Effective(s, e.Now()) }

// EffectivePriorityOf is the highest effective level of a task's waiting steps, or its own level. It reads the steps.
func (e *Kernel) EffectivePriorityOf(ctx context.Context, t *task.Task) (int, error) {
	if t.Counts.Active == 0 {
		return t.Priority, nil
	}
	steps, err := e.Store.FindSteps(ctx, t.ID)
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

func (e *Kernel) storedOrdering(ctx context.Context) (*ordering, error) {
	text, err := e.NoteStore.FindNote(ctx, schedulingNote)
	if err != nil {
		return nil, fmt.Errorf("look up the order in force: %w", err)
	}
	if text == "" {
		return nil, nil
	}
	return parseOrdering(text)
}

func (e *Kernel) followOrdering(ctx context.Context) error {
	o, err := e.storedOrdering(ctx)
	if err == nil && o != nil && o.id() != e.ordering.Load().id() {
		e.ordering.Store(o)
		e.rekeying.Store(true)
	}
	return err
}

func (o *ordering) id() orderingID { return orderingID{o.version, o.since} }

type orderingID struct {
	Version int          `json:"version"`
	Since   task.Instant `json:"since"`
}

// One transaction stores the note and starts rekeying, so no process sees a new order without the work.
func (e *Kernel) declareOrdering(ctx context.Context) error {
	was, err := e.storedOrdering(ctx)
	if err != nil {
		return err
	}
	e.rekeying.Store(true) // until all steps are known to be rekeyed
	now := &ordering{order: e.Cfg.Order(), version: 1, since: e.Now()}
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
			begin = nil // existing steps have keys of the strict order without promotions
		}
	}
	err = e.Transact(ctx, func(ctx context.Context, tx Tx) error {
		if err := e.NoteStore.Note(ctx, tx, schedulingNote, text); err != nil {
			return err
		}
		return noteRekeyPlace(ctx, e.NoteStore, tx, begin)
	})
	if err != nil {
		return fmt.Errorf("put the configured order in force: %w", err)
	}
	e.ordering.Store(now)
	return nil
}

// LongestTurn is the time of waiting for a worker that does not count against a task; 0: forever.
func (e *Kernel) LongestTurn() time.Duration {
	return e.Order().LongestTurn(e.Cfg.Scheduling.PromotionInterval)
}
