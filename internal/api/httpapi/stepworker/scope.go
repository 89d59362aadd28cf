package stepworker

import (
	"context"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/worker/protocol"
)

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
