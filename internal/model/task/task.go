package task

// Task is one run of a template.
type Task struct {
	ID       ID
	DefID    int64 // of its Template
	State    State
	Priority int
	Counts   Counts
	Context  []byte // JSON, nil when there is none

	CreatedAt  Instant
	StateAt    Instant // time of the last transition, or of the last progress since
	RunAt      Instant // 0: at once
	FinishedAt Instant // terminal or in error
	DeadlineAt Instant // time-out of the whole task; 0: never

	// IdempotencyKey and CorrelationID are searched, hence not in Meta.
	IdempotencyKey string
	CorrelationID  string
	Meta           Meta
	// Unread explains which part of the row is unreadable, "" for a whole row.
	Unread string
}

// Meta is a task's information for people.
type Meta struct {
	Tags                []string `json:"tags,omitempty"`
	ParentCorrelationID string   `json:"parent_correlation_id,omitempty"`
	Initiator           string   `json:"initiator,omitempty"`
	SourceSystem        string   `json:"source_system,omitempty"`
	Reason              string   `json:"reason,omitempty"`
	CancelReason        string   `json:"cancel_reason,omitempty"`
	CancelledBy         string   `json:"cancelled_by,omitempty"`
	CancelledKey        string   `json:"cancelled_by_key,omitempty"` // name of the API key
	// TraceParent is the W3C trace context of the submission.
	TraceParent string `json:"traceparent,omitempty"`
	// Priority is the submission's spelling, where that is not the name of the level.
	Priority string `json:"priority,omitempty"`
	// Estimate is the submitter's estimate of the duration in seconds; 0 without one.
	Estimate int `json:"estimated_duration_seconds,omitempty"`
	// Deadline is the time by which the submitter wants the task to be over; 0 without one.
	Deadline Instant `json:"deadline,omitempty"`
	// Case records whether the task has cases, which saves a query.
	Case CaseMark `json:"case,omitempty"`
	// Replays counts the replays that took the task out of error; the other fields describe the last one.
	Replays    int     `json:"replays,omitempty"`
	ReplayedAt Instant `json:"replayed_at,omitempty"`
	ReplayedBy string  `json:"replayed_by,omitempty"`
	// ReplayedKey is the name of the API key.
	ReplayedKey string `json:"replayed_by_key,omitempty"`
	// ContextEdits counts the changes of the context since submission, and is its version; the other two fields
	// describe the last change.
	ContextEdits int     `json:"context_edits,omitempty"`
	EditedAt     Instant `json:"context_edited_at,omitempty"`
	EditedKey    string  `json:"edited_by_key,omitempty"` // name of the API key
	EditedBy     string  `json:"context_edited_by,omitempty"`
	// OrderingKey makes the tasks of a namespace with the same key run one at a time, in the order of submission. Held:
	// the task waits for its turn.
	OrderingKey string `json:"ordering_key,omitempty"`
	Held        bool   `json:"held,omitempty"`
	// Limited: limits of the template apply to some steps of the task. Steps of other tasks have no permits.
	Limited bool `json:"limited,omitempty"`
	// Checkpoints are the ordinals of steps that have stored a checkpoint, ascending. A step stays in the list when its
	// checkpoint is deleted.
	Checkpoints []int `json:"checkpoints,omitempty"`
	// Logged: an attempt of some step has a log.
	Logged bool `json:"logged,omitempty"`
	// Unique is the unique key under which the task was stored; nil without one.
	Unique *UniqueMark `json:"unique,omitempty"`
	// Intake is the message that the task was made of; nil for a task that was submitted.
	Intake *Intake `json:"intake,omitempty"`
	// Child links a child task to the step that it carries out; nil for any other task.
	Child *ChildOf `json:"child,omitempty"`
	// HasChildren: a step of the task has child tasks, or will have.
	HasChildren bool `json:"has_children,omitempty"`
	// Schedule is the firing that submitted the task; nil for any other task.
	Schedule *Scheduled `json:"schedule,omitempty"`
}

// Scheduled says which firing of a schedule submitted a task.
type Scheduled struct {
	Name string  `json:"name"` // of the namespace of the task
	At   Instant `json:"at"`   // the time of the firing
	Kind string  `json:"kind"` // why there is a firing: time, missed, run or backfill
}

