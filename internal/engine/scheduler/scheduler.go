package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/due"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/schedule"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Database is the engine's database with the rows of schedules.
type Database interface {
	engine.Writer
	IDs() *task.Source
	ActStore() engine.ActStore
	Schedules() Store
}

// Tasks are the engine's verbs that a Scheduler uses.
type Tasks interface {
	// Now is the store's time.
	Now() task.Instant
	Config() settings.Config
	// SubmitEachWithin submits tasks in a transaction that write begins, with refusals in the receipts.
	SubmitEachWithin(ctx context.Context, subs []engine.Submission,
		write func(submit func(context.Context, engine.Tx) ([]engine.Receipt, error)) error) error
	CheckSubmissions(ctx context.Context, subs []engine.Submission) []error
	CancelIn(ctx context.Context, tx engine.Tx, ids []task.ID, c engine.Cancellation) ([]engine.Receipt, error)
}

// Observer receives results after the commit. Its methods must not block.
type Observer interface {
	// late is the time since the firing was due.
	Fired(namespace string, kind Kind, late time.Duration)
	Refused(namespace string)
	Skipped(namespace, reason string, times int)
}

// Options configure a Scheduler.
type Options struct {
	Parse    schedule.Parser
	Observer Observer
	// Tell stores events for webhooks in their transaction, and sends them to streams after it. Optional.
	Tell func(ctx context.Context, tx engine.Tx, events ...deadletter.Event) error
}

// Scheduler is safe for concurrent use. Its verbs block until their outcome is durable; refusals are *task.Error.
type Scheduler struct {
	store Store
	db    Database
	tasks Tasks
	opts  Options

	next  atomic.Int64 // when the next known schedule wakes; 0: none
	due   *due.Rows[Wake, task.ID]
	ended *due.Rows[Firing, firingKey]
	tidy  task.ID // Tidy's position
	mu    sync.Mutex
	times map[task.ID]compiled
}

type compiled struct {
	version int64
	times   *schedule.Times
}

// New returns a Scheduler that starts nothing: internal/host/upkeep calls Fire and Tidy.
func New(db Database, tasks Tasks, opts Options) *Scheduler {
	if opts.Observer == nil {
		opts.Observer = unobserved{}
	}
	if opts.Tell == nil {
		opts.Tell = func(context.Context, engine.Tx, ...deadletter.Event) error { return nil }
	}
	s := &Scheduler{store: db.Schedules(), db: db, tasks: tasks, opts: opts, times: map[task.ID]compiled{}}
	s.due = due.New("the schedule", func(w Wake) task.ID { return w.ID }, s.blame)
	s.ended = due.New("the firing of schedule", func(f Firing) firingKey { return firingKey{f.Schedule, f.At} },
		func(ctx context.Context, _ Firing, _ task.Instant, why error) error {
			return engine.Storable(ctx, db, why)
		})
	return s
}

type firingKey struct {
	schedule task.ID
	at       task.Instant
}

// String returns the key for people.
func (k firingKey) String() string {
	return k.schedule.String() + " at " + k.at.Time().Format("2006-01-02T15:04:05Z07:00")
}

type unobserved struct{}

func (unobserved) Fired(string, Kind, time.Duration) {}
func (unobserved) Refused(string)                    {}
func (unobserved) Skipped(string, string, int)       {}

const maxCompiled = 10_000

func (s *Scheduler) timesOf(of *schedule.Schedule) (*schedule.Times, error) {
	s.mu.Lock()
	known, ok := s.times[of.ID]
	s.mu.Unlock()
	if ok && known.version == of.Version {
		return known.times, nil
	}
	times, problems := schedule.Compile(of.Spec, s.opts.Parse)
	if len(problems) > 0 { // valid when saved, with another version of the parser or of the zones
		return nil, task.Errorf(task.WrongState, "the schedule %q cannot be read: its %s %s", of.Spec.Name,
			problems[0].Location[1:], problems[0].Message)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.times) >= maxCompiled {
		clear(s.times)
	}
	s.times[of.ID] = compiled{of.Version, times}
	return times, nil
}

// By is the actor, the reason and the expected version; 0 for any.
type By struct {
	Actor   string
	Reason  string
	Version int64
}

// signed fills in defaults. Invalid: actor or reason cannot be stored.
func signed(ctx context.Context, by By) (By, error) {
	if problems := engine.CheckActor(by.Actor, by.Reason); len(problems) > 0 {
		return by, &task.Error{Code: task.Invalid, Message: "nothing was changed", Problems: problems}
	}
	by.Actor, by.Reason = engine.ActorOf(ctx, by.Actor), cmp.Or(by.Reason, engine.NoReason)
	return by, nil
}

// expected refuses another version.
func (by By) expected(version int64) error {
	if by.Version == 0 || by.Version == version {
		return nil
	}
	message := fmt.Sprintf("the schedule has changed: its version is %d, not %d", version, by.Version)
	switch {
	case version == 0:
		message = "the schedule does not exist, so it has no version that If-Match could name"
	case by.Version < 0: // an ETag of no version
		message = fmt.Sprintf("If-Match names no version of the schedule: its version is %d", version)
	}
	return &task.Error{Code: task.Conflict, Message: message, Hint: "read it again"}
}

// noSchedule is also for a schedule beyond the key's reach.
func noSchedule(name string) error {
	return task.Errorf(task.NotFound, "there is no schedule %q", name)
}

// nameable reports whether the key reaches a name that can exist.
func nameable(ctx context.Context, namespace, name string) bool {
	return access.From(ctx).Reaches(namespace) &&
		task.TextFault(namespace, task.MaxName)+task.TextFault(name, task.MaxName) == ""
}

// locked returns a named schedule, locked; NotFound, or Conflict for another version.
func (s *Scheduler) locked(ctx context.Context, tx engine.Tx, namespace, name string, by By) (*schedule.Schedule,
	error,
) {
	if !nameable(ctx, namespace, name) {
		return nil, noSchedule(name)
	}
	found, err := s.store.ScheduleNamed(ctx, tx, namespace, name)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, noSchedule(name)
	}
	return found, by.expected(found.Version)
}
