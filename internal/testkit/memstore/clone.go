package memstore

import (
	"slices"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Rows are cloned on the way in and out, so that no caller changes stored rows without saving them.

func cloneTask(t *task.Task) *task.Task {
	if t == nil {
		return nil
	}
	c := *t
	c.Context = slices.Clone(t.Context)
	c.Meta = cloneMeta(t.Meta)
	return &c
}

func cloneMeta(m task.Meta) task.Meta {
	m.Tags = slices.Clone(m.Tags)
	return m
}

func cloneStep(s *task.Step) *task.Step {
	c := *s
	c.Result = slices.Clone(s.Result)
	return &c
}

func cloneAttempt(a task.Attempt) task.Attempt {
	if a.Failure != nil {
		f := *a.Failure
		f.Details = slices.Clone(f.Details)
		a.Failure = &f
	}
	return a
}

func cloneAct(a task.Act) task.Act {
	a.Data = slices.Clone(a.Data)
	return a
}

func cloneCase(c *task.Case) *task.Case {
	if c == nil {
		return nil
	}
	k := listedCase(c)
	k.Snapshot, k.Former, k.Thread = slices.Clone(c.Snapshot), slices.Clone(c.Former), slices.Clone(c.Thread)
	return k
}

// listedCase is a clone without the snapshot, former occurrences and thread.
func listedCase(c *task.Case) *task.Case {
	k := *c
	k.Snapshot, k.Former, k.Thread, k.Metadata = nil, nil, nil, slices.Clone(c.Metadata)
	return &k
}

// bareCase is a listed case without the failure.
func bareCase(c *task.Case) *task.Case {
	if c == nil {
		return nil
	}
	k := listedCase(c)
	k.Fingerprint, k.Retryable, k.Step, k.Class, k.Message = "", false, "", "", ""
	return k
}

func cloneTemplate(t *task.Template) *task.Template {
	if t == nil {
		return nil
	}
	c := *t
	c.Priority = clonePointer(t.Priority)
	c.InputSchema = slices.Clone(t.InputSchema)
	c.Steps = slices.Clone(t.Steps)
	for i, s := range c.Steps {
		s.Initialization = slices.Clone(s.Initialization)
		s.Dependencies = slices.Clone(s.Dependencies)
		s.Capabilities = slices.Clone(s.Capabilities)
		s.Priority = clonePointer(s.Priority)
		s.Parents, s.Children, s.Undoes = slices.Clone(s.Parents), slices.Clone(s.Children), slices.Clone(s.Undoes)
		c.Steps[i] = s
	}
	return &c
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

func cloneRoute(r *task.Route) *task.Route {
	c := *r
	c.Capabilities = slices.Clone(r.Capabilities)
	return &c
}

func cloneWorker(w *task.Worker) *task.Worker {
	if w == nil {
		return nil
	}
	c := *w
	c.Namespaces = slices.Clone(w.Namespaces)
	c.Handlers = slices.Clone(w.Handlers)
	c.Capabilities = slices.Clone(w.Capabilities)
	return &c
}

// clones maps an empty list to nil, like a query without rows.
func clones[T any](list []T, clone func(T) T) []T {
	var out []T
	for _, v := range list {
		out = append(out, clone(v))
	}
	return out
}
