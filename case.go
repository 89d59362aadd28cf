package tasker

// CaseReason says why a case was opened.
type CaseReason string

// The reasons. CaseCause tells more.
const (
	ReasonStaleness         CaseReason = "staleness_timeout"         // too long in one state, or in all
	ReasonMaxRetries        CaseReason = "max_retries_exceeded"      // in error: a step failed for good
	ReasonCycle             CaseReason = "dependency_cycle_detected" // steps wait for each other
	ReasonWorkerUnavailable CaseReason = "worker_unavailable"        // ready, and no live worker serves the route
	ReasonManual            CaseReason = "manual_dlq"                // opened by hand
)

// CaseResolution is what has become of a case.
type CaseResolution string

// The resolutions. All but pending are final.
const (
	CasePending           CaseResolution = "pending"
	CaseManuallyResolved  CaseResolution = "manually_resolved"
	CasePermanentlyFailed CaseResolution = "permanently_failed"
	CaseCancelled         CaseResolution = "cancelled" // a duplicate, or nothing was wrong
)
