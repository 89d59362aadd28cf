package memstore

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// FindTemplateByDef implements engine.ReadTemplates.
func (s *Store) FindTemplateByDef(ctx context.Context, def int64) (*task.Template, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return cloneTemplate(st.templates[def]), nil
}

// FindTemplate implements engine.ReadTemplates. An empty version means the newest. Templates of single handlers are not
// found.
func (s *Store) FindTemplate(ctx context.Context, namespace, name, version string) (*task.Template, error) {
	return s.newestTemplate(ctx, func(t *task.Template) bool {
		return !t.Adhoc && t.Namespace == namespace && t.Name == name && (version == "" || t.Version == version)
	})
}

// FindAdhoc implements engine.ReadTemplates.
func (s *Store) FindAdhoc(ctx context.Context, namespace, handler string) (*task.Template, error) {
	return s.newestTemplate(ctx, func(t *task.Template) bool {
		return t.Adhoc && t.Namespace == namespace && t.Name == handler
	})
}

// newestTemplate returns the matching template with the highest number, nil for none.
func (s *Store) newestTemplate(ctx context.Context, match func(*task.Template) bool) (*task.Template, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	for _, def := range slices.Backward(sortedKeys(st.templates)) {
		if t := st.templates[def]; match(t) {
			return cloneTemplate(t), nil
		}
	}
	return nil, nil
}

// ListTemplates implements engine.ReadTemplates, newest first: by descending number.
func (s *Store) ListTemplates(ctx context.Context, f engine.TemplateFilter) ([]*task.Template, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var page []*task.Template
	for _, def := range slices.Backward(sortedKeys(st.templates)) {
		t := st.templates[def]
		if len(page) < f.Limit && !t.Adhoc && (f.Below == 0 || def < f.Below) &&
			(f.Namespace == "" || t.Namespace == f.Namespace) && (f.Name == "" || t.Name == f.Name) {
			page = append(page, cloneTemplate(t))
		}
	}
	return page, nil
}

// Routes implements engine.ReadRoutes.
func (s *Store) Routes(ctx context.Context) ([]*task.Route, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var out []*task.Route
	for _, id := range sortedKeys(st.routes) {
		out = append(out, cloneRoute(st.routes[id]))
	}
	return out, nil
}

// RoutesAfter implements engine.ReadRoutes.
// Routes are sorted by their numbers.
func (s *Store) RoutesAfter(ctx context.Context, behind int64, limit int) ([]*task.Route, error) {
	all, err := s.Routes(ctx)
	all = slices.DeleteFunc(all, func(r *task.Route) bool { return r.ID <= behind })
	return all[:min(len(all), limit)], err
}

// FindRoute implements engine.ReadRoutes. Capabilities must be equal and in sorted order.
func (s *Store) FindRoute(ctx context.Context, like task.Route) (*task.Route, error) {
	all, err := s.Routes(ctx)
	for _, r := range all {
		if r.Namespace == like.Namespace && r.Handler == like.Handler && r.CapabilityKey() == like.CapabilityKey() {
			return r, nil
		}
	}
	return nil, err
}

// CountRoutes implements engine.ReadRoutes.
func (s *Store) CountRoutes(ctx context.Context, namespace string, limit int) (int, error) {
	all, err := s.Routes(ctx)
	all = slices.DeleteFunc(all, func(r *task.Route) bool { return r.Namespace != namespace })
	return min(len(all), limit), err
}

// CountAdhoc implements engine.ReadTemplates.
func (s *Store) CountAdhoc(ctx context.Context, namespace string, limit int) (int, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	n := 0
	for _, t := range st.templates {
		if t.Adhoc && t.Namespace == namespace {
			n++
		}
	}
	return min(n, limit), nil
}

// Workers implements engine.Reader, by number, including dead ones.
func (s *Store) Workers(ctx context.Context, since task.Instant) ([]*task.Worker, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var out []*task.Worker
	for _, no := range sortedKeys(st.workers) {
		if w := st.workers[no]; w.State != task.WorkerDead || w.LastHeartbeat >= since {
			out = append(out, cloneWorker(w))
		}
	}
	return out, nil
}

// ListWorkers implements engine.Reader.
func (s *Store) ListWorkers(ctx context.Context, since task.Instant, behind int64, limit int) ([]*task.Worker, error) {
	all, err := s.Workers(ctx, since)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(w *task.Worker) bool { return w.No <= behind })
	return all[:min(limit, len(all))], nil
}

// CountWorkers implements engine.Reader.
func (s *Store) CountWorkers(ctx context.Context, limit int) (int, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	return min(len(st.workers), limit), nil
}

// KnowsWorker implements engine.Reader.
func (s *Store) KnowsWorker(ctx context.Context, name, host string) (bool, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	for _, w := range st.workers {
		if w.Name == name && w.Host == host {
			return true, nil
		}
	}
	return false, nil
}

// FindWorker implements engine.Reader.
// nil: it is unknown or was forgotten.
func (s *Store) FindWorker(ctx context.Context, id task.ID) (*task.Worker, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	for _, w := range st.workers {
		if w.ID == id {
			return cloneWorker(w), nil
		}
	}
	return nil, nil
}

// FindWorkerByNo implements engine.Reader.
func (s *Store) FindWorkerByNo(ctx context.Context, no int64) (*task.Worker, error) {
	st, done, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return cloneWorker(st.workers[no]), nil
}
