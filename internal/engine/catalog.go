package engine

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/taskerhq/tasker/internal/task"
)

// catalog caches what hardly ever changes: templates by key and by name, their
// compiled schemas, and routes. A version of a template is immutable, so an
// entry never goes stale; only "the newest version" is asked of the store.
type catalog struct {
	store Store

	mu      sync.RWMutex
	byDef   map[int64]*task.Template
	byName  map[templateName]*task.Template
	schemas map[int64]SchemaChecker
	routes  map[routeName]*task.Route
	byRoute map[int64]*task.Route
	// lists of routes by what a worker says that it serves, and by worker
	lists    map[workerKind][]int64
	byWorker map[int64][]int64

	widened func() // is called when a route is new here
}

type templateName struct {
	adhoc                    bool
	namespace, name, version string
}

type routeName struct{ namespace, handler, capabilities string }

func nameOfRoute(r task.Route) routeName {
	return routeName{r.Namespace, r.Handler, r.CapabilityKey()}
}

func newCatalog(s Store, widened func()) *catalog {
	return &catalog{store: s, widened: widened, byDef: map[int64]*task.Template{}, byName: map[templateName]*task.Template{},
		schemas: map[int64]SchemaChecker{}, routes: map[routeName]*task.Route{}, byRoute: map[int64]*task.Route{},
		lists: map[workerKind][]int64{}, byWorker: map[int64][]int64{}}
}

// maxCached bounds the templates kept; past it the cache starts afresh.
const maxCached = 10_000

func (c *catalog) addTemplate(t *task.Template) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.byDef) >= maxCached {
		clear(c.byDef)
		clear(c.byName)
		clear(c.schemas)
	}
	c.byDef[t.DefID] = t
	c.byName[templateName{t.Adhoc, t.Namespace, t.Name, t.Version}] = t
}

// template returns the template of a task, read with find when it is not
// cached, or the error that it is gone.
func (c *catalog) template(def int64, find func(int64) (*task.Template, error)) (*task.Template, error) {
	c.mu.RLock()
	t := c.byDef[def]
	c.mu.RUnlock()
	if t != nil {
		return t, nil
	}
	t, err := find(def)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, task.Errorf(task.Internal, "the template with key %d is gone", def)
	}
	c.addTemplate(t)
	return t, nil
}

// named returns a version of a template, the newest when version is "", or nil.
func (c *catalog) named(ctx context.Context, namespace, name, version string) (*task.Template, error) {
	if version != "" {
		if t := c.cached(templateName{false, namespace, name, version}); t != nil {
			return t, nil
		}
	}
	t, err := c.store.FindTemplate(ctx, namespace, name, version)
	if err == nil && t != nil {
		c.addTemplate(t)
	}
	return t, err
}

func (c *catalog) cached(n templateName) *task.Template {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.byName[n]
}

// adhoc returns the stand-in template of a handler, stored if it is new.
func (c *catalog) adhoc(ctx context.Context, namespace, handler string) (*task.Template, error) {
	if t := c.cached(templateName{true, namespace, handler, ""}); t != nil {
		return t, nil
	}
	t, err := c.store.FindAdhoc(ctx, namespace, handler)
	if err != nil {
		return nil, err
	}
	if t == nil {
		if t, err = c.insert(ctx, task.Adhoc(namespace, handler)); err != nil {
			return nil, err
		}
	}
	c.addTemplate(t)
	return t, nil
}

// insert stores a template and returns it, or the one that was there before.
func (c *catalog) insert(ctx context.Context, t *task.Template) (*task.Template, error) {
	var stored *task.Template
	err := c.store.Write(ctx, func(tx Tx) error {
		fresh := *t
		existing, err := tx.InsertTemplate(&fresh)
		if stored = existing; stored == nil {
			stored = &fresh
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	c.addTemplate(stored)
	return stored, nil
}

// loadRoutes reads the routes that the store knows.
func (c *catalog) loadRoutes(ctx context.Context) error {
	routes, err := c.store.Routes(ctx)
	if err == nil {
		c.addRoutes(routes...)
	}
	return err
}

// addRoutes reports whether one of the routes is new here.
func (c *catalog) addRoutes(routes ...*task.Route) bool {
	c.mu.Lock()
	fresh := false
	for _, r := range routes {
		if c.byRoute[r.ID] == nil {
			fresh = true
			c.routes[nameOfRoute(*r)], c.byRoute[r.ID] = r, r
		}
	}
	if fresh {
		clear(c.lists)
		clear(c.byWorker)
	}
	c.mu.Unlock()
	if fresh {
		c.widened()
	}
	return fresh
}

// route returns the stored route for a namespace, handler and capability set,
// and whether it is new here.
func (c *catalog) route(ctx context.Context, want task.Route) (*task.Route, bool, error) {
	name := nameOfRoute(want)
	c.mu.RLock()
	r := c.routes[name]
	c.mu.RUnlock()
	if r != nil {
		return r, false, nil
	}
	err := c.store.Write(ctx, func(tx Tx) error {
		fresh := want
		r = &fresh
		return tx.InsertRoute(r)
	})
	if err != nil {
		return nil, false, err
	}
	return r, c.addRoutes(r), nil
}

// routeByID returns a route that the catalog has seen, or nil.
func (c *catalog) routeByID(id int64) *task.Route {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.byRoute[id]
}

// workerKind is what decides which routes a worker can serve. It never changes
// for a worker.
type workerKind struct{ namespaces, handlers, capabilities string }

func kindOf(w *task.Worker) workerKind {
	join := func(list []string) string { return strings.Join(list, "\n") }
	return workerKind{join(w.Namespaces), join(w.Handlers), join(w.Capabilities)}
}

// served returns the routes that a worker can serve, sorted. Workers that are
// alike get the same list, not only an equal one, until a route is new. It is
// not to be changed.
func (c *catalog) served(w *task.Worker) []int64 {
	c.mu.RLock()
	ids, ok := c.byWorker[w.No]
	c.mu.RUnlock()
	if ok {
		return ids
	}
	kind := kindOf(w)
	c.mu.Lock()
	defer c.mu.Unlock()
	if ids, ok = c.lists[kind]; !ok {
		for id, r := range c.byRoute {
			if w.Serves(*r) {
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
		makeRoom(c.lists, maxCached)
		c.lists[kind] = ids
	}
	makeRoom(c.byWorker, maxCachedWorkers)
	c.byWorker[w.No] = ids
	return ids
}

// makeRoom empties a cache that is full.
func makeRoom[K comparable, V any](cache map[K]V, limit int) {
	if len(cache) >= limit {
		clear(cache)
	}
}

// schema returns the compiled input schema of a template, nil when it has none.
func (c *catalog) schema(t *task.Template, compile SchemaCompiler) (SchemaChecker, error) {
	if len(t.InputSchema) == 0 {
		return nil, nil
	}
	c.mu.RLock()
	s := c.schemas[t.DefID]
	c.mu.RUnlock()
	if s != nil {
		return s, nil
	}
	if compile == nil {
		return nil, task.Errorf(task.Internal, "no schema compiler is configured")
	}
	s, err := compile(t.InputSchema)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.schemas[t.DefID] = s
	c.mu.Unlock()
	return s, nil
}
