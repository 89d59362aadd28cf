package schedules

import (
	"context"
	"time"

	"github.com/taskerhq/tasker"
)

// Backend offers the verbs of schedules, on a server or on an engine in this process. Its methods are safe for
// concurrent use, block until their outcome is durable, and return *tasker.Error for errors that the caller can handle.
// CodeUnavailable: the server's store keeps no schedules. CodeNotFound: there is no such schedule, or the API key does
// not reach its namespace. CodeConflict: it has changed since ScheduleAct.IfMatch. A namespace "" is "default".
type Backend interface {
	// Save makes a schedule, or replaces the settings of the one of that namespace and name. Equal settings change
	// nothing. CodeInvalid lists every fault with its place. CodeExhausted: the namespace has too many schedules.
	Save(ctx context.Context, req ScheduleRequest) (*SavedSchedule, error)
	// Schedules returns a page by namespace and name, each with its next time only.
	Schedules(ctx context.Context, filter Filter) (*SchedulePage, error)
	// Schedule returns a schedule with its next ten times.
	Schedule(ctx context.Context, namespace, name string) (*Schedule, error)
	// Firings returns a page of the times of a schedule and their results, the latest first.
	Firings(ctx context.Context, namespace, name string, filter FiringFilter) (*FiringHistory, error)
	// Remove deletes a schedule. Its tasks stay.
	Remove(ctx context.Context, namespace, name string, act ScheduleAct) error

	// Pause keeps a schedule from firing, until a time or until Resume. Running tasks continue; the times of the pause
	// are skipped.
	Pause(ctx context.Context, namespace, name string, req SchedulePauseRequest) (*Schedule, error)
	// Resume ends a pause. CodeWrongState: the schedule is not paused.
	Resume(ctx context.Context, namespace, name string, act ScheduleAct) (*Schedule, error)
	// Run submits the task now. CodeConflict: the policy of overlap forbids that.
	Run(ctx context.Context, namespace, name string, req ScheduleRunRequest) (*Firing, error)
	// Backfill fires the times of a range in the past that have not fired. It may be repeated.
	Backfill(ctx context.Context, namespace, name string, req BackfillRequest) (*Backfill, error)
}

// Of returns the Backend of a client: its server, or its engine in this process. An engine whose store keeps no
// schedules answers every call with CodeInvalid.
func Of(c *tasker.Client) Backend {
	if engine, inProcess := c.Backend.(interface{ Schedules() Backend }); inProcess {
		if b := engine.Schedules(); b != nil {
			return b
		}
	}
	return server{c}
}

// ScheduleAct is the actor of a change, the reason, and the expected state of the schedule.
type ScheduleAct struct {
	// Actor is a name that the caller claims. Defaults to the name of the API key.
	Actor   string `json:"actor,omitempty" doc:"Name recorded with the act. Defaults to the name of the API key." maxLength:"255"`
	Reason  string `json:"reason,omitempty" doc:"Reason of the act." maxLength:"4096"`
	IfMatch string `json:"if_match,omitempty" doc:"Expected ETag of the schedule, or *. If it has changed, the act is refused with conflict." maxLength:"1024"`
}

// ScheduleRequest makes or changes a schedule.
type ScheduleRequest struct {
	Spec
	ScheduleAct

	DryRun bool `json:"dry_run,omitempty" doc:"Only check, and answer what would change."`
}

// SchedulePauseRequest pauses a schedule.
type SchedulePauseRequest struct {
	ScheduleAct

	Until *time.Time `json:"until,omitempty" doc:"When it goes on by itself. Defaults to never."`
}

// ScheduleRunRequest submits the task of a schedule now.
type ScheduleRunRequest struct {
	ScheduleAct

	Overlap Overlap `json:"overlap,omitempty" doc:"Policy for this firing. Defaults to that of the schedule." enum:",skip,queue_one,queue_all,cancel_running,allow"`
}

// BackfillRequest fires the times of a range, both ends included.
type BackfillRequest struct {
	ScheduleAct

	From    time.Time `json:"from" doc:"First time of the range."`
	Until   time.Time `json:"until" doc:"Last time of the range. Not after the times that the schedule has decided about."`
	Overlap Overlap   `json:"overlap,omitempty" doc:"Policy for these firings. Defaults to that of the schedule." enum:",skip,queue_one,queue_all,cancel_running,allow"`
	DryRun  bool      `json:"dry_run,omitempty" doc:"Only answer the times of the range."`
}

// Filter selects a page of schedules. Zero fields do not restrict.
type Filter struct {
	Namespace string `query:"namespace" maxLength:"255"`
	Limit     int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Page size."`
	Cursor    string `query:"cursor" maxLength:"1024" doc:"Cursor of the page before."`
}

// FiringFilter selects a page of firings.
type FiringFilter struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Page size."`
	Cursor string `query:"cursor" maxLength:"1024" doc:"Cursor of the page before."`
}
