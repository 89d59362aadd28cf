package upkeep

import (
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// contact is the last time at which any loop reached the store. While the store is out of
// reach, workers cannot store heartbeats either, so no worker may be declared dead for missing
// ones.
type contact struct {
	limit time.Duration // longer than that is an outage

	mu   sync.Mutex
	last task.Instant
}

// begin counts the start of the process as a contact.
func (c *contact) begin(now task.Instant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = now
}

// lost reports whether the last contact is so long ago that this is an outage, or the end of one.
func (c *contact) lost(now task.Instant) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return now.Sub(c.last) > c.limit
}

// made records a contact and returns the length of the outage that it ended, 0 for none.
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
