package queueapi

import "github.com/taskerhq/tasker"

// Of returns the queue of a client: that of its server, or that of the client's own Backend if it implements one. A
// Backend in this process does.
func Of(c *tasker.Client) Backend {
	if b, inProcess := c.Backend.(Backend); inProcess {
		return b
	}
	return server{c}
}
