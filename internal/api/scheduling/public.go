// Package scheduling offers the use cases of schedules as a schedules.Backend: it converts public types to those of the
// domain and back.
package scheduling

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/refusal"
	"github.com/taskerhq/tasker/internal/engine/scheduler"
	"github.com/taskerhq/tasker/internal/model/schedule"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/schedules"
)

// Scheduler is the use cases, as *scheduler.Scheduler implements them; see there for their contracts.
type Scheduler interface {
	Save(ctx context.Context, spec *schedule.Spec, by scheduler.By, dry bool) (*scheduler.Saved, error)
	Remove(ctx context.Context, namespace, name string, by scheduler.By) error
	Operations
	Queries
}

// Operations are the acts on a schedule.
type Operations interface {
	Pause(ctx context.Context, namespace, name string, until task.Instant, by scheduler.By) (*schedule.Schedule, error)
	Resume(ctx context.Context, namespace, name string, by scheduler.By) (*schedule.Schedule, error)
	Run(ctx context.Context, namespace, name string, overlap schedule.Overlap, by scheduler.By) (*scheduler.Firing, error)
	Backfill(ctx context.Context, namespace, name string, req scheduler.BackfillRequest, by scheduler.By) (
		*scheduler.Backfilled, error)
}

// Queries read schedules.
type Queries interface {
	Schedule(ctx context.Context, namespace, name string) (*scheduler.Status, error)
	Schedules(ctx context.Context, f scheduler.Filter) ([]scheduler.Status, error)
	History(ctx context.Context, namespace, name string, before task.Instant, limit int) (*scheduler.History, error)
}

// Backend implements schedules.Backend.
type Backend struct {
	scheduler Scheduler
	pageItems int
}

var _ schedules.Backend = (*Backend)(nil)

// New returns a Backend on use cases. pageItems bounds a page.
func New(s Scheduler, pageItems int) *Backend { return &Backend{s, pageItems} }

const (
	defaultNamespace = "default"
	defaultPage      = 100
)

// Save implements schedules.Backend.
func (b *Backend) Save(ctx context.Context, req schedules.ScheduleRequest) (*schedules.SavedSchedule, error) {
	var r reader
	spec, by := r.spec(&req.Spec), r.by(req.ScheduleAct)
	if err := r.err(); err != nil {
		return nil, err
	}
	saved, err := b.scheduler.Save(ctx, spec, by, req.DryRun)
	if err != nil {
		return nil, refusal.ToError(err)
	}
	out := &schedules.SavedSchedule{DryRun: req.DryRun, Outcome: schedules.Unchanged, Changes: changes(saved),
		Schedule: shown(&scheduler.Status{Schedule: saved.After, Times: saved.Times,
			Next: saved.Times.Between(saved.After.Decided, math.MaxInt64, 10)})}
	switch {
	case saved.Before == nil:
		out.Outcome = schedules.Created
	case saved.Changed():
		out.Outcome = schedules.Changed
	}
	return out, nil
}

// Remove implements schedules.Backend.
func (b *Backend) Remove(ctx context.Context, namespace, name string, act schedules.ScheduleAct) error {
	var r reader
	by := r.by(act)
	if err := r.err(); err != nil {
		return err
	}
	return refusal.ToError(b.scheduler.Remove(ctx, cmp.Or(namespace, defaultNamespace), name, by))
}

// Pause implements schedules.Backend.
func (b *Backend) Pause(ctx context.Context, namespace, name string, req schedules.SchedulePauseRequest,
) (*schedules.Schedule, error) {
	var r reader
	by, until := r.by(req.ScheduleAct), r.time("/until", req.Until)
	if err := r.err(); err != nil {
		return nil, err
	}
	of, err := b.scheduler.Pause(ctx, cmp.Or(namespace, defaultNamespace), name, until, by)
	return b.acted(ctx, of, err)
}

// Resume implements schedules.Backend.
func (b *Backend) Resume(ctx context.Context, namespace, name string, act schedules.ScheduleAct,
) (*schedules.Schedule, error) {
	var r reader
	by := r.by(act)
	if err := r.err(); err != nil {
		return nil, err
	}
	of, err := b.scheduler.Resume(ctx, cmp.Or(namespace, defaultNamespace), name, by)
	return b.acted(ctx, of, err)
}

