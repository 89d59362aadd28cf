package deadletters

import (
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// Selection selects letters and cases. Zero fields do not restrict. A list of letters has those with a tag query.
type Selection struct {
	Namespace   string      `json:"namespace,omitempty" query:"namespace" doc:"A redrive has one. Defaults to that of the first group, else of the first letter in ids, else to the only one of the API key." maxLength:"255"`
	Kind        Kind        `json:"kind,omitempty" enum:"letter,case" doc:"Defaults to both."`
	IDs         []uuid.UUID `json:"ids,omitempty" query:"letter_uuid" doc:"Letters and cases by their UUIDs." maxItems:"1000"`
	Groups      []string    `json:"groups,omitempty" query:"group_id" doc:"IDs of groups." maxItems:"100"`
	Source      string      `json:"source,omitempty" query:"source" maxLength:"255"`
	Origin      string      `json:"origin,omitempty" query:"origin" maxLength:"255"`
	Template    string      `json:"template,omitempty" doc:"Template of cases." maxLength:"255"`
	State       LetterState `json:"state,omitempty" query:"state" enum:"open,scheduled,redriving,redriven,discarded" doc:"State of letters; open selects pending cases."`
	ErrorType   string      `json:"error_type,omitempty" query:"error_type" maxLength:"255"`
	Text        string      `json:"text,omitempty" query:"text" doc:"Literal part of an error message or a payload." maxLength:"255"`
	HeaderName  string      `json:"header_name,omitempty" query:"header_name" doc:"Letters with this header." maxLength:"255"`
	HeaderValue string      `json:"header_value,omitempty" query:"header_value" doc:"Its value." maxLength:"1024"`
	After       time.Time   `json:"after,omitzero" query:"after" doc:"Died last at or after this time."`
	Before      time.Time   `json:"before,omitzero" query:"before" doc:"Died last before this time."`
	FirstAfter  time.Time   `json:"first_after,omitzero" doc:"Died first, or case opened, at or after this time."`
	FirstBefore time.Time   `json:"first_before,omitzero" doc:"Died first, or case opened, before this time."`
	MinReplays  int         `json:"min_replays,omitempty" query:"min_replays" minimum:"0" maximum:"1000"`
	Replayed    *bool       `json:"replayed,omitempty" doc:"Sent back before, or not; of cases, whether their tasks were replayed before, under any case."`
	Retryable   *bool       `json:"retryable,omitempty" doc:"Whether a retry may help."`
	Parked      *bool       `json:"parked,omitempty" query:"parked"`
	// CaseReason and TaskState select cases only.
	CaseReason tasker.CaseReason `json:"reason,omitempty" doc:"Why a case was opened." enum:"staleness_timeout,max_retries_exceeded,dependency_cycle_detected,worker_unavailable,manual_dlq"`
	TaskState  tasker.TaskState  `json:"task_state,omitempty" doc:"State of the task of a case, now." enum:"pending,initializing,enqueuing_steps,steps_in_process,evaluating_results,waiting_for_dependencies,waiting_for_retry,blocked_by_failures,complete,error,cancelled,resolved_manually"`
}

// Plan is how many items a redrive takes, its waves, and how it replays the tasks of cases. Zero fields take the
// server's defaults.
type Plan struct {
	Canary         int     `json:"canary,omitempty" doc:"Size of the first wave. Defaults to 10." minimum:"0" maximum:"100000"`
	Factor         float64 `json:"factor,omitempty" doc:"Each wave is that many times the size of the one before. Defaults to 2." minimum:"0" maximum:"100"`
	Largest        int     `json:"largest,omitempty" doc:"Size of the largest wave. Defaults to 1000." minimum:"0" maximum:"100000"`
	ObserveSeconds float64 `json:"observe_seconds,omitempty" doc:"Time to watch for returns after each wave. Defaults to 30; in an answer, none if it is missing." minimum:"0" maximum:"86400"`
	Rate           float64 `json:"rate,omitempty" doc:"Items per second; 0: no limit." minimum:"0" maximum:"1000000"`
	Limit          int     `json:"limit,omitempty" doc:"Items at most: of more, those that died first. 0: all, of at most 1,000,000." minimum:"0" maximum:"1000000"`
	// KeepAttempts and Priority are for selections of the kind case, without an edit.
	KeepAttempts bool            `json:"keep_attempts,omitempty" doc:"Of cases: failed steps have only the attempts left, at least one. By default they have all attempts again."`
	Priority     tasker.Priority `json:"priority,omitempty" doc:"Of cases: new priority of the tasks and their open steps." maxLength:"255"`
	AtMostOnce   bool            `json:"at_most_once,omitempty" doc:"A letter whose send had no answer stays open, as unknown. By default it is sent again under the same number until the outcome is known."`
}

// StopRule is when a redrive halts. In a request, zero fields take the server's defaults.
type StopRule struct {
	ReturnedShare float64 `json:"returned_share,omitempty" doc:"Share of a wave that may come back; 1 never halts. Defaults to 0.2." minimum:"0" maximum:"1"`
	SamePrint     int     `json:"same_fingerprint,omitempty" doc:"Items of a wave with one fingerprint that come back at which it halts. Defaults to 25." minimum:"0" maximum:"100000"`
	Failed        int     `json:"failed,omitempty" doc:"Failed sends of a wave at which it halts. Defaults to 10." minimum:"0" maximum:"100000"`
}

// RedriveRequest describes an operation on many letters and cases.
type RedriveRequest struct {
	Operation     Operation `json:"operation" enum:"redrive,discard,restore"`
	Selection     Selection `json:"selection"`
	Destination   string    `json:"destination,omitempty" doc:"Where letters are sent, if their source allows it. Defaults to the origin of each." maxLength:"255"`
	Edit          *Edit     `json:"edit,omitempty"`
	Plan          Plan      `json:"plan,omitzero"`
	Stop          StopRule  `json:"stop,omitzero"`
	IncludeParked bool      `json:"include_parked,omitempty" doc:"Take letters that were sent back too often as well."`
	Start         bool      `json:"start,omitempty" doc:"Start at once; otherwise it is a draft."`
	Act
}

// Preview is the effect of an operation.
type Preview struct {
	Total        int                `json:"total"`
	Capped       bool               `json:"capped,omitempty" doc:"There are more than total."`
	Samples      []PreviewItem      `json:"samples" doc:"Up to ten items."`
	Destinations []DestinationCheck `json:"destinations"`
	Problems     []tasker.Detail    `json:"problems,omitempty" doc:"What would refuse the operation; missing if it could start."`
	Plan         Plan               `json:"plan"`
	Stop         StopRule           `json:"stop"`
}

// PreviewItem is one sample of a preview.
type PreviewItem struct {
	Kind        Kind      `json:"kind" enum:"letter,case"`
	ID          uuid.UUID `json:"id"`
	Destination string    `json:"destination,omitempty"`
	Changes     []Change  `json:"changes,omitempty" doc:"What the edit changes."`
	Problem     string    `json:"problem,omitempty" doc:"Why the edit does not apply to it."`
}

// Redrive is an operation on a frozen selection.
type Redrive struct {
	RedriveUUID   uuid.UUID `json:"redrive_uuid"`
	Namespace     string    `json:"namespace,omitempty"`
	Operation     Operation `json:"operation" enum:"redrive,discard,restore"`
	Selection     Selection `json:"selection"`
	Destination   string    `json:"destination,omitempty"`
	Edit          *Edit     `json:"edit,omitempty"`
	Plan          Plan      `json:"plan"`
	Stop          StopRule  `json:"stop"`
	IncludeParked bool      `json:"include_parked,omitempty"`

	State      RedriveState `json:"state" enum:"draft,running,observing,paused,halted,done,cancelled"`
	StateAt    time.Time    `json:"state_at" doc:"When it entered the state."`
	HaltReason string       `json:"halt_reason,omitempty" doc:"Why the stop rule halted it."`

	FrozenAt  *time.Time `json:"frozen_at,omitempty" doc:"When the selection was written down: what arrives later is not included."`
	StartedAt *time.Time `json:"started_at,omitempty"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`

	Total    int           `json:"total"`
	Counts   ItemCounts    `json:"counts,omitzero" doc:"Missing in a list."`
	Wave     int           `json:"wave" doc:"Number of the wave under way; 0 before the first."`
	WaveSize int           `json:"wave_size"`
	WaveSent int           `json:"wave_sent" doc:"Items of the wave that are decided."`
	Waves    []RedriveWave `json:"waves,omitempty" maxItems:"50" doc:"The newest waves, in their order: at most 50, fewer where they are larger than 2,000 items. Missing in a list."`

	Actor     string    `json:"actor,omitempty"`
	KeyName   string    `json:"key_name,omitempty" doc:"Name of the API key of the request."`
	Reason    string    `json:"reason,omitempty"`
	CreatedAt time.Time `json:"created_at"`

	ETag string `json:"etag,omitempty" doc:"Changes with state and progress. An act with If-Match is refused if it has changed."`
}

// RedriveAct is an act on a redrive.
type RedriveAct struct {
	Action RedriveAction `json:"action" enum:"start,pause,resume,cancel"`
	Act
}

// RedriveFilter selects a page of redrives. Zero fields do not restrict.
type RedriveFilter struct {
	Namespace string         `query:"namespace" maxLength:"255"`
	States    []RedriveState `query:"state,explode" doc:"States; repeatable."`
	Limit     int            `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Page size."`
	Cursor    string         `query:"cursor" maxLength:"1024" doc:"next_cursor of the previous page."`
}

// RedrivePage is a page of redrives.
type RedrivePage struct {
	Redrives   []Redrive `json:"redrives"`
	NextCursor string    `json:"next_cursor,omitempty" doc:"Start of the next page; missing at the end."`
}

// Item is one item of a redrive.
type Item struct {
	No        int       `json:"no" doc:"Items are numbered in the order in which they are sent."`
	Kind      Kind      `json:"kind" enum:"letter,case"`
	ID        uuid.UUID `json:"id" doc:"Letter or case."`
	State     ItemState `json:"state" enum:"pending,sending,unknown,sent,returned,completed,failed,skipped"`
	Wave      int       `json:"wave,omitempty"`
	At        time.Time `json:"at,omitzero" doc:"Time of the state."`
	Message   string    `json:"message,omitempty" doc:"Why it failed, was skipped, or is unknown."`
	GroupID   string    `json:"group_id,omitempty" doc:"Group in which it came back."`
	Uncertain bool      `json:"uncertain,omitempty" doc:"A try had no answer: what was sent may be there twice, under the same number; what failed may be there once."`
}

// ItemFilter selects a page of items. Zero fields do not restrict. In the same process the default page has 100 items.
type ItemFilter struct {
	State  ItemState `query:"state" enum:"pending,sending,unknown,sent,returned,completed,failed,skipped"`
	Limit  int       `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Page size."`
	Cursor string    `query:"cursor" maxLength:"1024" doc:"next_cursor of the previous page."`
}

// ItemPage is a page of items.
type ItemPage struct {
	Items      []Item `json:"items"`
	NextCursor string `json:"next_cursor,omitempty" doc:"Start of the next page; missing at the end."`
}

// ReplaySpec selects messages of a topic to read again, and their use. Zero fields do not restrict.
type ReplaySpec struct {
	Topic  string  `json:"topic,omitempty" maxLength:"255" doc:"Topic on the broker of the source: its queue, or one that its targets allow. Defaults to the queue."`
	Into   string  `json:"into,omitempty" enum:"inbox,tasks" doc:"What messages become: letters of the source, or tasks. Defaults to tasks where there is an intake."`
	Intake *Intake `json:"intake,omitempty" doc:"Which tasks messages become. Defaults to the intake of the source."`
	Repeat string  `json:"repeat,omitempty" maxLength:"255" doc:"A name: tasks are made once for each name, also of messages of which tasks were made before. Without it they are not made again."`

	Since      time.Time `json:"since,omitzero" doc:"From the first message of each partition that is as new as this."`
	Before     time.Time `json:"before,omitzero" doc:"Up to the first message of each partition that is as new as this, which is not included."`
	FromOffset *int64    `json:"from_offset,omitempty" minimum:"0"`
	ToOffset   *int64    `json:"to_offset,omitempty" minimum:"0" doc:"Not included."`
	Partitions []int32   `json:"partitions,omitempty" maxItems:"10000" doc:"Defaults to all."`
	Key        *string   `json:"key,omitempty" maxLength:"1024" doc:"Messages with this key."`
	Headers    []Header  `json:"headers,omitempty" maxItems:"8" doc:"Messages with all of these headers."`
	Rate       float64   `json:"rate,omitempty" minimum:"0" maximum:"1000000" doc:"Messages a second; 0: no limit."`
}

// TopicReplayRequest describes a replay of a range of a topic.
type TopicReplayRequest struct {
	Namespace string `json:"namespace,omitempty" maxLength:"255" doc:"Namespace of the source. Defaults to default."`
	Source    string `json:"source" minLength:"1" maxLength:"255" doc:"Source whose broker has the topic."`
	ReplaySpec
	Start bool `json:"start,omitempty" doc:"Start at once; otherwise it is a draft."`
	Act
}

// TopicReplay reads a range of a topic again, without a change to the topic or to any consumer's position. Each message
// of the range becomes a letter or a task once, whatever fails meanwhile.
type TopicReplay struct {
	ReplayUUID uuid.UUID `json:"replay_uuid"`
	Namespace  string    `json:"namespace"`
	Source     string    `json:"source"`
	ReplaySpec
	State   ReplayState  `json:"state" enum:"draft,running,paused,failed,done,cancelled"`
	StateAt time.Time    `json:"state_at" doc:"When it entered the state."`
	Why     string       `json:"why,omitempty" doc:"Why it failed or, while it runs, what holds it up."`
	Counts  ReplayCounts `json:"counts"`
	Parts   []ReplayPart `json:"parts" doc:"The range of each partition, written down when the replay was made."`

	StartedAt *time.Time `json:"started_at,omitempty"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
	PurgeAt   *time.Time `json:"purge_at,omitempty" doc:"When it will be deleted: 30 days after its end."`
	Actor     string     `json:"actor,omitempty"`
	KeyName   string     `json:"key_name,omitempty" doc:"Name of the API key of the request."`
	Reason    string     `json:"reason,omitempty"`
	CreatedAt time.Time  `json:"created_at"`

	ETag string `json:"etag,omitempty" doc:"Changes with the state. An act with If-Match is refused if it has changed."`
}

// Left counts the remaining offsets, some of which may have no message.
func (r *TopicReplay) Left() (n int64) {
	for _, p := range r.Parts {
		n += p.To - p.Next
	}
	return n
}

// ReplayPreview is the effect of a replay.
type ReplayPreview struct {
	Topic    string         `json:"topic"`
	Into     string         `json:"into" enum:"inbox,tasks"`
	Messages int64          `json:"messages" doc:"Offsets in the range; some of them may hold no message."`
	Parts    []ReplayPart   `json:"parts"`
	Scanned  int            `json:"scanned" doc:"Messages that the preview has looked at."`
	Selected int            `json:"selected" doc:"Messages among them that have the key and the headers."`
	Whole    bool           `json:"whole" doc:"The preview has looked at the whole range."`
	FirstAt  *time.Time     `json:"first_at,omitempty" doc:"Time of the first message of the first 16 partitions."`
	LastAt   *time.Time     `json:"last_at,omitempty"`
	Samples  []ReplaySample `json:"samples" doc:"Up to ten messages."`
}

// ReplaySample is a message that a replay would take.
type ReplaySample struct {
	Partition int32      `json:"partition"`
	Offset    int64      `json:"offset"`
	At        *time.Time `json:"at,omitempty"`
	Key       string     `json:"key,omitempty" doc:"For keys that may read dead letters."`
	// Known, ErrorType: of messages that become letters. Task, Refusal: of those that become tasks.
	Known     bool           `json:"known,omitempty" doc:"It is a letter already."`
	ErrorType string         `json:"error_type,omitempty"`
	Task      *IntakeTask    `json:"task,omitempty"`
	Refusal   *IntakeRefusal `json:"refusal,omitempty" doc:"Why it becomes a letter and not a task."`
}

// ReplayFilter selects a page of replays. Zero fields do not restrict.
type ReplayFilter struct {
	Namespace string `query:"namespace" maxLength:"255"`
	Limit     int    `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Page size."`
	Cursor    string `query:"cursor" maxLength:"1024" doc:"next_cursor of the previous page."`
}

// ReplayPage is a page of replays.
type ReplayPage struct {
	Replays    []TopicReplay `json:"replays"`
	NextCursor string        `json:"next_cursor,omitempty" doc:"Start of the next page; missing at the end."`
}
