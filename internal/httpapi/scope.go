package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/access"
	"github.com/taskerhq/tasker/internal/task"
	"github.com/taskerhq/tasker/internal/template"
)

// A key may be limited to namespaces. A request that names another namespace is forbidden here. One that names a task,
// a step or a case by its ID is passed on: the context contains the key, and the Backend's verb answers that the object
// does not exist, so that IDs cannot be probed. The namespaces of a worker never change, so they are checked here too.
// None of this costs anything without such keys.

// defaultNamespace is the namespace of a task that names none.
const defaultNamespace = template.DefaultNamespace

// reachNamespace refuses a namespace outside the key's limits.
func reachNamespace(ctx context.Context, namespace, location string) error {
	p := access.From(ctx)
	if !p.Limited() {
		return nil
	}
	if namespace == "" {
		namespace = defaultNamespace
	}
	if p.Reaches(namespace) {
		return nil
	}
	return outside(p, tasker.Detail{Location: location,
		Message: fmt.Sprintf("the key does not reach the namespace %q", namespace)})
}

func outside(p *access.Principal, details ...tasker.Detail) error {
	return &tasker.Error{Code: tasker.CodeForbidden,
		Message: "the key " + p.Name + " is limited to other namespaces",
		Hint:    "it reaches " + strings.Join(p.Namespaces(), ", "), Details: details}
}

// narrow limits the namespace of a filter to the key's reach. A filter takes one namespace, so a key with several must
// name one.
func narrow(ctx context.Context, namespace string) (string, error) {
	p := access.From(ctx)
	if !p.Limited() || namespace != "" && p.Reaches(namespace) {
		return namespace, nil
	}
	reached := p.Namespaces()
	if namespace == "" && len(reached) == 1 {
		return reached[0], nil
	}
	message := fmt.Sprintf("the key does not reach the namespace %q", namespace)
	if namespace == "" {
		message = "the key reaches several namespaces: name one"
	}
	return "", outside(p, tasker.Detail{Location: "query.namespace", Message: message})
}

// reachDocument refuses a template of a namespace outside the limits. It uses the engine's own parser: another one
// could see another namespace. The engine checks the names of priority levels.
func reachDocument(ctx context.Context, src tasker.TemplateSource) error {
	if !access.From(ctx).Limited() {
		return nil
	}
	anyLevel := func(string) (int, bool) { return 0, true }
	parsed, err := template.Parse(cmp.Or(src.Filename, "template"), []byte(src.YAML), anyLevel)
	if err != nil {
		return unreadable(err)
	}
	return reachNamespace(ctx, parsed.Namespace, "namespace_name")
}

// unreadable turns the parser's report into the engine's error.
func unreadable(err error) error {
	var e *task.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("read template: %w", err)
	}
	out := &tasker.Error{Code: tasker.Code(e.Code), Message: e.Message, Hint: e.Hint, Err: err}
	for _, p := range e.Problems {
		out.Details = append(out.Details, tasker.Detail{Location: p.Location, Message: p.Message})
	}
	return out
}

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
		if err := reachNamespace(ctx, namespace, fmt.Sprintf("/namespaces/%d", i)); err != nil {
			return err
		}
	}
	return nil
}

// reachedWorkers removes the workers that serve no namespace of the key.
func reachedWorkers(ctx context.Context, workers []tasker.WorkerInfo) []tasker.WorkerInfo {
	p := access.From(ctx)
	if !p.Limited() {
		return workers
	}
	return slices.DeleteFunc(slices.Clone(workers), func(w tasker.WorkerInfo) bool {
		return len(w.Namespaces) > 0 && !slices.ContainsFunc(w.Namespaces, p.Reaches)
	})
}

// reachWorker refuses a worker that serves more namespaces than the key reaches: with its id, a key limited to one
// namespace could take the work of all.
func (s *server) reachWorker(ctx context.Context, id uuid.UUID) error {
	p := access.From(ctx)
	if !p.Limited() {
		return nil
	}
	namespaces, known := s.workers.of(id)
	if !known {
		w, err := s.backend.Registered(ctx, id)
		switch {
		case err == nil:
			namespaces = w.Namespaces
			s.workers.note(id, namespaces)
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

// knownWorkers bounds the cache; beyond it, the whole cache is dropped.
const knownWorkers = 10_000

func (w *workerScopes) note(id uuid.UUID, namespaces []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known == nil || len(w.known) >= knownWorkers {
		w.known = map[uuid.UUID][]string{}
	}
	w.known[id] = namespaces
}

func (w *workerScopes) of(id uuid.UUID) ([]string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	namespaces, known := w.known[id]
	return namespaces, known
}
