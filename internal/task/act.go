package task

// Act is one thing that an operator did: to a task, a step, a case, a worker or a
// template. Acts are only ever added, and outlive what they are about.
type Act struct {
	No     int64 // grows with every act; set by the store
	At     Instant
	TaskID ID // zero for an act that is about no task
	StepID ID // zero unless the act is on a step
	CaseID ID // zero unless the act is on a case
	// WorkerID is zero unless the act is on a worker.
	WorkerID ID
	// Namespace and Template are those of the task, or the template that was
	// registered; "" where there is neither.
	Namespace string
	Template  string
	Kind      string
	Actor     string // the name that was claimed
	Auth      Auth   // how the actor was known
	Key       string // name of the API key; "" unless Auth is AuthKey
	Reason    string
	From      string
	To        string
	Data      []byte // JSON: what the operator supplied
	// DataOmitted: a list has left out Data, which would have made the page too long.
	DataOmitted bool
	// Unread says why a part of the row could not be read, "" for nearly all.
	Unread string
}

// The kinds of acts that are about no task.
const (
	ActRegisterTemplate = "register_template"
	ActDrainWorker      = "drain_worker"
	ActResumeWorker     = "resume_worker"
	ActUseKey           = "use_key"
)

// Auth says how the actor of an act was known.
type Auth string

// The ways. An act that was stored before this was has "".
const (
	AuthKey    Auth = "key"    // by an API key
	AuthNone   Auth = "none"   // not at all: the server has no keys, or runs inside its caller
	AuthSystem Auth = "system" // Tasker did it
)
