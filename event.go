package tasker

import (
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/deadletters/model"
)

// EventType is the kind of an Event. New kinds may be added: a program should skip unknown ones.
type EventType string

// The types of events. The types stream.* are about the stream itself.
const (
	// About tasks and cases. Such an event is sent after the transaction that it reports has
	// committed.
	EventTaskSubmitted EventType = "task.submitted" // a task was stored; ToState is its state
	EventTaskState     EventType = "task.state"     // a task went from FromState to ToState
	EventCaseOpened    EventType = "case.opened"    // a task is stuck: CaseReason says why
	EventCaseResolved  EventType = "case.resolved"  // a case was closed; ResolutionStatus says how
	EventQueueStats    EventType = "queue.stats"    // counts of ready steps, for streams that ask for them

	// About the inbox: groups of failures, redrives, replays of topics and sources of dead letters (package
	// deadletters). A stream about tasks, or with a filter on name, tag or correlation ID, leaves them out.
	EventGroupNew        EventType = "group.new"        // a group has its first failure
	EventGroupRegression EventType = "group.regression" // a group that was resolved has failed again
	EventGroupBurst      EventType = "group.burst"      // a group fails at least ten times as often as usual
	EventGroupState      EventType = "group.state"      // an operator, or a bound of ignoring, changed the state of a group
	EventRedriveState    EventType = "redrive.state"    // a redrive entered a state: running, observing, halted, done
	EventReplayState     EventType = "replay.state"     // a replay entered a state: running, failed, done
	EventSourceLost      EventType = "source.lost"      // a source could not be read for 30 seconds
	EventSourceFound     EventType = "source.found"     // a source is read again
	EventLetterRetrying  EventType = "letter.retrying"  // a policy is about to send letters back
	EventLetterRetried   EventType = "letter.retried"   // a policy has sent letters back, or could not
	EventLetterDiscarded EventType = "letter.discarded" // a policy or an operator has discarded letters

	// About outages of routes (package flow). A stream about tasks, or with a filter on name, tag or correlation ID,
	// leaves them out.
	EventOutageOpened EventType = "outage.opened" // a route is held back
	EventOutageClosed EventType = "outage.closed" // the steps of the route run again
	// About pauses (package flow) and schedules (package schedules), left out likewise.
	EventPauseBegun     EventType = "pause.begun"     // a pause began, or its reason or end was changed
	EventPauseEnded     EventType = "pause.ended"     // an operator ended a pause, or its time was over
	EventScheduleFired  EventType = "schedule.fired"  // a schedule submitted tasks
	EventScheduleMissed EventType = "schedule.missed" // a schedule passed times for which there is no task

	EventApprovalRequested EventType = "approval.requested" // a step begins to wait for an approval
	EventApprovalDecided   EventType = "approval.decided"   // an approval has ended, whatever has ended it

	// EventStreamOpen is the first event of a stream that does not resume another. The stream contains every
	// later event.
	EventStreamOpen EventType = "stream.open"
	// EventStreamGap marks a place where events may be missing; Cause gives the reason. Read the state of the
	// watched tasks again. The stream continues.
	EventStreamGap EventType = "stream.gap"
	// EventStreamAlive reports a time without events. It carries an ID from which a stream can resume.
	EventStreamAlive EventType = "stream.alive"
	// EventStreamEnd is the last event of a stream.
	EventStreamEnd EventType = "stream.end"
)

// Event is one change, of a task, a case, a queue, the inbox or the stream itself. Events are notifications, not a
// log: to learn the state of a task, read the Task. Which fields are set depends on Type.
type Event struct {
	ID   string    `json:"id" doc:"ID to resume after this event, as Last-Event-ID."`
	Type EventType `json:"type" enum:"task.submitted,task.state,case.opened,case.resolved,queue.stats,group.new,group.regression,group.burst,group.state,redrive.state,replay.state,source.lost,source.found,letter.retrying,letter.retried,letter.discarded,outage.opened,outage.closed,pause.begun,pause.ended,schedule.fired,schedule.missed,approval.requested,approval.decided,stream.open,stream.gap,stream.alive,stream.end"`
	At   time.Time `json:"at"`

	TaskUUID      *uuid.UUID `json:"task_uuid,omitempty"`
	Namespace     string     `json:"namespace,omitempty"`
	Name          string     `json:"name,omitempty" doc:"Name of the task: the template or the task type."`
	Priority      Priority   `json:"priority,omitempty"`
	CorrelationID string     `json:"correlation_id,omitempty"`
	Tags          []string   `json:"tags,omitempty"`
	FromState     TaskState  `json:"from_state,omitempty" doc:"Absent in the initial events of a stream about tasks."`
	ToState       TaskState  `json:"to_state,omitempty"`
	Cause         string     `json:"cause,omitempty" doc:"Cause of the event: submit, settle, cancelled and so on; for a gap, its reason."`

	CaseUUID         *uuid.UUID     `json:"dlq_entry_uuid,omitempty"`
	CaseReason       CaseReason     `json:"dlq_reason,omitempty"`
	ResolutionStatus CaseResolution `json:"resolution_status,omitempty"`

	Queue *QueueDepth `json:"queue,omitempty" doc:"Present in queue.stats."`

	Group   *GroupEvent   `json:"group,omitempty" doc:"Present in events of groups."`
	Redrive *RedriveEvent `json:"redrive,omitempty" doc:"Present in events of redrives."`
	Replay  *ReplayEvent  `json:"replay,omitempty" doc:"Present in events of replays."`
	Source  *SourceEvent  `json:"source,omitempty" doc:"Present in events of sources."`
	Letters *LetterEvent  `json:"letters,omitempty" doc:"Present in events of dead letters."`
	Outage  *OutageEvent  `json:"outage,omitempty" doc:"Present in events of outages."`

	Pause    *PauseEvent    `json:"pause,omitempty" doc:"Present in events of pauses."`
	Schedule *ScheduleEvent `json:"schedule,omitempty" doc:"Present in events of schedules."`
	Approval *ApprovalEvent `json:"approval,omitempty" doc:"Present in events of approvals."`
}

