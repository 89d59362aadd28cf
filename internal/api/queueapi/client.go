package queueapi

import "github.com/taskerhq/tasker"

// Of returns the queue of a client: that of its Backend if it implements one, as a Backend in this process does, else
// that of its server.
func Of(c *tasker.Client) Backend {
	if b, inProcess := c.Backend.(Backend); inProcess {
		return b
	}
	return server{c}
}
