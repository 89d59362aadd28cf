package scheduler

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/schedule"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Store is all that a Scheduler stores. Package store implements it once, for every SQL database. A method that takes a
// transaction is part of it; the others answer from a committed state.
//
// Everybody locks schedules, in the order of their IDs, before their firings and before tasks.
type Store interface {
	Rows
	FiringRows
	Reader
}

// Rows are schedules in a transaction.
type Rows interface {
	// Schedules returns schedules, locked, in the order of their IDs; those that do not exist are left out.
	Schedules(ctx context.Context, tx engine.Tx, ids []task.ID) ([]*schedule.Schedule, error)
	// ScheduleNamed returns a schedule, locked, or nil.
	ScheduleNamed(ctx context.Context, tx engine.Tx, namespace, name string) (*schedule.Schedule, error)
	// AddSchedule stores a new schedule. Conflict: there is one of that name.
	AddSchedule(ctx context.Context, tx engine.Tx, s *schedule.Schedule) error
	// SaveSchedule stores a schedule that is locked, whole.
	SaveSchedule(ctx context.Context, tx engine.Tx, s *schedule.Schedule) error
	// SaveDecided stores how far schedules that are locked were decided about: Decided, Wake, Pause and Trouble.
	SaveDecided(ctx context.Context, tx engine.Tx, list []*schedule.Schedule) error
	// DropSchedule deletes a schedule that is locked, with its firings and skips.
	DropSchedule(ctx context.Context, tx engine.Tx, id task.ID) error
	// CountSchedules counts the schedules of a namespace.
	CountSchedules(ctx context.Context, tx engine.Tx, namespace string) (int, error)
}

// FiringRows are firings and skips in a transaction in which their schedules are locked.
type FiringRows interface {
	// AddFirings stores new firings. One whose key is taken fails the transaction.
	AddFirings(ctx context.Context, tx engine.Tx, list []Firing) error
	// SaveFirings stores State, Kind, Task, SubmittedAt and Error of firings.
	SaveFirings(ctx context.Context, tx engine.Tx, list []Firing) error
	AddSkips(ctx context.Context, tx engine.Tx, list []Skip) error
	// OpenFirings returns the firings of schedules that wait, and those whose tasks run, by schedule and time.
	OpenFirings(ctx context.Context, tx engine.Tx, ids []task.ID) ([]Firing, error)
	// FiredBetween returns the firings of schedules in a range of times, both ends included.
	FiredBetween(ctx context.Context, tx engine.Tx, ids []task.ID, first, last task.Instant) ([]Firing, error)
	// SettleFirings ends those of the firings whose tasks have ended.
	SettleFirings(ctx context.Context, tx engine.Tx, list []Firing) error
	// TrimFirings deletes all but the latest firings that have ended, and all but the latest skips, of schedules.
	TrimFirings(ctx context.Context, tx engine.Tx, ids []task.ID, firings, skips int) error
}

// Reader answers queries.
type Reader interface {
	// FindSchedule returns a schedule, or nil.
	FindSchedule(ctx context.Context, namespace, name string) (*schedule.Schedule, error)
	// ListSchedules returns a page by namespace and name.
	ListSchedules(ctx context.Context, f Filter) ([]*schedule.Schedule, error)
	// WakeTimes returns the schedules that wake first, in that order.
	WakeTimes(ctx context.Context, limit int) ([]Wake, error)
	// AnySchedules returns IDs of schedules above one, in order.
	AnySchedules(ctx context.Context, above task.ID, limit int) ([]task.ID, error)
	// LastFirings returns the latest firing of each of some schedules.
	LastFirings(ctx context.Context, ids []task.ID) (map[task.ID]*Firing, error)
	// EndedFirings returns up to limit firings that run, but whose tasks have ended.
	EndedFirings(ctx context.Context, limit int) ([]Firing, error)
	// ListFirings and ListSkips return those of a schedule before a time, the latest first.
	ListFirings(ctx context.Context, id task.ID, before task.Instant, limit int) ([]Firing, error)
	ListSkips(ctx context.Context, id task.ID, before task.Instant, limit int) ([]Skip, error)
}

// Wake is when a schedule is to be decided about.
type Wake struct {
	ID task.ID
	At task.Instant
}

// Filter selects a page of schedules. Zero fields do not restrict.
type Filter struct {
	Namespace string
	// AfterNamespace and AfterName are the last ones of the page before.
	AfterNamespace, AfterName string
	Limit                     int
}

// Kind says why there is a firing.
type Kind string

// The kinds of firings.
const (
	KindTime     Kind = "time"     // its time came
	KindMissed   Kind = "missed"   // its time came during an outage; it was made up for
	KindRun      Kind = "run"      // an operator ran it
	KindBackfill Kind = "backfill" // an operator filled a range
)

// FiringState is the state of a firing.
type FiringState string

// The states of firings.
const (
	Waiting FiringState = "waiting" // for the task of an earlier firing
	Running FiringState = "running" // its task was submitted
	Ended   FiringState = "ended"   // its task has ended; Outcome is its state
	Refused FiringState = "refused" // its task could not be submitted; Error says why
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
	// Outcome is the state of the task, as far as it is known: that of now, or that in which it ended if it is gone.
	Outcome task.State
	Error   string
}

// Skip is a run of times that did not fire.
type Skip struct {
	Schedule task.ID
	schedule.Skip

	DecidedAt task.Instant
}
