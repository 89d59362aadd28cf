package sealed

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/scheduler"
	"github.com/taskerhq/tasker/internal/kit/sensitive"
	"github.com/taskerhq/tasker/internal/kit/vault"
	"github.com/taskerhq/tasker/internal/model/schedule"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Schedules returns a database of schedules with contexts in clear text. Contexts are encrypted whole, for any
// template: a schedule may name the newest version, which later marks the sensitive parts.
func (s *Seals) Schedules(db scheduler.Database) scheduler.Database { return &schedulesDB{db, s} }

type schedulesDB struct {
	scheduler.Database
	seals *Seals
}

func (d *schedulesDB) ActStore() engine.ActStore { return &acts{d.Database.ActStore(), d.seals} }

func (d *schedulesDB) Schedules() scheduler.Store { return &schedules{d.Database.Schedules(), d.seals} }

type schedules struct {
	scheduler.Store
	seals *Seals
}

// store encrypts a schedule for a call, as a copy: its settings may be shared.
func (s *schedules) store(ctx context.Context, tx engine.Tx, of *schedule.Schedule,
	call func(context.Context, engine.Tx, *schedule.Schedule) error,
) error {
	if of.Spec == nil || len(of.Spec.Context) == 0 {
		return call(ctx, tx, of)
	}
	doc, err := s.seals.sealed(sensitive.All(), of.Spec.Context, place(vault.Schedule, of.ID))
	if err != nil {
		return err
	}
	clear, spec := of.Spec, *of.Spec
	spec.Context, of.Spec = doc, &spec
	defer func() { of.Spec = clear }()
	return call(ctx, tx, of)
}

func (s *schedules) AddSchedule(ctx context.Context, tx engine.Tx, of *schedule.Schedule) error {
	return s.store(ctx, tx, of, s.Store.AddSchedule)
}

func (s *schedules) SaveSchedule(ctx context.Context, tx engine.Tx, of *schedule.Schedule) error {
	return s.store(ctx, tx, of, s.Store.SaveSchedule)
}

func (s *schedules) open(of *schedule.Schedule) {
	if of != nil && of.Spec != nil && vault.Sealed(of.Spec.Context) {
		of.Spec.Context = s.seals.opened(of.Spec.Context, place(vault.Schedule, of.ID))
	}
}

func (s *schedules) opened(list []*schedule.Schedule, err error) ([]*schedule.Schedule, error) {
	for _, of := range list {
		s.open(of)
	}
	return list, err
}

func (s *schedules) Schedules(ctx context.Context, tx engine.Tx, ids []task.ID) ([]*schedule.Schedule, error) {
	return s.opened(s.Store.Schedules(ctx, tx, ids))
}

func (s *schedules) ScheduleNamed(ctx context.Context, tx engine.Tx, namespace, name string,
) (*schedule.Schedule, error) {
	of, err := s.Store.ScheduleNamed(ctx, tx, namespace, name)
	s.open(of)
	return of, err
}

func (s *schedules) FindSchedule(ctx context.Context, namespace, name string) (*schedule.Schedule, error) {
	of, err := s.Store.FindSchedule(ctx, namespace, name)
	s.open(of)
	return of, err
}

func (s *schedules) ListSchedules(ctx context.Context, f scheduler.Filter) ([]*schedule.Schedule, error) {
	return s.opened(s.Store.ListSchedules(ctx, f))
}
