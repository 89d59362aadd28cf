package httpapi_test

import (
	"context"
	"encoding/json"
	"time"

	"github.com/taskerhq/tasker/schedules"
)

type fakeSchedules struct{ f *fake }

var _ schedules.Backend = fakeSchedules{}

func cannedSchedule() *schedules.Schedule {
	return &schedules.Schedule{Spec: schedules.Spec{Namespace: "default", Name: "nightly", Cron: "0 3 * * *",
		TaskType: "report", Overlap: schedules.OverlapSkip, Missed: schedules.MissedSkip, Grace: 60},
		State: schedules.Paused, NextTimes: []time.Time{noon}, DecidedUntil: noon, CreatedAt: noon, UpdatedAt: noon,
		Paused: &schedules.SchedulePause{Actor: "ann", Reason: "migration", At: noon}, ETag: "3"}
}

func cannedFiring() *schedules.Firing {
	return &schedules.Firing{Time: noon, Kind: "time", State: schedules.FiringEnded, TaskState: "complete"}
}

func (b fakeSchedules) Save(_ context.Context, req schedules.ScheduleRequest) (*schedules.SavedSchedule, error) {
	return &schedules.SavedSchedule{Schedule: *cannedSchedule(), Outcome: schedules.Created,
		Changes: []schedules.ScheduleChange{{Field: "cron", Before: json.RawMessage("null"),
			After: json.RawMessage(`"0 3 * * *"`)}}}, b.f.note(req)
}

func (b fakeSchedules) Schedules(_ context.Context, f schedules.Filter) (*schedules.SchedulePage, error) {
	return &schedules.SchedulePage{Schedules: []schedules.Schedule{*cannedSchedule()}}, b.f.note(f)
}

func (b fakeSchedules) Schedule(_ context.Context, namespace, name string) (*schedules.Schedule, error) {
	return cannedSchedule(), b.f.note([]string{namespace, name})
}

func (b fakeSchedules) Firings(_ context.Context, _, _ string, f schedules.FiringFilter) (*schedules.FiringHistory,
	error,
) {
	return &schedules.FiringHistory{Firings: []schedules.Firing{*cannedFiring()},
		Skips: []schedules.FiringSkip{{Reason: "missed", First: noon, Last: noon, Times: 1}}}, b.f.note(f)
}

func (b fakeSchedules) Remove(_ context.Context, _, _ string, act schedules.ScheduleAct) error {
	return b.f.note(act)
}

func (b fakeSchedules) Pause(_ context.Context, _, _ string, req schedules.SchedulePauseRequest) (*schedules.Schedule,
	error,
) {
	return cannedSchedule(), b.f.note(req)
}

func (b fakeSchedules) Resume(_ context.Context, _, _ string, act schedules.ScheduleAct) (*schedules.Schedule, error) {
	return cannedSchedule(), b.f.note(act)
}

func (b fakeSchedules) Run(_ context.Context, _, _ string, req schedules.ScheduleRunRequest) (*schedules.Firing,
	error,
) {
	return cannedFiring(), b.f.note(req)
}

func (b fakeSchedules) Backfill(_ context.Context, _, _ string, req schedules.BackfillRequest) (*schedules.Backfill,
	error,
) {
	return &schedules.Backfill{Times: []time.Time{noon}, Fired: 1}, b.f.note(req)
}
