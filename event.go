package tasker

import (
	"time"

	"github.com/google/uuid"
)

// EventType says what an Event tells of.
type EventType string

// The types of events. Those named stream are about the stream itself.
const (
	EventTaskSubmitted EventType = "task.submitted" // ToState is the state that the submission left it in
	EventTaskState     EventType = "task.state"     // from one state to another
	EventCaseOpened    EventType = "case.opened"
	EventCaseResolved  EventType = "case.resolved"
	EventQueueStats    EventType = "queue.stats" // with EventFilter.Queue

	// EventStreamOpen is the first event of a stream that does not go on with
	// another: what happens from now on is in it.
	EventStreamOpen EventType = "stream.open"
	// EventStreamGap stands where events may be missing; Cause says why. Read the state
	// again of what you follow. The stream goes on.
	EventStreamGap EventType = "stream.gap"
	// EventStreamAlive says that nothing has happened for a while. It carries an ID to
	// go on behind.
	EventStreamAlive EventType = "stream.alive"
	// EventStreamEnd says that nothing more is to come.
	EventStreamEnd EventType = "stream.end"
)

// Event is something that happened.
type Event struct {
	ID   string    `json:"id" doc:"ID to resume after this event, as Last-Event-ID."`
	Type EventType `json:"type" enum:"task.submitted,task.state,case.opened,case.resolved,queue.stats,stream.open,stream.gap,stream.alive,stream.end"`
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
}

// QueueDepth is how many steps are ready and wait for a worker.
type QueueDepth struct {
	Ready      int            `json:"ready"`
	ByPriority map[string]int `json:"by_priority" doc:"By the name of the level, or its number if it has none."`
	Capped     bool           `json:"capped,omitempty" doc:"Whether there are more than were counted."`
}

// EventFilter selects events. Zero fields do not restrict. Gaps pass every filter.
type EventFilter struct {
	// Tasks makes it a stream about these tasks only, at most 100. It begins with an
	// event for each that tells its present state, so nothing is missed between reading
	// and listening.
	Tasks []uuid.UUID
	// UntilSettled ends the stream once all of the Tasks are settled.
	UntilSettled bool

	Types         []EventType
	Namespaces    []string
	Name          string      // of the template, or the task type
	States        []TaskState // that a task comes to; events of cases are not touched
	Tag           string
	CorrelationID string
	// Queue adds EventQueueStats: at first, and when it has changed, once a second at the
	// most.
	Queue bool
	// LastEventID is the ID of the event behind which to go on. Where that is not
	// possible any more (too much has happened since, another node, a restart), the
	// stream begins with EventStreamGap.
	LastEventID string
}
