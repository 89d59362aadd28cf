package engine

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/taskerhq/tasker/internal/kit/coalesce"
	"github.com/taskerhq/tasker/internal/model/task"
)

// catalog caches rows that hardly change: templates, their compiled schemas, and routes. Template versions are
// immutable, so entries never become stale; see catalog_newest.go for the newest. The cache is bounded and reads
// missing entries again. It is safe for concurrent use; mu guards the maps. Returned values are shared and must not
// be changed.
type catalog struct {
	store registry
	acts  ActStore

	mu      sync.RWMutex
	byDef   map[int64]*task.Template
	byName  map[templateName]*task.Template
	schemas map[int64]compiledSchema
	newest  newestTemplates
	routes  map[routeName]*knownRoute
	byRoute map[int64]*knownRoute
	// routes that workers serve, by their kind and number
	kinds    map[workerKind]*servedRoutes
	byWorker map[int64]*servedRoutes

	widened func([]*task.Route) // called with routes that are new, closed or open again

	// forgets counts how often routes were forgotten; read is its value when they were last read. See forgotten.
	forgets, read atomic.Int64
	reads         *coalesce.Group[struct{}, struct{}]

	// closures are the pauses in force, closed the routes that they close (nil for none). They change under mu and
	// are read without it. See closures.go.
	closures atomic.Pointer[closures]
	closed   atomic.Pointer[map[int64]struct{}]
	// limits of operators, nil for none, change likewise. See limits_known.go.
	limits atomic.Pointer[knownLimits]

	eviction eviction
}

type registry interface {
	Writer
	ReadTemplates
	ReadRoutes
}

// templateName identifies a version of a template; "" for an ad-hoc one.
type templateName struct {
	adhoc                    bool
	namespace, name, version string
}

// newCatalog returns an empty catalog. cluster is nil for a process that is alone with its store. widened is called
// without mu.
func newCatalog(s registry, acts ActStore, cluster Cluster, widened func([]*task.Route)) *catalog {
	c := &catalog{store: s, acts: acts, widened: widened, byDef: map[int64]*task.Template{},
		byName:  map[templateName]*task.Template{},
		schemas: map[int64]compiledSchema{}, routes: map[routeName]*knownRoute{}, byRoute: map[int64]*knownRoute{},
		kinds: map[workerKind]*servedRoutes{}, byWorker: map[int64]*servedRoutes{}, eviction: newEviction()}
	c.closures.Store(&closures{})
	c.newest = newNewestTemplates(c, cluster)
	c.forgets.Store(1) // nothing is known yet
	c.reads = coalesce.New(callers, 1, c.readAgain)
	return c
}

// maxCached bounds the cached templates.
const maxCached = 10_000

// addTemplate empties a full cache instead of trimming it: reading everything again is rare and cheap, and an order
// of use would cost every submission.
func (c *catalog) addTemplate(t *task.Template) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.byDef) >= maxCached {
		clear(c.byDef)
		clear(c.byName)
		clear(c.schemas)
		clear(c.newest.known)
	}
	c.byDef[t.DefID] = t
	c.newest.add(t)
	c.byName[templateName{t.Adhoc, t.Namespace, t.Name, t.Version}] = t
}

// findTemplate reads a template where the caller reads, in its transaction or outside; nil: there is none.
type findTemplate func(ctx context.Context, def int64) (*task.Template, error)

// template returns the template of a task, read with find if not cached. A deleted or unreadable one has a stand-in
// with the reason in Unread and no steps.
func (c *catalog) template(ctx context.Context, def int64, find findTemplate) (*task.Template, error) {
	c.mu.RLock()
	t := c.byDef[def]
	c.mu.RUnlock()
	if t != nil {
		return t, nil
	}
	t, err := find(ctx, def)
	if err != nil {
		return nil, err
	}
	if t == nil {
		t = task.UnreadTemplate(def, "is gone")
	}
	if t.Unread != "" { // not cached: it may return from a backup
		return t, nil
	}
	c.addTemplate(t)
	return t, nil
}

// templateNamed returns a version of a template, the newest for "", or nil.
func (c *catalog) templateNamed(ctx context.Context, namespace, name, version string) (*task.Template, error) {
	if version != "" {
		if t := c.cached(templateName{false, namespace, name, version}); t != nil {
			return t, nil
		}
	} else if t, err := c.newest.cached(ctx, TemplateName{namespace, name}); err != nil || t != nil {
		return t, err
	}
	t, err := c.store.FindTemplate(ctx, namespace, name, version)
	switch {
	case err != nil || t == nil:
		return nil, err
	case t.Unread != "":
		return nil, task.Errorf(task.WrongState, "the template %s/%s, version %q, is damaged (%s); register a new version",
			namespace, name, t.Version, t.Unread)
	}
	c.addTemplate(t)
	if version == "" {
		c.newest.read(t)
	}
	return t, nil
}

func (c *catalog) cached(n templateName) *task.Template {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.byName[n]
}

