package schedules

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// Overlap decides about a firing while a task of an earlier one has not ended. A task in error has ended.
type Overlap string

// The policies of overlap.
const (
	OverlapSkip   Overlap = "skip"           // it is skipped
	OverlapOne    Overlap = "queue_one"      // it waits, unless another one already does
	OverlapAll    Overlap = "queue_all"      // it waits behind the others
	OverlapCancel Overlap = "cancel_running" // the earlier tasks are cancelled
	OverlapAllow  Overlap = "allow"          // the tasks run beside each other
)

// Missed decides about firings later than the grace, for example after an outage.
type Missed string

// The policies of missed firings.
const (
	MissedSkip Missed = "skip" // all are skipped
	MissedOnce Missed = "once" // the latest is made up for
	MissedAll  Missed = "all"  // the latest are made up for, up to Spec.MissedLimit
)

// Spec is the content of a schedule: its task and its times.
type Spec struct {
	Namespace   string `json:"namespace,omitempty" doc:"Defaults to default." maxLength:"255"`
	Name        string `json:"name" minLength:"1" maxLength:"255" doc:"Unique in its namespace."`
	Description string `json:"description,omitempty" maxLength:"1024"`

	Cron     string     `json:"cron" minLength:"1" maxLength:"255" doc:"Cron expression of five fields, or six with seconds in front; a name such as @daily; or @every and a duration of at least 1s."`
	TimeZone string     `json:"time_zone,omitempty" maxLength:"255" doc:"Name of the IANA database, such as Europe/Berlin. Defaults to UTC."`
	Jitter   float64    `json:"jitter_seconds,omitempty" minimum:"0" maximum:"3600" doc:"Each firing is delayed by a part of it that follows from the name and the time."`
	StartAt  *time.Time `json:"start_at,omitempty" doc:"No times before."`
	EndAt    *time.Time `json:"end_at,omitempty" doc:"No times after."`

	Overlap     Overlap `json:"overlap,omitempty" enum:",skip,queue_one,queue_all,cancel_running,allow" doc:"What becomes of a firing while a task of an earlier one has not ended. Defaults to skip."`
	Missed      Missed  `json:"missed,omitempty" enum:",skip,once,all" doc:"What becomes of firings later than the grace. Defaults to skip."`
	MissedLimit int     `json:"missed_limit,omitempty" minimum:"0" maximum:"1000" doc:"With missed all: how many of the latest are made up for."`
	Grace       int     `json:"grace_seconds,omitempty" minimum:"0" maximum:"86400" doc:"A firing that is later was missed. Defaults to 60."`

	Template        string          `json:"template,omitempty" maxLength:"255" doc:"Template to run. Either this or task_type."`
	TemplateVersion string          `json:"template_version,omitempty" maxLength:"64" doc:"Defaults to the last registered one at each firing."`
	TaskType        string          `json:"task_type,omitempty" maxLength:"255" doc:"Handler to run as a task with one step. Either this or template."`
	Context         json.RawMessage `json:"context,omitempty" doc:"Input of each task, any JSON value; validated against the input_schema of the template."`
	TimeField       string          `json:"time_field,omitempty" maxLength:"255" doc:"Member of the context that gets the time of the firing."`

	Priority             tasker.Priority `json:"priority,omitempty" doc:"high, medium, low, or an integer level from 0 to 100."`
	Tags                 []string        `json:"tags,omitempty" maxItems:"32"`
	OrderingKey          string          `json:"ordering_key,omitempty" maxLength:"255" doc:"Tasks of a namespace with the same key run one at a time, in the order of submission."`
	RequiredCapabilities []string        `json:"required_capabilities,omitempty" maxItems:"32" doc:"Only with task_type."`
	TimeoutSeconds       int             `json:"timeout_seconds,omitempty" minimum:"0" maximum:"2592000" doc:"Time limit of one attempt; only with task_type."`
	MaxRetries           *int            `json:"max_retries,omitempty" minimum:"0" maximum:"1000" doc:"Only with task_type."`
}

// State is the state of a schedule.
type State string

// The states of schedules.
const (
	Active State = "active"
	Paused State = "paused"
	Over   State = "over"   // it has no more times
	Broken State = "broken" // it cannot be read; see Schedule.Trouble
)

