package scenario_test

import (
	"fmt"

	"github.com/taskerhq/tasker/internal/engine/scheduler"
	"github.com/taskerhq/tasker/internal/model/cron"
	spec "github.com/taskerhq/tasker/internal/model/schedule"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/sealed"
)

func (d *onDatabase) scheduler() *scheduler.Scheduler {
	db := d.world.store.(scheduler.Database)
	if of, is := d.seals.(*sealed.Seals); is {
		db = of.Schedules(db)
	}
	return scheduler.New(db, d.engine, scheduler.Options{Parse: cron.Parse})
}

func (d *onDatabase) saveSchedule(a *args) ([]string, error) {
	name, err := a.place(0, "the schedule")
	if err != nil {
		return nil, err
	}
	s := &spec.Spec{Namespace: "default", Name: name, Cron: a.text("cron"), TaskType: a.text("type"),
		Template: a.text("template"), Overlap: spec.Overlap(a.text("overlap")),
		Missed: spec.Missed(a.text("missed")), OrderingKey: a.text("order"), TimeField: a.text("time_field")}
	if c, ok := a.get("context"); ok {
		s.Context = []byte(c)
	}
	if _, ok := a.get("max_retries"); ok {
		s.MaxRetries = new(int)
		if err := a.number("max_retries", s.MaxRetries); err != nil {
			return nil, err
		}
	}
	if err := a.number("missed_limit", &s.MissedLimit); err != nil {
		return nil, err
	}
	_, err = d.scheduler().Save(d.ctx, s, scheduler.By{}, false)
	return nil, err
}

func (d *onDatabase) fire(*args) ([]string, error) {
	s := d.scheduler()
	for {
		_, more, err := s.Fire(d.ctx)
		if err != nil || !more {
			return nil, err
		}
	}
}

func (d *onDatabase) backfill(a *args) ([]string, error) {
	name, err := a.place(0, "the schedule")
	if err != nil {
		return nil, err
	}
	from, until := d.now.Sub(start), d.now.Sub(start)
	if err := firstError(a.duration("from", &from), a.duration("until", &until)); err != nil {
		return nil, err
	}
	out, err := d.scheduler().Backfill(d.ctx, "default", name, scheduler.BackfillRequest{From: task.At(start.Add(from)),
		Until: task.At(start.Add(until)), Overlap: spec.Overlap(a.text("overlap"))}, scheduler.By{})
	if err != nil {
		return nil, err
	}
	return []string{fmt.Sprintf("fired=%d refused=%d known=%d", out.Fired, out.Refused, out.Known)}, nil
}

// showFirings lists the latest firing first and names the tasks NAME0, NAME1 ..., the earliest first.
func (d *onDatabase) showFirings(a *args) ([]string, error) {
	name, err := a.place(0, "the schedule")
	if err != nil {
		return nil, err
	}
	s := d.scheduler()
	h, err := s.History(d.ctx, "default", name, 0, 100)
	if err != nil {
		return nil, err
	}
	of, err := s.Schedule(d.ctx, "default", name)
	if err != nil {
		return nil, err
	}
	var out []string
	for i, f := range h.Firings {
		as := fmt.Sprint(name, len(h.Firings)-1-i)
		if !f.Task.IsZero() {
			d.tasks[as] = f.Task
		}
		out = append(out, as+" "+line([]field{{"kind", string(f.Kind)}, {"at", d.sinceStart(f.At)},
			{"state", string(f.State)}, {"task", string(f.Outcome)}, {"error", uuids.ReplaceAllString(f.Error, "ID")}}))
	}
	for _, skip := range h.Skips {
		out = append(out, fmt.Sprintf("%s %s..%s %d", skip.Reason, d.sinceStart(skip.First), d.sinceStart(skip.Last),
			skip.Count))
	}
	if of.Trouble != "" {
		out = append(out, "trouble "+of.Trouble)
	}
	return out, nil
}
