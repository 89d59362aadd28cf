package task

// Act is an operator's action, append-only. It outlives its subject.
type Act struct {
	No       int64 // assigned by the store, increasing
	At       Instant
	TaskID   ID
	StepID   ID
	CaseID   ID
	WorkerID ID
	// Namespace and Template are "" without a task or template.
	Namespace   string
	Template    string
	Kind        string
	Actor       string
	Auth        Auth
	Key         string // API key; "" unless Auth is AuthKey
	Reason      string
	From        string
	To          string
	Data        []byte
	DataOmitted bool
	Opened      bool
	// Unread names the unreadable part of the row.
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

	ActSeeSensitive = "see_sensitive"

	ActPause  = "pause"
	ActResume = "resume"

	ActSetLimit    = "set_limit"
	ActDeleteLimit = "delete_limit"

	ActOpenOutage  = "open_outage"
	ActCloseOutage = "close_outage"

	ActSignIn            = "sign_in"
	ActSignOutEverywhere = "sign_out_everywhere"
)

// Auth is how the actor of an act was authenticated.
type Auth string

// The ways of authentication; "" for acts of older versions.
const (
	AuthKey    Auth = "key"
	AuthNone   Auth = "none" // the server has no keys, or runs inside its caller
	AuthSystem Auth = "system"
)
