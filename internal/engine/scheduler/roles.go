package scheduler

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/schedule"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Store is all storage of a Scheduler, implemented in package store. A method with a transaction is part of it;
// others read a committed state.
//
// All lock schedules, by ID, before their firings and before tasks.
type Store interface {
	Rows
	FiringRows
	Reader
}

// Rows are schedules in a transaction.
type Rows interface {
	// Schedules returns existing schedules, locked, by ID.
	Schedules(ctx context.Context, tx engine.Tx, ids []task.ID) ([]*schedule.Schedule, error)
	// ScheduleNamed returns a schedule, locked, or nil.
	ScheduleNamed(ctx context.Context, tx engine.Tx, namespace, name string) (*schedule.Schedule, error)
	// AddSchedule returns Conflict for an existing name.
	AddSchedule(ctx context.Context, tx engine.Tx, s *schedule.Schedule) error
	// SaveSchedule stores a locked schedule, whole.
	SaveSchedule(ctx context.Context, tx engine.Tx, s *schedule.Schedule) error
	// SaveDecided stores Decided, Wake, Pause and Trouble of locked schedules.
	SaveDecided(ctx context.Context, tx engine.Tx, list []*schedule.Schedule) error
	// DropSchedule deletes a locked schedule, with its firings and skips.
	DropSchedule(ctx context.Context, tx engine.Tx, id task.ID) error
	CountSchedules(ctx context.Context, tx engine.Tx, namespace string) (int, error)
}

// FiringRows are firings and skips of locked schedules.
type FiringRows interface {
	// AddFirings fails the transaction if a key is taken.
	AddFirings(ctx context.Context, tx engine.Tx, list []Firing) error
	// SaveFirings stores State, Kind, Task, SubmittedAt and Error.
	SaveFirings(ctx context.Context, tx engine.Tx, list []Firing) error
	AddSkips(ctx context.Context, tx engine.Tx, list []Skip) error
	// OpenFirings returns waiting firings, and those with running tasks, by schedule and time.
	OpenFirings(ctx context.Context, tx engine.Tx, ids []task.ID) ([]Firing, error)
	// FiredBetween includes both ends.
	FiredBetween(ctx context.Context, tx engine.Tx, ids []task.ID, first, last task.Instant) ([]Firing, error)
	SettleFirings(ctx context.Context, tx engine.Tx, list []Firing) error
	// TrimFirings keeps the latest ended firings and skips.
	TrimFirings(ctx context.Context, tx engine.Tx, ids []task.ID, firings, skips int) error
}

// Reader answers queries.
type Reader interface {
	FindSchedule(ctx context.Context, namespace, name string) (*schedule.Schedule, error)
	// ListSchedules returns a page by namespace and name.
	ListSchedules(ctx context.Context, f Filter) ([]*schedule.Schedule, error)
	// WakeTimes returns the schedules that wake first, in order.
	WakeTimes(ctx context.Context, limit int) ([]Wake, error)
	AnySchedules(ctx context.Context, above task.ID, limit int) ([]task.ID, error)
	LastFirings(ctx context.Context, ids []task.ID) (map[task.ID]*Firing, error)
	// EndedFirings returns up to limit running firings whose tasks have ended.
	EndedFirings(ctx context.Context, limit int) ([]Firing, error)
	// ListFirings and ListSkips return those before a time, latest first.
	ListFirings(ctx context.Context, id task.ID, before task.Instant, limit int) ([]Firing, error)
	ListSkips(ctx context.Context, id task.ID, before task.Instant, limit int) ([]Skip, error)
}

// Wake is the time of a schedule's next decision.
type Wake struct {
	ID task.ID
	At task.Instant
}

// Filter selects a page of schedules. Zero fields match all.
type Filter struct {
	Namespace                 string
	AfterNamespace, AfterName string
	Limit                     int
}

// Kind is the reason of a firing.
type Kind string

// The kinds of firings.
const (
	KindTime     Kind = "time"
	KindMissed   Kind = "missed"   // made up for after an outage
	KindRun      Kind = "run"      // by an operator
	KindBackfill Kind = "backfill" // by an operator, for a range
)

// FiringState is the state of a firing.
type FiringState string

// The states of firings.
const (
	Waiting FiringState = "waiting" // for an earlier firing's task
	Running FiringState = "running" // submitted
	Ended   FiringState = "ended"   // Outcome is the task's state
	Refused FiringState = "refused" // not submitted; see Error
)

// Firing is one time of a schedule, and its task.
type Firing struct {
	Schedule    task.ID
	At          task.Instant
	Kind        Kind
	State       FiringState
	Task        task.ID // zero without one
	DecidedAt   task.Instant
	SubmittedAt task.Instant
	// Outcome is the task's last known state.
	Outcome task.State
	Error   string
}

// Skip is a run of times that did not fire.
type Skip struct {
	Schedule task.ID
	schedule.Skip

	DecidedAt task.Instant
}
