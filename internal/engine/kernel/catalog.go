package kernel

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

// catalog caches templates, their compiled schemas, and routes. Template versions are immutable, so entries never
// become stale; see catalog_newest.go for the newest. It is bounded, reads missing entries again, and is safe for
// concurrent use. mu guards the maps. Returned values are shared and must not be changed.
type catalog struct {
	store registry
	acts  ActStore

	mu       sync.RWMutex
	byDef    map[int64]*task.Template
	byName   map[templateName]*task.Template
	schemas  map[int64]compiledSchema
	newest   newestTemplates
	routes   map[routeName]*knownRoute
	byRoute  map[int64]*knownRoute
	kinds    map[workerKind]*servedRoutes
	byWorker map[int64]*servedRoutes

	widened func([]*task.Route) // called with routes that are new, closed or open again

	// forgets counts how often routes were forgotten; read is its value at the last read.
	forgets, read atomic.Int64
	reads         *coalesce.Group[struct{}, struct{}]

	// closures are the pauses in force, closed their routes (nil for none). They change under mu and are read without
	// it.
	Closures atomic.Pointer[closures]
	closed   atomic.Pointer[map[int64]struct{}]
	// limits of operators, nil for none, change likewise.
	Limits atomic.Pointer[knownLimits]

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

// newCatalog takes a nil cluster for a process that is alone with its store. It calls widened without mu.
func newCatalog(s registry, acts ActStore, cluster Cluster, widened func([]*task.Route)) *catalog {
	c := &catalog{store: s, acts: acts, widened: widened, byDef: map[int64]*task.Template{},
		byName:  map[templateName]*task.Template{},
		schemas: map[int64]compiledSchema{}, routes: map[routeName]*knownRoute{}, byRoute: map[int64]*knownRoute{},
		kinds: map[workerKind]*servedRoutes{}, byWorker: map[int64]*servedRoutes{}, eviction: newEviction()}
	c.Closures.Store(&closures{})
	c.newest = newNewestTemplates(c, cluster)
	c.forgets.Store(1) // nothing is known yet
	c.reads = coalesce.New(Callers, 1, c.readAgain)
	return c
}

// maxCached bounds the cached templates.
const maxCached = 10_000

// addTemplate empties a full cache: reading everything again is rare, and an order of use would cost every
// submission.
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

// findTemplate reads in the caller's transaction or outside; nil: there is none.
type findTemplate func(ctx context.Context, def int64) (*task.Template, error)

// template returns a stand-in for a deleted or unreadable template, with the reason in Unread and no steps.
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

func (c *catalog) TemplateNamed(ctx context.Context, namespace, name, version string) (*task.Template, error) {
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

// Adhoc returns or stores the stand-in template of a handler. Beyond limit the error is a *typesLimit.
func (c *catalog) Adhoc(ctx context.Context, namespace, handler string, limit int) (*task.Template, error) {
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

// insertAdhoc creates one at a time, so that concurrent first submissions respect the limit; each other process may
// exceed it by one.
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

type workerKind struct{ namespaces, handlers, capabilities string }

// kindOf depends on the order of the lists, which only costs a second list of routes.
func kindOf(w *task.Worker) workerKind {
	join := func(list []string) string { return strings.Join(list, "\n") }
	return workerKind{join(w.Namespaces), join(w.Handlers), join(w.Capabilities)}
}

func (k workerKind) name() string {
	sum := sha256.Sum256([]byte(k.namespaces + "\x00" + k.handlers + "\x00" + k.capabilities))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// servedRoutes are the routes of one kind of workers, kept up to date by the catalog, so that a poll only reads a
// list.
type servedRoutes struct {
	kind        *task.Worker
	name        string // the same in all processes
	list        atomic.Pointer[[]int64]
	meanPayload atomic.Int64 // bytes of a step's payload, about; 0: not known
}

// routes returns the sorted list, which callers share and must not change.
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
	MakeRoom(c.byWorker, maxCachedWorkers)
	c.byWorker[w.No] = s
	return s
}

func (c *catalog) kindName(worker int64) string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if s := c.byWorker[worker]; s != nil {
		return s.name
	}
	return ""
}

func MakeRoom[K comparable, V any](cache map[K]V, limit int) {
	if len(cache) >= limit {
		clear(cache)
	}
}

// compiledSchema keeps the error too, so that compiling is tried once.
type compiledSchema struct {
	checker SchemaChecker
	err     error
}

// Schema returns nil without an input schema. Internal: the engine has no compiler.
func (c *catalog) Schema(t *task.Template, compile SchemaCompiler) (SchemaChecker, error) {
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

// DefaultNamespace is the namespace of requests that name none.
const DefaultNamespace = "default"

const Unrouted = 0
