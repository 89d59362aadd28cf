package engine

import (
	"errors"

	"github.com/taskerhq/tasker/internal/model/task"
)

// ErrReplaced means that a cached template or route is missing or has another number, because the database went back
// in time.
var ErrReplaced = errors.New("the database is not the one that this process knew")

// forget drops everything read from the database, without a query.
func (e *Engine) forget() {
	e.keys.doubted.Store(true)
	e.catalog.forget()
	e.pauses.forget()
	e.limits.forget()
	if e.seals != nil {
		e.seals.Forget()
	}
	e.workers.forget()
	e.lifecycles.forget()
	e.occupancy.doubt()
	e.queue.forget()
	e.coordinator.databaseReplaced()
	e.readiness.doubt()
	e.peerEvents.put(PeerEvents{Registry: true, Pauses: true, Limits: true}) // to read them again
	e.waiters.version.Add(1)                                                 // a poll that has just checked checks again
}

// Waiting polls keep their lists, which are empty until the routes are read again.
func (c *catalog) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgets.Add(1)
	clear(c.byDef)
	clear(c.byName)
	clear(c.schemas)
	clear(c.newest.known)
	clear(c.routes)
	clear(c.byRoute)
	c.setClosed(nil)
	c.eviction.forget()
	clear(c.byWorker)
	for _, s := range c.kinds {
		s.list.Store(&[]int64{})
	}
}

func (c *workerCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.byID)
	clear(c.names)
}

func (l *lifecycles) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen, l.least, l.most = 0, 0, 0
}

// expectKnown checks that the database has the templates and routes of drafts under the cached numbers.
func (u *unit) expectKnown(drafts []*draft) error {
	templates, routes := map[int64]*task.Template{}, map[int64]*task.Route{}
	for _, d := range drafts {
		templates[d.template.DefID] = d.template
		for _, s := range d.steps {
			if s.route != nil {
				routes[s.route.ID] = s.route
			}
		}
	}
	return u.tx.ExpectKnown(u.ctx, templates, routes)
}
