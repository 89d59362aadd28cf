package tasker

import (
	"time"

	"github.com/google/uuid"
)

// GroupEvent is the group of failures that an event is about.
type GroupEvent struct {
	GroupID   string `json:"group_id" doc:"16 hexadecimal digits."`
	Title     string `json:"title" doc:"Cut to 300 bytes."`
	Where     string `json:"where,omitempty" doc:"Handler or source."`
	FromState string `json:"from_state,omitempty"`
	State     string `json:"state"`
	Failures  int64  `json:"failures" doc:"In all."`
	// ThisHour and UsualPerHour are set in a burst: the failures of the current clock hour, and their mean number in an
	// hour of the day before.
	ThisHour     int64   `json:"this_hour,omitempty" doc:"Of a burst: failures of the current clock hour."`
	UsualPerHour float64 `json:"usual_per_hour,omitempty" doc:"Of a burst: mean number of failures in an hour of the day before."`
}

// RedriveEvent is the redrive that an event is about, and its progress.
type RedriveEvent struct {
	RedriveUUID uuid.UUID `json:"redrive_uuid"`
	FromState   string    `json:"from_state,omitempty"`
	State       string    `json:"state"`
	HaltReason  string    `json:"halt_reason,omitempty"`
	Total       int       `json:"total" doc:"Items."`
	Decided     int       `json:"decided" doc:"Items that have a result."`
	Wave        int       `json:"wave,omitempty"`
	// Counts are missing while waves are under way, of which there may be thousands.
	Counts *RedriveCounts `json:"counts,omitempty" doc:"Missing in events of the states running and observing that a wave causes."`
}

// RedriveCounts counts the items of a redrive by their states; see deadletters.ItemCounts.
type RedriveCounts struct {
	Pending   int `json:"pending"`
	Sending   int `json:"sending"`
	Unknown   int `json:"unknown" doc:"They may have arrived, or not."`
	Sent      int `json:"sent"`
	Returned  int `json:"returned"`
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
	Skipped   int `json:"skipped"`
	Uncertain int `json:"uncertain" doc:"Among the others: a try had no answer. What was sent may be there twice, under the same number; what failed may be there once."`
}

// ReplayEvent is the replay of a topic that an event is about, and its progress.
type ReplayEvent struct {
	ReplayUUID uuid.UUID `json:"replay_uuid"`
	Source     string    `json:"source"`
	Topic      string    `json:"topic"`
	Into       string    `json:"into" enum:"inbox,tasks"`
	FromState  string    `json:"from_state,omitempty"`
	State      string    `json:"state"`
	Why        string    `json:"why,omitempty" doc:"Why it failed."`
	Left       int64     `json:"left" doc:"Offsets to be read; some of them may hold no message."`
	Letters    int64     `json:"letters" doc:"Messages that became letters."`
	Tasks      int64     `json:"tasks" doc:"Messages that became tasks."`
	Known      int64     `json:"known" doc:"Messages that were letters or tasks already."`
	Gone       int64     `json:"gone" doc:"At most that many were deleted on the broker before they were read."`
}

// SourceEvent is the source of dead letters that an event is about.
type SourceEvent struct {
	Name  string `json:"name"`
	Error string `json:"error,omitempty" doc:"Why it cannot be read; without secrets."`
}

// OutageEvent is the outage of a route that an event is about.
type OutageEvent struct {
	OutageUUID   uuid.UUID `json:"outage_uuid"`
	Handler      string    `json:"handler"`
	Capabilities []string  `json:"capabilities,omitempty"`
	GroupID      string    `json:"group_id" doc:"Group of the inbox to which failures for good with its fingerprint belong."`
	Title        string    `json:"title,omitempty" doc:"The fingerprint, for people."`
	Failures     int       `json:"failures" doc:"Failures that opened it."`
	OpenedAt     time.Time `json:"opened_at"`
	Probes       int       `json:"probes,omitempty" doc:"Steps that were let through until it was closed."`
	Spared       int       `json:"spared,omitempty" doc:"Attempts that failed meanwhile and were not charged."`
	ClosedBy     string    `json:"closed_by,omitempty" doc:"Who closed it; system after a probe that succeeded."`
}

// PauseEvent is the pause that an event is about. Cause of the event is its reason, or that of its end.
type PauseEvent struct {
	Kind         string     `json:"kind" enum:"route,handler,template,namespace"`
	Handler      string     `json:"handler,omitempty" doc:"Of a handler or a route."`
	Capabilities []string   `json:"capabilities,omitempty" doc:"Of a route."`
	Template     string     `json:"template,omitempty" doc:"Of a template."`
	PausedBy     string     `json:"paused_by"`
	PausedAt     time.Time  `json:"paused_at"`
	Until        *time.Time `json:"until,omitempty" doc:"When it ends by itself; missing without an end."`
	EndedBy      string     `json:"ended_by,omitempty" doc:"Who ended it; system when its time was over."`
}

// ApprovalEvent is an approval that a step begins to wait for, or its end. Cancelling the task, and completing or
// resolving the step, end a wait without such an event.
type ApprovalEvent struct {
	TaskUUID  uuid.UUID  `json:"task_uuid"`
	Template  string     `json:"template"`
	StepUUID  uuid.UUID  `json:"step_uuid"`
	Step      string     `json:"step"`
	Approval  string     `json:"approval" doc:"What is to be approved, the first 300 bytes."`
	Until     *time.Time `json:"until,omitempty" doc:"Of approval.requested: when its time is over; missing without an end."`
	Result    string     `json:"result,omitempty" enum:"approved,rejected,timed_out,cancelled,resolved" doc:"Of approval.decided."`
	DecidedBy string     `json:"decided_by,omitempty" doc:"Of approval.decided; system when its time was over."`
	Reason    string     `json:"reason,omitempty" doc:"Of approval.decided."`
}

// ScheduleEvent is what happened to times of a schedule in one transaction. Cause of the event says why a task was
// refused.
type ScheduleEvent struct {
	Name   string      `json:"name"`
	Kind   string      `json:"kind,omitempty" enum:"time,missed,run,backfill" doc:"Of schedule.fired: why there are tasks."`
	Reason string      `json:"reason,omitempty" enum:"missed,overlap,paused,refused" doc:"Of schedule.missed."`
	Count  int         `json:"count" doc:"Number of times."`
	First  time.Time   `json:"first" doc:"The first of the times."`
	Last   time.Time   `json:"last"`
	Tasks  []uuid.UUID `json:"tasks,omitempty" doc:"The first of the tasks, 10 at most."`
}

// LetterEvent is what happened to dead letters of one source and origin in one transaction. There is one event for all
// of them, so that ten thousand letters that are due at once are a few events.
type LetterEvent struct {
	Source string        `json:"source"`
	Origin string        `json:"origin,omitempty" doc:"Queue or topic that the letters came from."`
	Count  int           `json:"count" doc:"Number of letters."`
	First  []EventLetter `json:"first" doc:"The first of them, 10 at most."`
	Result string        `json:"result,omitempty" enum:"sent,failed" doc:"Of letter.retried. A failed one is open or scheduled again."`
	Kind   string        `json:"kind,omitempty" enum:"max_retries,max_age,test_event,manual" doc:"Of letter.discarded: why."`
	Reason string        `json:"reason,omitempty" doc:"Reason or error of the first letter."`
}

// EventLetter names a dead letter.
type EventLetter struct {
	LetterUUID uuid.UUID `json:"letter_uuid"`
	MessageID  string    `json:"message_id,omitempty" doc:"The sender's ID of the message, cut to 128 bytes."`
}