// Schedule is a schedule with its state.
type Schedule struct {
	Spec

	State  State          `json:"state" doc:"active, paused, over (it has no more times) or broken (see trouble)."`
	Paused *SchedulePause `json:"paused,omitempty"`
	// NextTimes are without jitter. A list of schedules has one for each.
	NextTimes []time.Time `json:"next_times" doc:"Up to ten, without jitter; one in a list of schedules."`
	// DecidedUntil is the time up to which all times have fired or were skipped.
	DecidedUntil time.Time  `json:"decided_until"`
	LastFiring   *Firing    `json:"last_firing,omitempty"`
	Trouble      string     `json:"trouble,omitempty" doc:"Why a firing cannot take place now."`
	TroubleSince *time.Time `json:"trouble_since,omitempty"`
	CreatedAt    time.Time  `json:"created_at"`
	UpdatedAt    time.Time  `json:"updated_at"`
	ETag         string     `json:"etag" doc:"Changes with every act on the schedule."`
}

// SchedulePause is why a schedule does not fire.
type SchedulePause struct {
	Actor  string     `json:"actor"`
	Reason string     `json:"reason"`
	At     time.Time  `json:"at"`
	Until  *time.Time `json:"until,omitempty"`
}

// ScheduleChange is a setting that a save changes. Values are JSON; null for an unset one.
type ScheduleChange struct {
	Field  string          `json:"field"`
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
}

// SavedSchedule is the answer to a save.
type SavedSchedule struct {
	Schedule

	Outcome string           `json:"outcome" doc:"created, changed or unchanged; what it would be with dry_run."`
	Changes []ScheduleChange `json:"changes" doc:"Settings that differ from what was stored."`
	DryRun  bool             `json:"dry_run,omitempty"`
}

// The outcomes of a save.
const (
	Created   = "created"
	Changed   = "changed"
	Unchanged = "unchanged"
)

// SchedulePage is a page of schedules.
type SchedulePage struct {
	Schedules []Schedule `json:"schedules"`
	Cursor    string     `json:"cursor,omitempty" doc:"Of the next page; missing on the last one."`
}

// FiringState is the state of a firing.
type FiringState string

// The states of firings.
const (
	FiringWaiting FiringState = "waiting" // for a task of an earlier firing
	FiringRunning FiringState = "running" // its task was submitted
	FiringEnded   FiringState = "ended"   // its task has ended
	FiringRefused FiringState = "refused" // its task could not be submitted
)

// Firing is one time of a schedule and its task.
type Firing struct {
	Time  time.Time   `json:"time"`
	Kind  string      `json:"kind" doc:"Why there is a firing: time, missed, run or backfill."`
	State FiringState `json:"state" doc:"waiting (for a task of an earlier firing), running, ended or refused."`
	// TaskUUID is nil while the firing waits, and for a refused one.
	TaskUUID    *uuid.UUID       `json:"task_uuid,omitempty"`
	TaskState   tasker.TaskState `json:"task_state,omitempty" doc:"Of the task now, or when it was deleted."`
	SubmittedAt *time.Time       `json:"submitted_at,omitempty"`
	Error       string           `json:"error,omitempty" doc:"Why the task was refused."`
}

// FiringSkip is a run of times that did not fire.
type FiringSkip struct {
	Reason string    `json:"reason" doc:"missed, overlap or paused."`
	First  time.Time `json:"first"`
	Last   time.Time `json:"last"`
	Times  int       `json:"times"`
	More   bool      `json:"more,omitempty" doc:"There are more than were counted."`
}

// FiringHistory is a page of the times of a schedule and their results, the latest first.
type FiringHistory struct {
	Firings []Firing     `json:"firings"`
	Skips   []FiringSkip `json:"skips"`
	Cursor  string       `json:"cursor,omitempty" doc:"Of the next page; missing on the last one."`
}

// Backfill is the result of the times of a range.
type Backfill struct {
	Times   []time.Time `json:"times" doc:"All times of the range."`
	Fired   int         `json:"fired"`
	Waiting int         `json:"waiting" doc:"They wait for tasks of earlier firings."`
	Skipped int         `json:"skipped" doc:"By the policy of overlap."`
	Known   int         `json:"known" doc:"They have fired already."`
	Refused int         `json:"refused" doc:"Their tasks were refused; see the firings of the schedule."`
	DryRun  bool        `json:"dry_run,omitempty"`
}
