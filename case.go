package tasker

// CaseReason is the reason why a case was opened.
type CaseReason string

// The reasons of cases. CaseCause gives the detail.
const (
	// ReasonStaleness: the task was too long in one state, or in all together.
	ReasonStaleness CaseReason = "staleness_timeout"
	// ReasonMaxRetries: the task is in error, because a step failed for good.
	ReasonMaxRetries CaseReason = "max_retries_exceeded"
	// ReasonCycle: steps wait for each other.
	ReasonCycle CaseReason = "dependency_cycle_detected"
	// ReasonWorkerUnavailable: a step is ready, and no live worker serves its route.
	ReasonWorkerUnavailable CaseReason = "worker_unavailable"
	// ReasonManual: an operator opened the case.
	ReasonManual CaseReason = "manual_dlq"
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
