package kernel

import (
	"errors"
)

// ErrReplaced means that a cached template or route is missing or has another number, because the database went back
// in time.
var ErrReplaced = errors.New("the database is not the one that this process knew")

// Forget drops everything read from the database, without a query.
func (e *Kernel) Forget() {
	e.keys.doubted.Store(true)
	e.Catalog.forget()
	e.pauses.forget()
	e.limits.forget()
	if e.seals != nil {
		e.seals.Forget()
	}
	e.workers.forget()
	for _, forget := range e.Forgets {
		forget()
	}
	e.occupancy.doubt()
	e.Queue.forget()
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
