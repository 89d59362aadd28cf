package kernel

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/taskerhq/tasker/internal/model/task"
)

type routeName struct{ namespace, handler, capabilities string }

func nameOfRoute(r task.Route) routeName {
	return routeName{r.Namespace, r.Handler, r.CapabilityKey()}
}

// knownRoute.used is atomic because it changes under the read lock.
type knownRoute struct {
	*task.Route
	used atomic.Int64
}

const routePage = 5000

// typesLimit means that the namespace has as many routes or handlers as it may have.
type typesLimit struct {
	what, namespace string
	limit           int
}

// Error implements error.
func (l *typesLimit) Error() string {
	return fmt.Sprintf("the namespace %q already has %d %s, the most it may have (engine.limits.routes): use one of "+
		"them, or raise the limit",
		l.namespace, l.limit, l.what)
}

func OverLimit(err error, at string) *task.Problem {
	var l *typesLimit
	if !errors.As(err, &l) {
		return nil
	}
	return &task.Problem{Location: at, Message: l.Error()}
}

func (c *catalog) forgotten() bool { return c.read.Load() < c.forgets.Load() }

// ensureRead returns a number; the routes remain known while forgets equals it.
func (c *catalog) ensureRead(ctx context.Context) (int64, error) {
	for {
		n := c.forgets.Load()
		if c.read.Load() >= n {
			return n, nil
		}
		if _, err := c.reads.Do(ctx, struct{}{}); err != nil {
			return n, err
		}
	}
}

func (c *catalog) readAgain(calls []struct{}) ([]struct{}, error) {
	n := c.forgets.Load() // routes forgotten from here on are read again
	if c.read.Load() >= n {
		return calls, nil
	}
	if err := c.loadRoutes(context.Background()); err != nil {
		return nil, err
	}
	c.read.Store(n)
	return calls, nil
}

// loadRoutes reads only routes with ready steps if the catalog cannot hold all.
func (c *catalog) loadRoutes(ctx context.Context) error {
	for last := int64(0); ; {
		routes, err := c.store.RoutesAfter(ctx, last, routePage)
		if err != nil {
			return err
		}
		if err := c.admitRoutes(ctx, routes); err != nil {
			return err
		}
		if len(routes) < routePage {
			return nil
		}
		last = routes[len(routes)-1].ID
	}
}

// loadNew reads routes after the highest known number. loadNextPage finds a lower number that was committed late.
func (c *catalog) loadNew(ctx context.Context) error {
	if c.forgotten() {
		_, err := c.ensureRead(ctx)
		return err
	}
	routes, err := c.store.RoutesAfter(ctx, c.eviction.newest.Load(), routePage)
	if err != nil {
		return err
	}
	return c.admitRoutes(ctx, routes)
}

func (c *catalog) loadNextPage(ctx context.Context) error {
	if c.forgotten() {
		_, err := c.ensureRead(ctx)
		return err
	}
	routes, err := c.store.RoutesAfter(ctx, c.eviction.cursor.Load(), routePage)
	if err != nil {
		return err
	}
	next := int64(0)
	if len(routes) == routePage {
		next = routes[len(routes)-1].ID
	}
	c.eviction.cursor.Store(next)
	return c.admitRoutes(ctx, routes)
}

func (c *catalog) admitRoutes(ctx context.Context, routes []*task.Route) error {
	missing, room := c.missing(routes)
	if len(missing) > room {
		some, err := c.eviction.occupied(ctx, missing)
		if err != nil {
			return err
		}
		missing = some
	}
	c.addRoutes(missing...)
	return nil
}

// missing also returns the remaining room.
func (c *catalog) missing(routes []*task.Route) ([]*task.Route, int) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var missing []*task.Route
	for _, r := range routes {
		if c.byRoute[r.ID] == nil {
			missing = append(missing, r)
		}
	}
	return missing, c.eviction.limit - len(c.byRoute)
}

