package stepworker

import (
	"context"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/access"
	"github.com/taskerhq/tasker/internal/httpapi/endpoint"
)

// narrowWorker limits the namespaces of a registration to the key's reach: none means all, which for a limited key is
// all of its own.
func narrowWorker(ctx context.Context, reg *tasker.WorkerRegistration) error {
	p := access.From(ctx)
	if !p.Limited() {
		return nil
	}
	if len(reg.Namespaces) == 0 {
		reg.Namespaces = p.Namespaces()
	}
	for i, namespace := range reg.Namespaces {
		if err := endpoint.ReachNamespace(ctx, namespace, fmt.Sprintf("/namespaces/%d", i)); err != nil {
			return err
		}
	}
	return nil
}

// reachedWorkers removes the workers that serve no namespace of the key. A worker without namespaces serves all, so it
// is kept.
func reachedWorkers(ctx context.Context, workers []tasker.WorkerInfo) []tasker.WorkerInfo {
	p := access.From(ctx)
	if !p.Limited() {
		return workers
	}
	return slices.DeleteFunc(slices.Clone(workers), func(w tasker.WorkerInfo) bool {
		return len(w.Namespaces) > 0 && !slices.ContainsFunc(w.Namespaces, p.Reaches)
	})
}
