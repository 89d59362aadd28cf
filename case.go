package tasker

// CaseReason is the reason why a case was opened.
type CaseReason string

// The reasons of cases. CaseCause gives the detail.
const (
	ReasonStaleness         CaseReason = "staleness_timeout"         // too long in one state, or in all together
	ReasonMaxRetries        CaseReason = "max_retries_exceeded"      // in error: a step failed for good
	ReasonCycle             CaseReason = "dependency_cycle_detected" // steps wait for each other
	ReasonWorkerUnavailable CaseReason = "worker_unavailable"        // a step is ready, and no live worker serves its route
	ReasonManual            CaseReason = "manual_dlq"                // opened by hand
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
