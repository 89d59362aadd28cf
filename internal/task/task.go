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
	StateAt    Instant // since when it is in its state, or made progress in it
	RunAt      Instant // 0: at once
	FinishedAt Instant // terminal or in error
	DeadlineAt Instant // when the task as a whole times out; 0: never

	// IdempotencyKey and CorrelationID are looked up, hence not in Meta.
	IdempotencyKey string
	CorrelationID  string
	Meta           Meta
	// Unread says why a part of the row could not be read, "" for nearly all.
	Unread string
}

// Meta is what a task carries for people to read.
type Meta struct {
	Tags                []string `json:"tags,omitempty"`
	ParentCorrelationID string   `json:"parent_correlation_id,omitempty"`
	Initiator           string   `json:"initiator,omitempty"`
	SourceSystem        string   `json:"source_system,omitempty"`
	Reason              string   `json:"reason,omitempty"`
	CancelReason        string   `json:"cancel_reason,omitempty"`
	CancelledBy         string   `json:"cancelled_by,omitempty"`
	CancelledKey        string   `json:"cancelled_by_key,omitempty"` // name of the API key
	// TraceParent is the W3C trace context that the task was submitted in.
	TraceParent string `json:"traceparent,omitempty"`
	// Priority is how the submission wrote it, where that is not the name of the level.
	Priority string `json:"priority,omitempty"`
	// Estimate is how many seconds the submitter thinks that it will run; 0: he does not say.
	Estimate int `json:"estimated_duration_seconds,omitempty"`
	// Case tells whether there is a case of the task, so that nobody has to ask.
	Case CaseMark `json:"case,omitempty"`
	// Replays counts how often the task was taken out of error by a replay; the
	// others are about the last one.
	Replays    int     `json:"replays,omitempty"`
	ReplayedAt Instant `json:"replayed_at,omitempty"`
	ReplayedBy string  `json:"replayed_by,omitempty"`
	// ReplayedKey is the name of the API key.
	ReplayedKey string `json:"replayed_by_key,omitempty"`
	// ContextEdits counts the changes of the context since submission, and so is its
	// version; the other two are about the last one.
	ContextEdits int     `json:"context_edits,omitempty"`
	EditedAt     Instant `json:"context_edited_at,omitempty"`
	EditedKey    string  `json:"edited_by_key,omitempty"` // name of the API key
	EditedBy     string  `json:"context_edited_by,omitempty"`
}

// CaseMark is what a task knows of its cases.
type CaseMark string

// The marks; none when there never was a case.
const (
	HasPending CaseMark = "pending"
	HasClosed  CaseMark = "closed" // cases, all of them resolved
	HadClosed  CaseMark = "over"   // cases, all of them resolved and deleted since
)

// Kept reports whether there are cases.
func (c CaseMark) Kept() bool { return c == HasPending || c == HasClosed }

// Changed reports whether Meta may differ from what it was at submission.
func (m Meta) Changed() bool {
	return m.CancelReason != "" || m.CancelledBy != "" || m.Case != "" || m.Replays > 0 || m.ContextEdits > 0
}

// Empty reports whether there is nothing to store.
func (m Meta) Empty() bool {
	return len(m.Tags) == 0 && m.ParentCorrelationID == "" && m.Initiator == "" && m.SourceSystem == "" &&
		m.Reason == "" && m.TraceParent == "" && m.Estimate == 0 && m.Priority == "" && !m.Changed()
}

// Moved counts a step that changed from one state to another, while none is due,
// and returns the state that the task was in when its own state follows, or ""
// when it stays.
// FinishedAt is kept in step with the state.
func (t *Task) Moved(from, to StepState, now Instant) State {
	t.Counts.Move(from, to)
	return t.Reevaluate(now, false)
}

// Reevaluate brings the state in line with the counts, and with whether a step is
// due where they leave that open. It returns the state left, or "" when nothing
// changed.
func (t *Task) Reevaluate(now Instant, due bool) State {
	next := t.Counts.Evaluate(t.State, due)
	if next == t.State {
		return ""
	}
	return t.set(next, now)
}

// Cancel makes the task cancelled; its steps are the caller's business.
func (t *Task) Cancel(now Instant) State { return t.set(Cancelled, now) }

// TimeOut puts the task in error because one of its times has passed.
func (t *Task) TimeOut(now Instant) State {
	t.DeadlineAt = 0
	return t.set(Errored, now)
}

// Progress notes that a step has come to a good end: the time in which the task
// must make some begins anew, as if it had left its state and come back.
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

// Event is one observed transition of a task. The first (pending to the state
// that submission leaves) and the last of a straight run (steps_in_process to
// complete) are not stored: they follow from the task's own times.
type Event struct {
	TaskID ID
	At     Instant
	From   State
	To     State
	Cause  string
}

// Derivable reports whether the event need not be stored.
func (e Event) Derivable() bool { return e.From == StepsInProcess && e.To == Complete }