// addRoutes reports whether a route is new here. It notifies polls after releasing the lock.
func (c *catalog) addRoutes(routes ...*task.Route) bool {
	var fresh []*task.Route
	c.mu.Lock()
	for _, r := range routes {
		if c.byRoute[r.ID] == nil {
			known := &knownRoute{Route: r}
			known.used.Store(c.eviction.age.Add(1))
			fresh = append(fresh, r)
			c.routes[nameOfRoute(*r)], c.byRoute[r.ID] = known, known
			c.eviction.saw(r.ID)
		}
	}
	c.noteClosed(fresh)
	c.noteLimited(fresh)
	open := c.open(fresh)
	if len(open) > 0 {
		for _, k := range c.kinds { // kinds that serve none keep their list
			k.add(open)
		}
	}
	c.mu.Unlock()
	if len(open) > 0 {
		c.widened(open)
	}
	return len(fresh) > 0
}

// Route also reports whether the route was stored now. Beyond limit the error is a *typesLimit.
func (c *catalog) Route(ctx context.Context, want task.Route, limit int) (r *task.Route, fresh bool, err error) {
	if r := c.routeNamed(nameOfRoute(want)); r != nil {
		return r, false, nil
	}
	if r, fresh, err = c.storedRoute(ctx, want, limit); err != nil {
		return nil, false, err
	}
	c.addRoutes(r)
	return r, fresh, c.evict(ctx)
}

func (c *catalog) routeNamed(name routeName) *task.Route {
	c.mu.RLock()
	defer c.mu.RUnlock()
	known := c.routes[name]
	if known == nil {
		return nil
	}
	c.eviction.use(known)
	return known.Route
}

// storedRoute is serialised like insertAdhoc. Other processes may exceed the limit a little.
func (c *catalog) storedRoute(ctx context.Context, want task.Route, limit int) (r *task.Route, fresh bool, err error) {
	if r, err = c.store.FindRoute(ctx, want); err != nil || r != nil {
		return r, false, err
	}
	leave, err := c.eviction.create(ctx)
	if err != nil {
		return nil, false, err
	}
	defer leave()
	if r, err = c.store.FindRoute(ctx, want); err != nil || r != nil {
		return r, false, err // stored while this call waited
	}
	n, err := c.store.CountRoutes(ctx, want.Namespace, limit)
	if err != nil {
		return nil, false, err
	}
	if n >= limit {
		return nil, false, &typesLimit{"routes (handlers, each with the capabilities that it needs)", want.Namespace, limit}
	}
	err = c.store.Write(ctx, func(ctx context.Context, tx Tx) error {
		stored := want
		r = &stored
		return tx.InsertRoute(ctx, r)
	})
	return r, true, err
}

func (c *catalog) RouteByID(id int64) *task.Route {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if known := c.byRoute[id]; known != nil {
		return known.Route
	}
	return nil
}

// The caller holds mu.
func (c *catalog) allRoutes() []*task.Route {
	routes := make([]*task.Route, 0, len(c.byRoute))
	for _, known := range c.byRoute {
		routes = append(routes, known.Route)
	}
	return routes
}

func (c *catalog) findRoute(ctx context.Context, id int64) (*task.Route, error) {
	if r := c.RouteByID(id); r != nil {
		return r, nil
	}
	found, err := c.store.RoutesAfter(ctx, id-1, 1)
	if err != nil || len(found) == 0 || found[0].ID != id {
		return nil, err
	}
	if _, room := c.missing(nil); room > 0 {
		c.addRoutes(found[0])
	}
	return found[0], nil
}

// ensureRoutes adds missing routes on which steps became ready, one by one: rarely more than one is missing.
func (c *catalog) ensureRoutes(ctx context.Context, ids iter.Seq[int64]) error {
	var missing []int64
	c.mu.RLock()
	for id := range ids {
		if known := c.byRoute[id]; known != nil {
			c.eviction.use(known)
		} else {
			missing = append(missing, id)
		}
	}
	c.mu.RUnlock()
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	for _, id := range missing {
		found, err := c.store.RoutesAfter(ctx, id-1, 1)
		if err != nil {
			return err
		}
		if len(found) > 0 && found[0].ID == id {
			c.addRoutes(found[0])
		}
	}
	return c.evict(ctx)
}
