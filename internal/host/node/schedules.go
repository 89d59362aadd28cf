package node

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/api/scheduling"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/scheduler"
	"github.com/taskerhq/tasker/internal/host/upkeep"
	"github.com/taskerhq/tasker/internal/model/cron"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/store/sealed"
	"github.com/taskerhq/tasker/schedules"
)

const (
	// A node wakes at its next known time. The interval is for changes by other nodes and operators.
	firingEvery = time.Second
	// Each run checks only some schedules, so a round may take a while.
	trimEvery = 30 * time.Second
)

// openSchedules returns the use cases of schedules and their loops; nil for a store without rows for them.
func openSchedules(s engine.Database, e *engine.Engine, seals engine.Seals, hooks *eventHooks, opts Options,
) (*scheduler.Scheduler, []upkeep.Loop) {
	db, ok := s.(scheduler.Database)
	if !ok {
		return nil, nil
	}
	if of, is := seals.(*sealed.Seals); is {
		db = of.Schedules(db)
	}
	of := scheduler.New(db, e, scheduler.Options{Parse: cron.Parse, Observer: opts.Firings,
		Tell: func(ctx context.Context, tx engine.Tx, events ...deadletter.Event) error {
			if err := hooks.StoreEvents(ctx, tx, events...); err != nil {
				return err
			}
			e.Announce(tx, events...)
			return nil
		}})
	return of, []upkeep.Loop{
		{Name: "schedules", Every: firingEvery, Once: of.Fire, Next: of.NextWake},
		{Name: "schedules_tidy", Every: trimEvery, Once: of.Tidy, Polite: true},
	}
}

// Schedules returns Scheduler in public types; nil likewise.
func (n *Node) Schedules() schedules.Backend {
	if n.schedules == nil {
		return nil
	}
	return scheduling.New(n.schedules, n.engine.Config().Limits.PageItems)
}

// Scheduler returns the use cases of schedules; nil for a store in memory.
func (n *Node) Scheduler() *scheduler.Scheduler { return n.schedules }
