package task

// Act is an operator's action on a task, a step, a case, a worker or a template. Acts are append-only and outlive
// their subject.
type Act struct {
	No     int64 // increases with every act; the store sets it
	At     Instant
	TaskID ID // zero for an act on no task
	StepID ID // zero unless the act is on a step
	CaseID ID // zero unless the act is on a case
	// WorkerID is zero unless the act is on a worker.
	WorkerID ID
	// Namespace and Template belong to the task or the registered template, "" without either.
	Namespace string
	Template  string
	Kind      string
	Actor     string // the name as claimed
	Auth      Auth   // how the actor was authenticated
	Key       string // name of the API key; "" unless Auth is AuthKey
	Reason    string
	From      string
	To        string
	Data      []byte // JSON: the operator's input
	// DataOmitted: a list omits Data to keep the page short.
	DataOmitted bool
	// Opened: the store holds a part of Data encrypted.
	Opened bool
	// Unread says which part of the row is unreadable, "" for none.
	Unread string
}

// The kinds of acts without a task.
const (
	ActRegisterTemplate = "register_template"
	ActDrainWorker      = "drain_worker"
	ActResumeWorker     = "resume_worker"
	ActCordonWorker     = "cordon_worker"
	ActUncordonWorker   = "uncordon_worker"
	ActUseKey           = "use_key"
	ActDetectStaleness  = "detect_staleness"

	// ActSeeSensitive is a look at sensitive values of templates and sources.
	ActSeeSensitive = "see_sensitive"

	// A pause of a route, a handler, a template or a namespace, and its end.
	ActPause  = "pause"
	ActResume = "resume"

	// An operator's limit, set or changed, and its end.
	ActSetLimit    = "set_limit"
	ActDeleteLimit = "delete_limit"

	// An outage of a route: it opened automatically; an operator or a probe closed it.
	ActOpenOutage  = "open_outage"
	ActCloseOutage = "close_outage"

	ActSignIn            = "sign_in"
	ActSignOutEverywhere = "sign_out_everywhere"
)

// Auth is how the actor of an act was authenticated.
type Auth string

// The ways of authentication. An act stored by an older version has "".
const (
	AuthKey    Auth = "key"    // by an API key
	AuthNone   Auth = "none"   // without authentication: the server has no keys, or runs inside its caller
	AuthSystem Auth = "system" // Tasker is the actor
)