func (b *Backend) acted(ctx context.Context, of *schedule.Schedule, err error) (*schedules.Schedule, error) {
	if err != nil {
		return nil, refusal.ToError(err)
	}
	return b.Schedule(ctx, of.Spec.Namespace, of.Spec.Name)
}

// Run implements schedules.Backend.
func (b *Backend) Run(ctx context.Context, namespace, name string, req schedules.ScheduleRunRequest,
) (*schedules.Firing, error) {
	var r reader
	by := r.by(req.ScheduleAct)
	if err := r.err(); err != nil {
		return nil, err
	}
	f, err := b.scheduler.Run(ctx, cmp.Or(namespace, defaultNamespace), name, schedule.Overlap(req.Overlap), by)
	if err != nil {
		return nil, refusal.ToError(err)
	}
	return shownFiring(f), nil
}

// Backfill implements schedules.Backend.
func (b *Backend) Backfill(ctx context.Context, namespace, name string, req schedules.BackfillRequest,
) (*schedules.Backfill, error) {
	var r reader
	by := r.by(req.ScheduleAct)
	asked := scheduler.BackfillRequest{From: r.time("/from", &req.From), Until: r.time("/until", &req.Until),
		Overlap: schedule.Overlap(req.Overlap), Dry: req.DryRun}
	if err := r.err(); err != nil {
		return nil, err
	}
	of, err := b.scheduler.Backfill(ctx, cmp.Or(namespace, defaultNamespace), name, asked, by)
	if err != nil {
		return nil, refusal.ToError(err)
	}
	return &schedules.Backfill{Times: times(of.Times), Fired: of.Fired, Waiting: of.Waiting, Skipped: of.Skipped,
		Known: of.Known, Refused: of.Refused, DryRun: req.DryRun}, nil
}

// Schedule implements schedules.Backend.
func (b *Backend) Schedule(ctx context.Context, namespace, name string) (*schedules.Schedule, error) {
	of, err := b.scheduler.Schedule(ctx, cmp.Or(namespace, defaultNamespace), name)
	if err != nil {
		return nil, refusal.ToError(err)
	}
	out := shown(of)
	return &out, nil
}

// Schedules implements schedules.Backend. A full page has a cursor, so the last page may be empty.
func (b *Backend) Schedules(ctx context.Context, f schedules.Filter) (*schedules.SchedulePage, error) {
	var r reader
	filter := scheduler.Filter{Namespace: f.Namespace, Limit: r.limit(f.Limit, b.pageItems)}
	filter.AfterNamespace, filter.AfterName = r.names(f.Cursor)
	if err := r.err(); err != nil {
		return nil, err
	}
	list, err := b.scheduler.Schedules(ctx, filter)
	if err != nil {
		return nil, refusal.ToError(err)
	}
	page := &schedules.SchedulePage{Schedules: []schedules.Schedule{}}
	for i := range list {
		page.Schedules = append(page.Schedules, shown(&list[i]))
	}
	if n := len(list); n == filter.Limit {
		page.Cursor = base64.RawURLEncoding.EncodeToString([]byte(list[n-1].Spec.Namespace + "\x00" + list[n-1].Spec.Name))
	}
	return page, nil
}