// Intake says which message of a broker a task was made of.
type Intake struct {
	Source   string  `json:"source"`             // of the namespace of the task
	Queue    string  `json:"queue"`              // of the broker
	Position string  `json:"position,omitempty"` // of the message there; "" for unknown
	SentAt   Instant `json:"sent_at,omitempty"`
	// Wrapped: the context is an object around the payload.
	Wrapped bool `json:"wrapped,omitempty"`
	// Sensitive are the pointers into the context of what the source marked when the message came in.
	Sensitive []string `json:"sensitive,omitempty"`
}

// Same reports whether two tasks were made of one message: it was delivered twice.
func (in *Intake) Same(other *Intake) bool {
	return in != nil && other != nil && in.Position != "" && in.Source == other.Source && in.Queue == other.Queue &&
		in.Position == other.Position
}

// CaseMark is a task's record of its cases.
type CaseMark string

// The marks; "" if there never was a case.
const (
	HasPending CaseMark = "pending"
	HasClosed  CaseMark = "closed" // cases, all resolved
	HadClosed  CaseMark = "over"   // cases, all resolved and since deleted
)

// Kept reports whether cases are stored.
func (c CaseMark) Kept() bool { return c == HasPending || c == HasClosed }

// Changed reports whether Meta may differ from its value at submission.
func (m Meta) Changed() bool {
	return m.CancelReason != "" || m.CancelledBy != "" || m.Case != "" || m.Replays > 0 || m.ContextEdits > 0 ||
		m.OrderingKey != "" || len(m.Checkpoints) > 0 || m.Logged
}

// Empty reports whether there is nothing to store.
func (m Meta) Empty() bool {
	return len(m.Tags) == 0 && m.ParentCorrelationID == "" && m.Initiator == "" && m.SourceSystem == "" &&
		m.Reason == "" && m.TraceParent == "" && m.Estimate == 0 && m.Priority == "" && m.Intake == nil &&
		m.Unique == nil && !m.Limited && m.Deadline == 0 && m.Child == nil && !m.HasChildren && !m.Changed()
}

// Moved counts a step's change of state, while no step is due. It returns the previous state of the task if that
// changes too, else "". FinishedAt changes with the state.
func (t *Task) Moved(from, to StepState, now Instant) State {
	t.Counts.Move(from, to)
	return t.Reevaluate(now, false)
}

// Reevaluate updates the state from the counts and, where they leave it undecided, from whether a step is due. It
// returns the previous state, or "" without a change.
func (t *Task) Reevaluate(now Instant, due bool) State {
	next := t.Counts.Evaluate(t.State, due)
	if next == t.State {
		return ""
	}
	return t.set(next, now)
}

// Cancel makes the task cancelled; the caller cancels its steps.
func (t *Task) Cancel(now Instant) State { return t.set(Cancelled, now) }

// KeyLives reports whether an idempotency key may be bound to the task whose window began after a time. Its own window
// began with the task; that of a submission which its unique key answered began before the end of the task.
func (t *Task) KeyLives(after Instant) bool {
	return t.IdempotencyKey != "" && t.CreatedAt > after || t.Meta.Unique != nil && t.FinishedAt > after
}

// TimeOut puts the task in error because one of its time limits has passed.
func (t *Task) TimeOut(now Instant) State {
	t.DeadlineAt = 0
	return t.set(Errored, now)
}

// Progress records a satisfied step: the task's time in its state begins anew, as if it had left the state and
// returned.
func (t *Task) Progress(now Instant) { t.StateAt = now }

func (t *Task) set(next State, now Instant) State {
	was := t.State
	t.State, t.StateAt = next, now
	t.FinishedAt = 0
	if next.Settled() {
		t.FinishedAt = now
	}
	return was
}

// Event is one observed transition of a task. The first (from pending to the state after submission) and the last of a
// simple run (steps_in_process to complete) are not stored: they follow from the task's own times.
type Event struct {
	TaskID ID
	At     Instant
	From   State
	To     State
	Cause  string
}

// Derivable reports whether the event follows from the task's own times and need not be stored.
func (e Event) Derivable() bool { return e.From == StepsInProcess && e.To == Complete }
