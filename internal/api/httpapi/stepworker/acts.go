package stepworker

// The bodies of acts on workers differ in the name of the actor; protocol.WorkerAct has one for all.

// DrainRequest ends a worker's intake.
type DrainRequest struct {
	Final     bool   `json:"final,omitempty"`
	DrainedBy string `json:"drained_by,omitempty" doc:"Actor. Defaults to the name of the API key, else to anonymous; for a final drain with the permission work, to the worker." maxLength:"255"`
	Reason    string `json:"reason,omitempty" doc:"Reason for the act. Defaults to \"no reason given\"." maxLength:"4096"`
}

// ResumeRequest revokes a drain. The audit trail records it.
type ResumeRequest struct {
	ResumedBy string `json:"resumed_by,omitempty" doc:"Actor. Defaults to the name of the API key, else to anonymous." maxLength:"255"`
	Reason    string `json:"reason,omitempty" doc:"Reason for the act. Defaults to \"no reason given\"." maxLength:"4096"`
}

// CordonRequest takes a worker out of service for new steps. The audit trail records it.
type CordonRequest struct {
	CordonedBy string `json:"cordoned_by,omitempty" doc:"Actor. Defaults to the name of the API key, else to anonymous." maxLength:"255"`
	Reason     string `json:"reason,omitempty" doc:"Reason for the act, shown with the worker. Defaults to \"no reason given\"." maxLength:"4096"`
}

// UncordonRequest reverts a cordon. The audit trail records it.
type UncordonRequest struct {
	UncordonedBy string `json:"uncordoned_by,omitempty" doc:"Actor. Defaults to the name of the API key, else to anonymous." maxLength:"255"`
	Reason       string `json:"reason,omitempty" doc:"Reason for the act. Defaults to \"no reason given\"." maxLength:"4096"`
}
