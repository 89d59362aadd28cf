package kernel

import "github.com/taskerhq/tasker/internal/model/task"

// ActKind is the kind of an operator's act on a step.
type ActKind string

// The acts on a step.
const (
	ResetForRetry    ActKind = task.ActResetStep
	ResolveManually  ActKind = "resolve_manually"
	CompleteManually ActKind = "complete_manually"
	ApproveStep      ActKind = "approve"
	RejectStep       ActKind = "reject"
)

var ActKinds = []ActKind{ResetForRetry, ResolveManually, CompleteManually, ApproveStep, RejectStep}

// StepAct is one operator's act on a step. Actor and Reason are required.
type StepAct struct {
	Kind   ActKind
	Actor  string
	Reason string
	Expect task.Expectation
	// Result and Metadata are JSON for complete_manually.
	Result            []byte
	Metadata          []byte
	DiscardCheckpoint bool
}
