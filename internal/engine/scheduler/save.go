package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/model/schedule"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Saved is the answer to Save.
type Saved struct {
	Before *schedule.Schedule // nil for a new schedule
	After  *schedule.Schedule
	Times  *schedule.Times
}

// Changed reports whether the save changes anything.
func (s *Saved) Changed() bool { return s.Before == nil || !sameSpec(s.Before.Spec, s.After.Spec) }

// Save adds a schedule, or replaces its settings. dry has no effect but the answer. Invalid: with a pointer for each
// fault. NotFound: the key does not reach the namespace. Conflict: another version. Exhausted: too many schedules.
//
// The old settings decide about due times. New times count from now on.
func (s *Scheduler) Save(ctx context.Context, spec *schedule.Spec, by By, dry bool) (*Saved, error) {
	spec = spec.WithDefaults()
	by, err := signed(ctx, by)
	if err != nil {
		return nil, err
	}
	times, err := s.check(ctx, spec)
	if err != nil {
		return nil, err
	}
	var saved *Saved
	for range planRuns {
		err = s.db.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
			saved, err = s.save(ctx, tx, spec, times, by, dry)
			return err
		})
		if task.CodeOf(err) != task.Conflict || by.Version != 0 {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	s.due.Passed(saved.After.ID) // its fault may be repaired
	return saved, nil
}

func (s *Scheduler) check(ctx context.Context, spec *schedule.Spec) (*schedule.Times, error) {
	problems := spec.Validate()
	if len(problems) == 0 && !access.From(ctx).Reaches(spec.Namespace) {
		return nil, task.Errorf(task.NotFound, "there is no namespace %q", spec.Namespace)
	}
	times, faults := schedule.Compile(spec, s.opts.Parse)
	for _, fault := range faults {
		if fault.Location != "/cron" || strings.TrimSpace(spec.Cron) != "" {
			problems = append(problems, fault)
		}
	}
	sub := submission(spec, s.tasks.Now(), KindTime)
	if err := s.tasks.CheckSubmissions(ctx, []engine.Submission{sub})[0]; err != nil {
		var e *task.Error
		if !errors.As(err, &e) || e.Code != task.Invalid {
			return nil, err
		}
		for _, p := range e.Problems {
			if at := fieldOf(p.Location); at != "/namespace" { // Validate has reported it
				problems = append(problems, task.Problem{Location: at, Message: p.Message})
			}
		}
	}
	if len(problems) > 0 {
		return nil, &task.Error{Code: task.Invalid, Message: "the schedule is not valid", Problems: problems}
	}
	return times, nil
}

// fieldOf maps a submission's pointer to the schedule's.
func fieldOf(location string) string {
	_, field, ok := strings.Cut(strings.TrimPrefix(location, "/tasks/"), "/")
	if !ok {
		return location
	}
	switch field {
	case "name":
		field = "template"
	case "version":
		field = "template_version"
	}
	return "/" + field
}

func (s *Scheduler) save(ctx context.Context, tx engine.Tx, spec *schedule.Spec, times *schedule.Times, by By, dry bool,
) (*Saved, error) {
	known, err := s.store.ScheduleNamed(ctx, tx, spec.Namespace, spec.Name)
	if err != nil {
		return nil, err
	}
	now := s.tasks.Now()
	saved := &Saved{Before: known, Times: times,
		After: &schedule.Schedule{Spec: spec, Version: 1, CreatedAt: now, UpdatedAt: now, Decided: now}}
	kind := "add_schedule"
	if known == nil {
		if err := by.expected(0); err != nil {
			return nil, err
		}
		if n, err := s.store.CountSchedules(ctx, tx, spec.Namespace); err != nil || n >= schedule.MaxPerNamespace {
			return nil, errors.Join(err, tooMany(n))
		}
	} else {
		if err := by.expected(known.Version); err != nil {
			return nil, err
		}
		next := *known
		if next.Spec = spec; !saved.changed(known, spec) {
			saved.After = &next
			return saved, nil
		}
		next.Version, next.UpdatedAt = known.Version+1, now
		next.Trouble, next.TroubleAt = "", 0
		if !known.Spec.SameTimes(spec) {
			next.Decided = max(known.Decided, now)
		}
		saved.After, kind = &next, "change_schedule"
	}
	after := saved.After
	after.Wake = wakeOf(after, times, now)
	if dry {
		return saved, nil
	}
	if known == nil {
		after.ID = s.db.IDs().Take(now.Time(), 1)
		err = s.store.AddSchedule(ctx, tx, after)
	} else {
		err = s.store.SaveSchedule(ctx, tx, after)
	}
	if err != nil {
		return nil, err
	}
	return saved, s.act(ctx, tx, act{kind: kind, by: by, of: after.Spec, before: shown(known), after: shown(after)})
}

func (*Saved) changed(known *schedule.Schedule, spec *schedule.Spec) bool {
	return !sameSpec(known.Spec, spec)
}

func tooMany(n int) error {
	if n < schedule.MaxPerNamespace {
		return nil
	}
	return task.Errorf(task.Exhausted, "the namespace has %d schedules; the limit is %d", n, schedule.MaxPerNamespace)
}

func sameSpec(a, b *schedule.Spec) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// wakeOf returns the next time, or the end of the pause.
func wakeOf(of *schedule.Schedule, times *schedule.Times, now task.Instant) task.Instant {
	if of.Pause != nil {
		return of.Pause.Until
	}
	next := times.Next(of.Decided)
	if next == 0 {
		return 0
	}
	return max(times.Due(next), now)
}

// shown omits the context, which may be confidential and is large.
func shown(of *schedule.Schedule) any {
	if of == nil {
		return nil
	}
	spec := *of.Spec
	spec.Context = nil
	return struct {
		*schedule.Spec

		ContextBytes int   `json:"context_bytes,omitempty"`
		Version      int64 `json:"version"`
	}{&spec, len(of.Spec.Context), of.Version}
}

type act struct {
	kind          string
	by            By
	of            *schedule.Spec
	input         any
	before, after any
}

func (s *Scheduler) act(ctx context.Context, tx engine.Tx, a act) error {
	data, err := json.Marshal(struct {
		Object string `json:"object"`
		Input  any    `json:"input,omitempty"`
		Before any    `json:"before,omitempty"`
		After  any    `json:"after,omitempty"`
	}{a.of.Name, a.input, nonNil(a.before), nonNil(a.after)})
	if err != nil {
		return fmt.Errorf("encode act: %w", err)
	}
	stored := task.Act{At: s.tasks.Now(), Namespace: a.of.Namespace, Template: a.of.Template, Kind: a.kind,
		Actor: a.by.Actor, Reason: a.by.Reason, Data: data}
	engine.SignAct(&stored, engine.KeyOf(ctx))
	return s.db.ActStore().AddActs(ctx, tx, []task.Act{stored})
}

func nonNil(v any) any {
	if r := reflect.ValueOf(v); r.Kind() == reflect.Pointer && r.IsNil() {
		return nil
	}
	return v
}
