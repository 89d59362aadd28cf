package upkeep

import (
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// contact is the last time when any loop reached the store. During an outage workers cannot store heartbeats, so
// none may be declared dead for missing ones.
type contact struct {
	limit time.Duration // beyond it is an outage

	mu   sync.Mutex
	last task.Instant
}

// begin counts the process's start as a contact.
func (c *contact) begin(now task.Instant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = now
}

// lost reports an outage or its end.
func (c *contact) lost(now task.Instant) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return now.Sub(c.last) > c.limit
}

// made records a contact and returns the length of the outage that it ended, or 0.
func (c *contact) made(now task.Instant) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	away := now.Sub(c.last)
	c.last = now
	if away <= c.limit {
		return 0
	}
	return away
}
