package deadletters

import (
	"time"

	"github.com/google/uuid"
)

// ReplaySpec says which messages of a topic are read again, and what they become. Zero fields do not restrict.
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

// TopicReplay reads a range of a topic again, without a change to the topic or to the position of any consumer. Each
// message of the range becomes a letter or a task once, whatever fails meanwhile.
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

// Left returns how many offsets are to be read; some of them may hold no message.
func (r *TopicReplay) Left() (n int64) {
	for _, p := range r.Parts {
		n += p.To - p.Next
	}
	return n
}

// ReplayPreview is what a replay would do.
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
