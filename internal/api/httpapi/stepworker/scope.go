package stepworker

import (
	"context"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/worker/protocol"
)

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

// narrowWorker limits the namespaces of a registration to the key's reach: for a limited key, none and all mean the
// namespaces of the key.
func narrowWorker(ctx context.Context, reg *protocol.WorkerRegistration) error {
	p := access.From(ctx)
	if !p.Limited() {
		return nil
	}
	if len(reg.Namespaces) == 0 || len(reg.Namespaces) == 1 && reg.Namespaces[0] == protocol.AllNamespaces {
		reg.Namespaces = p.Namespaces()
	}
	for i, namespace := range reg.Namespaces {
		if err := endpoint.ReachNamespace(ctx, namespace, fmt.Sprintf("/namespaces/%d", i)); err != nil {
			return err
		}
	}
	return nil
}

// reachedWorkers removes the workers that serve no namespace of the key. One that serves all is kept.
func reachedWorkers(ctx context.Context, workers []protocol.WorkerInfo) []protocol.WorkerInfo {
	p := access.From(ctx)
	if !p.Limited() {
		return workers
	}
	return slices.DeleteFunc(slices.Clone(workers), func(w protocol.WorkerInfo) bool {
		return !slices.Contains(w.Namespaces, protocol.AllNamespaces) && !slices.ContainsFunc(w.Namespaces, p.Reaches)
	})
}
