package task

// Task is one run of a template.
type Task struct {
	ID       ID
	DefID    int64
	State    State
	Priority int
	Counts   Counts
	Context  []byte

	CreatedAt  Instant
	StateAt    Instant // the last transition or later progress
	RunAt      Instant
	FinishedAt Instant
	DeadlineAt Instant // time-out of the whole task; 0: never

	// IdempotencyKey and CorrelationID are searched, so they are not in Meta.
	IdempotencyKey string
	CorrelationID  string
	Meta           Meta
	// Unread names the unreadable part of the row.
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
	CancelledKey        string   `json:"cancelled_by_key,omitempty"`
	TraceParent         string   `json:"traceparent,omitempty"`
	// Priority is the submission's spelling, if it differs from the level's name.
	Priority string  `json:"priority,omitempty"`
	Estimate int     `json:"estimated_duration_seconds,omitempty"`
	Deadline Instant `json:"deadline,omitempty"`
	// Case saves a query.
	Case         CaseMark `json:"case,omitempty"`
	Replays      int      `json:"replays,omitempty"`
	ReplayedAt   Instant  `json:"replayed_at,omitempty"`
	ReplayedBy   string   `json:"replayed_by,omitempty"`
	ReplayedKey  string   `json:"replayed_by_key,omitempty"`
	ContextEdits int      `json:"context_edits,omitempty"`
	EditedAt     Instant  `json:"context_edited_at,omitempty"`
	EditedKey    string   `json:"edited_by_key,omitempty"`
	EditedBy     string   `json:"context_edited_by,omitempty"`
	// OrderingKey runs the tasks of a namespace with the same key one at a time, in submission order. Held means
	// waiting for the turn.
	OrderingKey string `json:"ordering_key,omitempty"`
	Held        bool   `json:"held,omitempty"`
	// Limited means that limits of the template apply. Steps of other tasks have no permits.
	Limited bool `json:"limited,omitempty"`
	// Checkpoints are the ascending ordinals of steps that ever stored a checkpoint.
	Checkpoints []int       `json:"checkpoints,omitempty"`
	Logged      bool        `json:"logged,omitempty"`
	Unique      *UniqueMark `json:"unique,omitempty"`
	Intake      *Intake     `json:"intake,omitempty"`
	Child       *ChildOf    `json:"child,omitempty"`
	HasChildren bool        `json:"has_children,omitempty"`
	Schedule    *Scheduled  `json:"schedule,omitempty"`
}

// Scheduled identifies the firing that submitted a task.
type Scheduled struct {
	Name string  `json:"name"`
	At   Instant `json:"at"`
	Kind string  `json:"kind"` // time, missed, run or backfill
}

// Intake identifies the message from which a task was made.
type Intake struct {
	Source   string  `json:"source"`
	Queue    string  `json:"queue"`
	Position string  `json:"position,omitempty"`
	SentAt   Instant `json:"sent_at,omitempty"`
	// Wrapped means that the context is an object around the payload.
	Wrapped bool `json:"wrapped,omitempty"`
	// Sensitive are context pointers from the source at the message's arrival.
	Sensitive []string `json:"sensitive,omitempty"`
}

// Same reports whether two tasks are from one message, delivered twice.
func (in *Intake) Same(other *Intake) bool {
	return in != nil && other != nil && in.Position != "" && in.Source == other.Source && in.Queue == other.Queue &&
		in.Position == other.Position
}

// CaseMark records a task's cases.
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

// Moved counts a step's change of state while no step is due. It returns the task's previous state if that changes,
// else "". FinishedAt changes with the state.
func (t *Task) Moved(from, to StepState, now Instant) State {
	t.Counts.Move(from, to)
	return t.Reevaluate(now, false)
}

// Reevaluate updates the state from the counts and, if they are undecided, from due. It returns the previous state,
// or "" without a change.
func (t *Task) Reevaluate(now Instant, due bool) State {
	next := t.Counts.Evaluate(t.State, due)
	if next == t.State {
		return ""
	}
	return t.set(next, now)
}

// Cancel cancels the task; the caller cancels its steps.
func (t *Task) Cancel(now Instant) State { return t.set(Cancelled, now) }

// KeyLives reports whether an idempotency key whose window began after a time may be bound to the task. The task's
// key began with it; that of a submission answered by a unique key began before the task's end.
func (t *Task) KeyLives(after Instant) bool {
	return t.IdempotencyKey != "" && t.CreatedAt > after || t.Meta.Unique != nil && t.FinishedAt > after
}

// TimeOut puts the task in error because a time limit has passed.
func (t *Task) TimeOut(now Instant) State {
	t.DeadlineAt = 0
	return t.set(Errored, now)
}

// Progress restarts the task's time in its state after a satisfied step.
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

// Event is an observed transition of a task. The first (from pending) and the last of a simple run (steps_in_process
// to complete) are not stored, because the task's own times imply them.
type Event struct {
	TaskID ID
	At     Instant
	From   State
	To     State
	Cause  string
}

// Derivable reports whether the task's own times imply the event.
func (e Event) Derivable() bool { return e.From == StepsInProcess && e.To == Complete }