// QueueDepth counts the ready steps that wait for a worker. Counting stops at a bound, which keeps it cheap; Capped
// then says so.
type QueueDepth struct {
	Ready      int            `json:"ready"`
	ByPriority map[string]int `json:"by_priority" doc:"By the name of the level, or its number if it has none."`
	Capped     bool           `json:"capped,omitempty" doc:"Whether there are more than were counted."`
}

// EventFilter selects events. A zero field does not restrict. Every filter passes EventStreamGap.
type EventFilter struct {
	// Tasks restricts the stream to at most 100 tasks. It begins with the present state of each, so that no change is
	// missed between a read and the start of the stream.
	Tasks []uuid.UUID `query:"task_uuid"`
	// UntilSettled ends the stream once all of the Tasks are settled.
	UntilSettled bool

	// Types, Namespaces and States each match any of their entries; different fields must all match.
	Types         []EventType `query:"type"`
	Namespaces    []string    `query:"namespace"`
	Name          string      `query:"name"`     // of the template, or the task type
	States        []TaskState `query:"to_state"` // new states of tasks; events of cases and of the inbox always pass
	Tag           string      `query:"tag"`
	CorrelationID string      `query:"correlation_id"`
	// Queue adds EventQueueStats: one at the start, then one after each change, at most once a second.
	Queue bool `query:"queue"`
	// LastEventID resumes the stream after an event. Where that is not possible (too many events since, another node,
	// a restart), the stream begins with EventStreamGap.
	LastEventID string
}

// GroupEvent is the group of failures of an event.
type GroupEvent struct {
	GroupID      string  `json:"group_id" doc:"16 hexadecimal digits."`
	Title        string  `json:"title" doc:"Cut to 300 bytes."`
	Where        string  `json:"where,omitempty" doc:"Handler or source."`
	FromState    string  `json:"from_state,omitempty"`
	State        string  `json:"state"`
	Failures     int64   `json:"failures" doc:"In all."`
	ThisHour     int64   `json:"this_hour,omitempty" doc:"Of a burst: failures of the current clock hour."`
	UsualPerHour float64 `json:"usual_per_hour,omitempty" doc:"Of a burst: mean number of failures in an hour of the day before."`
}

// RedriveEvent is the redrive of an event, and its progress.
type RedriveEvent struct {
	RedriveUUID uuid.UUID `json:"redrive_uuid"`
	FromState   string    `json:"from_state,omitempty"`
	State       string    `json:"state"`
	HaltReason  string    `json:"halt_reason,omitempty"`
	Total       int       `json:"total" doc:"Items."`
	Decided     int       `json:"decided" doc:"Items that have a result."`
	Wave        int       `json:"wave,omitempty"`
	// Counts are missing while waves are under way, of which there may be thousands.
	Counts *model.ItemCounts `json:"counts,omitempty" doc:"Missing in events of the states running and observing that a wave causes."`
}

// ReplayEvent is the replay of a topic, and its progress.
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

// SourceEvent is a source of dead letters.
type SourceEvent struct {
	Name  string `json:"name"`
	Error string `json:"error,omitempty" doc:"Why it cannot be read; without secrets."`
}

// OutageEvent is the outage of a route.
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

// PauseEvent is a pause. Cause of the event is the reason of the pause or its end.
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
// resolving the step, end a wait without an event.
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

// ScheduleEvent reports times of a schedule in one transaction. Cause of the event says why a task was refused.
type ScheduleEvent struct {
	Name   string      `json:"name"`
	Kind   string      `json:"kind,omitempty" enum:"time,missed,run,backfill" doc:"Of schedule.fired: why there are tasks."`
	Reason string      `json:"reason,omitempty" enum:"missed,overlap,paused,refused" doc:"Of schedule.missed."`
	Count  int         `json:"count" doc:"Number of times."`
	First  time.Time   `json:"first" doc:"The first of the times."`
	Last   time.Time   `json:"last"`
	Tasks  []uuid.UUID `json:"tasks,omitempty" doc:"The first of the tasks, 10 at most."`
}

// LetterEvent reports all dead letters of one source and origin in one transaction: ten thousand letters make few
// events.
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

// CaseReason is the reason why a case was opened.
type CaseReason string

// The reasons of cases. CaseCause gives the detail.
const (
	// ReasonStaleness means that the task was too long in one state, or in all together.
	ReasonStaleness CaseReason = "staleness_timeout"
	// ReasonMaxRetries means that the task is in error, because a step failed for good.
	ReasonMaxRetries CaseReason = "max_retries_exceeded"
	// ReasonCycle means that steps wait for each other.
	ReasonCycle CaseReason = "dependency_cycle_detected"
	// ReasonWorkerUnavailable means that a step is ready, and no live worker serves its route.
	ReasonWorkerUnavailable CaseReason = "worker_unavailable"
	ReasonManual            CaseReason = "manual_dlq"
)

// CaseResolution is the outcome of a case.
type CaseResolution string

// The resolutions of cases. All but CasePending are final.
const (
	CasePending           CaseResolution = "pending"
	CaseManuallyResolved  CaseResolution = "manually_resolved"
	CasePermanentlyFailed CaseResolution = "permanently_failed"
	CaseCancelled         CaseResolution = "cancelled" // a duplicate, or nothing was wrong
)
