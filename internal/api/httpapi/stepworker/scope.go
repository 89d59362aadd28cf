package stepworker

import (
	"context"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/model/access"
)

// narrowWorker limits a registration to the key's namespaces: for a limited key, none and all mean the key's.
func narrowWorker(ctx context.Context, reg *tasker.WorkerRegistration) error {
	p := access.From(ctx)
	if !p.Limited() {
		return nil
	}
	if len(reg.Namespaces) == 0 || len(reg.Namespaces) == 1 && reg.Namespaces[0] == tasker.AllNamespaces {
		reg.Namespaces = p.Namespaces()
	}
	for i, namespace := range reg.Namespaces {
		if err := endpoint.ReachNamespace(ctx, namespace, fmt.Sprintf("/namespaces/%d", i)); err != nil {
			return err
		}
	}
	return nil
}

// reachedWorkers removes workers that serve no namespace of the key. It keeps those that serve all.
func reachedWorkers(ctx context.Context, workers []tasker.WorkerInfo) []tasker.WorkerInfo {
	p := access.From(ctx)
	if !p.Limited() {
		return workers
	}
	return slices.DeleteFunc(slices.Clone(workers), func(w tasker.WorkerInfo) bool {
		return !slices.Contains(w.Namespaces, tasker.AllNamespaces) && !slices.ContainsFunc(w.Namespaces, p.Reaches)
	})
}
