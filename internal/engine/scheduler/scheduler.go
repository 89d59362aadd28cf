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

// Database is where a Scheduler stores: a database of the engine, with the rows of schedules.
type Database interface {
	engine.Writer
	IDs() *task.Source
	ActStore() engine.ActStore
	Schedules() Store
}

// Tasks are the verbs of the engine that a Scheduler uses. *engine.Engine implements it.
type Tasks interface {
	// Now is the time of the store.
	Now() task.Instant
	Config() settings.Config
	// SubmitEachWithin submits tasks in a transaction that write begins, and answers each that is refused in its receipt.
	SubmitEachWithin(ctx context.Context, subs []engine.Submission,
		write func(submit func(context.Context, engine.Tx) ([]engine.Receipt, error)) error) error
	// CheckSubmissions returns for each submission why it would be refused; nil for one that would not.
	CheckSubmissions(ctx context.Context, subs []engine.Submission) []error
	CancelIn(ctx context.Context, tx engine.Tx, ids []task.ID, c engine.Cancellation) ([]engine.Receipt, error)
}

// Observer hears what became of times, after the commit. Its methods must not block.
type Observer interface {
	// Fired is called for a task that was submitted, and how long after its time.
	Fired(namespace string, kind Kind, late time.Duration)
	// Refused is called for a firing whose task was refused.
	Refused(namespace string)
	// Skipped is called for times that do not fire.
	Skipped(namespace, reason string, times int)
}

// Options configure a Scheduler.
type Options struct {
	// Parse compiles cron expressions.
	Parse schedule.Parser
	// Observer defaults to none.
	Observer Observer
	// Tell stores events for webhooks in the transaction in which they happen, and tells streams after it. It defaults
	// to nothing.
	Tell func(ctx context.Context, tx engine.Tx, events ...deadletter.Event) error
}

// Scheduler holds the use cases of schedules. It is safe for concurrent use. Its verbs block until their outcome is
// durable; refusals are *task.Error.
type Scheduler struct {
	store Store
	db    Database
	tasks Tasks
	opts  Options

	next  atomic.Int64 // the time at which the next schedule wakes, as far as this process knows; 0 for none
	due   *due.Rows[Wake, task.ID]
	ended *due.Rows[Firing, firingKey]
	tidy  task.ID // where Tidy continues; that of Tidy alone
	mu    sync.Mutex
	times map[task.ID]compiled
}

// compiled are the times of a version of a schedule.
type compiled struct {
	version int64
	times   *schedule.Times
}

// New returns a Scheduler on a database. It starts nothing: internal/host/upkeep calls Fire and Tidy.
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

// firingKey identifies a firing.
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

// maxCompiled bounds the times that are kept compiled.
const maxCompiled = 10_000

// timesOf returns the times of a stored schedule.
func (s *Scheduler) timesOf(of *schedule.Schedule) (*schedule.Times, error) {
	s.mu.Lock()
	known, ok := s.times[of.ID]
	s.mu.Unlock()
	if ok && known.version == of.Version {
		return known.times, nil
	}
	times, problems := schedule.Compile(of.Spec, s.opts.Parse)
	if len(problems) > 0 { // it was valid when it was saved, with another version of the parser or of the zones
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

// By says who acts, why, and on which version; 0 for any.
type By struct {
	Actor   string
	Reason  string
	Version int64
}

// signed returns who acts, with the defaults filled in. Invalid for an actor or a reason that cannot be stored.
func signed(ctx context.Context, by By) (By, error) {
	if problems := engine.CheckActor(by.Actor, by.Reason); len(problems) > 0 {
		return by, &task.Error{Code: task.Invalid, Message: "nothing was changed", Problems: problems}
	}
	by.Actor, by.Reason = engine.ActorOf(ctx, by.Actor), cmp.Or(by.Reason, engine.NoReason)
	return by, nil
}

// expected refuses an act on a version that the caller has not read.
func (by By) expected(version int64) error {
	if by.Version == 0 || by.Version == version {
		return nil
	}
	message := fmt.Sprintf("the schedule has changed: its version is %d, not %d", version, by.Version)
	switch {
	case version == 0:
		message = "the schedule does not exist, so it has no version that If-Match could name"
	case by.Version < 0: // an ETag that no version can have
		message = fmt.Sprintf("If-Match names no version of the schedule: its version is %d", version)
	}
	return &task.Error{Code: task.Conflict, Message: message, Hint: "read it again"}
}

// noSchedule is the error for a schedule that does not exist, and for one that the key does not reach.
func noSchedule(name string) error {
	return task.Errorf(task.NotFound, "there is no schedule %q", name)
}

// nameable reports whether a request may name a schedule: one that its key reaches, by names that could be stored.
func nameable(ctx context.Context, namespace, name string) bool {
	return access.From(ctx).Reaches(namespace) &&
		task.TextFault(namespace, task.MaxName)+task.TextFault(name, task.MaxName) == ""
}

// locked returns a schedule that a request names, locked. NotFound without one, Conflict for another version.
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
