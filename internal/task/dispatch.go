package task

import "time"

// The bounds of how long a dispatched step may wait in the queue of its worker.
const (
	MinDispatchTTL = time.Second
	MaxDispatchTTL = 7 * 24 * time.Hour
)