// Firings implements schedules.Backend.
func (b *Backend) Firings(ctx context.Context, namespace, name string, f schedules.FiringFilter,
) (*schedules.FiringHistory, error) {
	var r reader
	limit := r.limit(f.Limit, b.pageItems)
	var before int64
	if f.Cursor != "" {
		var err error
		if before, err = strconv.ParseInt(f.Cursor, 10, 64); err != nil || before <= 0 {
			r.bad("query.cursor", "is not a cursor of this list")
		}
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	h, err := b.scheduler.History(ctx, cmp.Or(namespace, defaultNamespace), name, task.Instant(before), limit)
	if err != nil {
		return nil, refusal.ToError(err)
	}
	out := &schedules.FiringHistory{Firings: []schedules.Firing{}, Skips: []schedules.FiringSkip{}}
	for i := range h.Firings {
		out.Firings = append(out.Firings, *shownFiring(&h.Firings[i]))
	}
	for _, s := range h.Skips {
		out.Skips = append(out.Skips, schedules.FiringSkip{Reason: s.Reason, First: s.First.Time(), Last: s.Last.Time(),
			Times: s.Count, More: s.Capped})
	}
	if h.More {
		out.Cursor = strconv.FormatInt(int64(h.Before()), 10)
	}
	return out, nil
}

func shown(s *scheduler.Status) schedules.Schedule {
	out := schedules.Schedule{Spec: shownSpec(s.Spec), State: schedules.Active, NextTimes: times(s.Next),
		DecidedUntil: s.Decided.Time(), Trouble: s.Trouble, TroubleSince: s.TroubleAt.Ptr(), CreatedAt: s.CreatedAt.Time(),
		UpdatedAt: s.UpdatedAt.Time(), ETag: strconv.FormatInt(s.Version, 10)}
	if s.Last != nil {
		out.LastFiring = shownFiring(s.Last)
	}
	switch {
	case s.Times == nil:
		out.State = schedules.Broken
	case s.Schedule.Pause != nil:
		p := s.Schedule.Pause
		out.State, out.Paused = schedules.Paused, &schedules.SchedulePause{Actor: p.Actor, Reason: p.Reason, At: p.At.Time(),
			Until: p.Until.Ptr()}
	case len(s.Next) == 0:
		out.State = schedules.Over
	}
	return out
}

func shownSpec(s *schedule.Spec) schedules.Spec {
	return schedules.Spec{Namespace: s.Namespace, Name: s.Name, Description: s.Description, Cron: s.Cron,
		TimeZone: s.Zone, Jitter: s.Jitter.Seconds(), StartAt: s.Start.Ptr(), EndAt: s.End.Ptr(),
		Overlap: schedules.Overlap(s.Overlap), Missed: schedules.Missed(s.Missed), MissedLimit: s.MissedLimit,
		Grace: int(s.Grace / time.Second), Template: s.Template, TemplateVersion: s.Version, TaskType: s.TaskType,
		Context: s.Context, TimeField: s.TimeField, Priority: tasker.Priority(s.Priority), Tags: s.Tags,
		OrderingKey: s.OrderingKey, RequiredCapabilities: s.Capabilities, TimeoutSeconds: int(s.Timeout / time.Second),
		MaxRetries: s.MaxRetries}
}

// changes compares the stored and the new schedule, by the names of the API.
func changes(saved *scheduler.Saved) []schedules.ScheduleChange {
	list := []schedules.ScheduleChange{}
	var before schedules.Spec
	if saved.Before != nil {
		before = shownSpec(saved.Before.Spec)
	}
	after := shownSpec(saved.After.Spec)
	x, y := reflect.ValueOf(before), reflect.ValueOf(after)
	for i := range x.NumField() {
		if reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			continue
		}
		name, _, _ := strings.Cut(x.Type().Field(i).Tag.Get("json"), ",")
		change := schedules.ScheduleChange{Field: name, Before: valueOf(x.Field(i)), After: valueOf(y.Field(i))}
		if name == "context" && (before.Template != after.Template || before.TemplateVersion != after.TemplateVersion) {
			// Only the other template has its sensitive pointers.
			change.Before = json.RawMessage(`"(of another template)"`)
		}
		list = append(list, change)
	}
	return list
}

func valueOf(v reflect.Value) json.RawMessage {
	if v.IsZero() {
		return json.RawMessage("null")
	}
	b, err := json.Marshal(v.Interface())
	if err != nil { // cannot be: all settings can be encoded
		return json.RawMessage("null")
	}
	return b
}

func shownFiring(f *scheduler.Firing) *schedules.Firing {
	out := &schedules.Firing{Time: f.At.Time(), Kind: string(f.Kind), State: schedules.FiringState(f.State),
		TaskState: tasker.TaskState(f.Outcome), SubmittedAt: f.SubmittedAt.Ptr(), Error: f.Error}
	if !f.Task.IsZero() {
		id := uuid.UUID(f.Task)
		out.TaskUUID = &id
	}
	return out
}

func times(list []task.Instant) []time.Time {
	out := make([]time.Time, len(list))
	for i, at := range list {
		out[i] = at.Time()
	}
	return out
}
