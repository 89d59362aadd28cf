package stepworker

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/google/uuid"

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

// Reach refuses a worker that serves more namespaces than the key reaches: with its id, a key limited to one
// namespace could take the work of all.
//
// An unlimited key costs nothing; a limited one costs a query for each worker that this process has not seen yet.
// NotFound, so that the IDs of other workers cannot be probed.
func (v *Verbs) Reach(ctx context.Context, id uuid.UUID) error {
	p := access.From(ctx)
	if !p.Limited() {
		return nil
	}
	namespaces, known := v.workers.of(id)
	if !known {
		w, err := v.backend.Registered(ctx, id)
		switch {
		case err == nil:
			namespaces = w.Namespaces
			v.workers.note(id, namespaces)
		case tasker.ErrorCode(err) != tasker.CodeNotFound:
			return err // else the same answer, whether it exists or not
		}
	}
	if len(namespaces) == 0 || slices.ContainsFunc(namespaces, func(n string) bool { return !p.Reaches(n) }) {
		return tasker.Errorf(tasker.CodeNotFound, "there is no worker %s", id)
	}
	return nil
}

// workerScopes caches the namespaces of workers. They never change, so a poll need not query the store. It is safe for
// concurrent use.
type workerScopes struct {
	mu    sync.Mutex
	known map[uuid.UUID][]string
}

// knownWorkers bounds the cache; beyond it, the whole cache is dropped. Dropping is simpler than choosing, and an entry
// costs one query to have again.
const knownWorkers = 10_000

// note remembers the namespaces of a worker.
func (w *workerScopes) note(id uuid.UUID, namespaces []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known == nil || len(w.known) >= knownWorkers {
		w.known = map[uuid.UUID][]string{}
	}
	w.known[id] = namespaces
}

// of returns the namespaces of a worker, and whether they are known. An empty list is all namespaces.
func (w *workerScopes) of(id uuid.UUID) ([]string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	namespaces, known := w.known[id]
	return namespaces, known
}