// adhoc returns the stand-in template of a handler, and stores a new one. Beyond limit in the namespace the error is
// a *typesLimit.
func (c *catalog) adhoc(ctx context.Context, namespace, handler string, limit int) (*task.Template, error) {
	if t := c.cached(templateName{true, namespace, handler, ""}); t != nil {
		return t, nil
	}
	t, err := c.store.FindAdhoc(ctx, namespace, handler)
	if err != nil {
		return nil, err
	}
	if t == nil {
		if t, err = c.insertAdhoc(ctx, namespace, handler, limit); err != nil {
			return nil, err
		}
	}
	c.addTemplate(t)
	return t, nil
}

// insertAdhoc creates one at a time within the process, so that concurrent first submissions respect the limit; each
// other process may exceed it by one.
func (c *catalog) insertAdhoc(ctx context.Context, namespace, handler string, limit int) (*task.Template, error) {
	leave, err := c.eviction.create(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if t, err := c.store.FindAdhoc(ctx, namespace, handler); err != nil || t != nil {
		return t, err // stored while this call waited
	}
	n, err := c.store.CountAdhoc(ctx, namespace, limit)
	if err != nil {
		return nil, err
	}
	if n >= limit {
		return nil, &typesLimit{"handlers that were named by task_type", namespace, limit}
	}
	return c.insert(ctx, task.Adhoc(namespace, handler))
}

// insert returns the stored template, or the one that was there before.
func (c *catalog) insert(ctx context.Context, t *task.Template, acts ...task.Act) (*task.Template, error) {
	var stored *task.Template
	err := c.store.Write(ctx, func(ctx context.Context, tx Tx) error {
		fresh := *t
		existing, err := tx.InsertTemplate(ctx, &fresh)
		if err != nil || existing != nil {
			stored = existing
			return err
		}
		stored = &fresh
		if len(acts) > 0 {
			return c.acts.AddActs(ctx, tx, acts)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.addTemplate(stored)
	return stored, nil
}

// workerKind decides which routes a worker can serve. It is constant for a worker.
type workerKind struct{ namespaces, handlers, capabilities string }

// kindOf depends on the order of the lists; another order only costs a second list of routes.
func kindOf(w *task.Worker) workerKind {
	join := func(list []string) string { return strings.Join(list, "\n") }
	return workerKind{join(w.Namespaces), join(w.Handlers), join(w.Capabilities)}
}

func (k workerKind) name() string {
	sum := sha256.Sum256([]byte(k.namespaces + "\x00" + k.handlers + "\x00" + k.capabilities))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// servedRoutes are the routes that workers of one kind can serve. The catalog updates them, so that a poll only reads
// a list.
type servedRoutes struct {
	kind        *task.Worker
	name        string // the same in all processes
	list        atomic.Pointer[[]int64]
	meanPayload atomic.Int64 // bytes of a step's payload, about; 0: not known
}

// routes returns the sorted list. Callers share it and must not change it.
func (s *servedRoutes) routes() []int64 { return *s.list.Load() }

func (s *servedRoutes) any(routes []*task.Route) bool {
	return slices.ContainsFunc(routes, func(r *task.Route) bool { return s.kind.Serves(*r) })
}

func (s *servedRoutes) add(routes []*task.Route) {
	if !s.any(routes) {
		return
	}
	list := slices.Clone(s.routes())
	for _, r := range routes {
		if s.kind.Serves(*r) {
			list = append(list, r.ID)
		}
	}
	slices.Sort(list)
	s.list.Store(&list)
}

func (c *catalog) served(w *task.Worker) *servedRoutes {
	c.mu.RLock()
	s := c.byWorker[w.No]
	c.mu.RUnlock()
	if s != nil {
		return s
	}
	kind := kindOf(w)
	c.mu.Lock()
	defer c.mu.Unlock()
	if s = c.kinds[kind]; s == nil {
		s = &servedRoutes{kind: w, name: kind.name()}
		s.list.Store(&[]int64{})
		s.add(c.open(c.allRoutes()))
		if len(c.kinds) >= maxCached { // only listed kinds are updated
			clear(c.kinds)
			clear(c.byWorker)
		}
		c.kinds[kind] = s
	}
	makeRoom(c.byWorker, maxCachedWorkers)
	c.byWorker[w.No] = s
	return s
}

// kindName returns "" for an unknown worker.
func (c *catalog) kindName(worker int64) string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if s := c.byWorker[worker]; s != nil {
		return s.name
	}
	return ""
}

func makeRoom[K comparable, V any](cache map[K]V, limit int) {
	if len(cache) >= limit {
		clear(cache)
	}
}

// compiledSchema keeps the error too, so that compiling is tried once.
type compiledSchema struct {
	checker SchemaChecker
	err     error
}

// schema returns the compiled input schema of a template, nil if it has none, and the same error each time if it does
// not compile. Internal: the engine has no compiler.
func (c *catalog) schema(t *task.Template, compile SchemaCompiler) (SchemaChecker, error) {
	if len(t.InputSchema) == 0 {
		return nil, nil
	}
	c.mu.RLock()
	s, known := c.schemas[t.DefID]
	c.mu.RUnlock()
	if known {
		return s.checker, s.err
	}
	if compile == nil {
		return nil, task.Errorf(task.Internal, "no schema compiler is configured")
	}
	s.checker, s.err = compile(t.InputSchema)
	c.mu.Lock()
	c.schemas[t.DefID] = s
	c.mu.Unlock()
	return s.checker, s.err
}
