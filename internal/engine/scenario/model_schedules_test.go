package scenario_test

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/scheduler"
	"github.com/taskerhq/tasker/internal/model/cron"
	spec "github.com/taskerhq/tasker/internal/model/schedule"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/sealed"
)

// modelBatch is the tasks of one call: fewer than schedules have due after a while.
const modelBatch = 8

// schedules has a memory that ends with a restart.
func (w *world) schedules() *scheduler.Scheduler {
	if w.planner != nil {
		return w.planner
	}
	store := w.store
	if d, is := store.(dispatched); is {
		store = d.Database
	}
	db, is := store.(scheduler.Database)
	if !is {
		if w.rows == nil {
			w.rows = newRowsOfSchedules(store)
		}
		db = w.rows
	}
	if of, is := w.seals.(*sealed.Seals); is {
		db = of.Schedules(db)
	}
	w.planner = scheduler.New(db, w.engine, scheduler.Options{Parse: cron.Parse})
	return w.planner
}

// fire requires that no schedule stays due, unless it cannot be decrypted.
func (w *world) fire() ([]string, error) {
	s := w.schedules()
	for more := true; more; {
		var err error
		_, more, err = s.Fire(w.ctx)
		if w.fails(err) {
			return nil, fmt.Errorf("schedules do not fire: %w", err)
		}
	}
	list, err := s.Schedules(w.ctx, scheduler.Filter{Limit: 100})
	var said []string
	for _, of := range list {
		_, _, unread := task.WhyUnopened(of.Spec.Context)
		if now := w.engine.Now(); of.Pause == nil && of.Wake != 0 && of.Wake <= now && !unread {
			return nil, fmt.Errorf("the schedule %s is due since %v, and does not fire: %s", of.Spec.Name, now.Sub(of.Wake),
				of.Trouble)
		}
		h, err := s.History(w.ctx, of.Spec.Namespace, of.Spec.Name, 0, 1000)
		if err != nil {
			return nil, err
		}
		said = append(said, fmt.Sprint(of.Spec.Name, of.Version, of.Decided, of.Wake, of.Pause != nil))
		for _, f := range h.Firings {
			said = append(said, fmt.Sprint(f.At, f.Kind, f.State, f.Task, f.DecidedAt, f.SubmittedAt, f.Outcome))
		}
		for _, k := range h.Skips {
			said = append(said, fmt.Sprint(k.Reason, k.First, k.Last, k.Count, k.DecidedAt))
		}
	}
	return said, err
}

func (m *model) fire() error {
	if _, err := both(m, (*world).fire); err != nil {
		return err
	}
	s := m.worlds[0].schedules()
	list, err := s.Schedules(m.worlds[0].ctx, scheduler.Filter{Limit: 100})
	var fired []task.ID
	for _, of := range list {
		h, err := s.History(m.worlds[0].ctx, of.Spec.Namespace, of.Spec.Name, 0, 1000)
		if err != nil {
			return err
		}
		for _, f := range h.Firings {
			if !f.Task.IsZero() && f.Outcome != "" && !slices.Contains(m.tasks, f.Task) {
				fired = append(fired, f.Task)
			}
		}
	}
	slices.SortFunc(fired, func(a, b task.ID) int { return bytes.Compare(a[:], b[:]) })
	m.tasks = append(m.tasks, fired...)
	return err
}

// schedule saves a schedule, which fires for some minutes; or pauses, resumes, runs or removes one.
func (m *model) schedule(o op) error {
	name := fmt.Sprint("s", o.n[0]%3)
	act := func(w *world) (any, error) {
		s := w.schedules()
		switch o.n[1] % 8 {
		case 0:
			return nil, s.Remove(w.ctx, engine.DefaultNamespace, name, scheduler.By{})
		case 1:
			_, err := s.Pause(w.ctx, engine.DefaultNamespace, name, w.engine.Now().Add(5*time.Minute), scheduler.By{})
			return nil, err
		case 2:
			_, err := s.Resume(w.ctx, engine.DefaultNamespace, name, scheduler.By{})
			return nil, err
		case 3:
			f, err := s.Run(w.ctx, engine.DefaultNamespace, name, "", scheduler.By{})
			if err != nil {
				return nil, err
			}
			return fmt.Sprint(f.At, f.State, f.Task), nil
		}
		of := &spec.Spec{Namespace: engine.DefaultNamespace, Name: name, Cron: "* * * * *",
			End: w.engine.Now().Add(10 * time.Minute), Overlap: spec.Overlaps[o.n[2]%uint32(len(spec.Overlaps))],
			Missed: spec.MissedAll, MissedLimit: 10, TaskType: "h"}
		if o.n[3]%3 == 0 {
			of.TaskType, of.Template, of.Context = "", "sealed", []byte(`{"cards":[1],"secret":2}`)
		}
		_, err := s.Save(w.ctx, of, scheduler.By{}, false)
		return nil, err
	}
	if _, err := both(m, act, task.NotFound, task.WrongState, task.Conflict); err != nil {
		return err
	}
	return m.fire()
}
