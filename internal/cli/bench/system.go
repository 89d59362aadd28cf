package bench

import (
	"context"
	"encoding/json"
	"strings"
)

// System is a queue that is measured. All methods may be called concurrently.
type System interface {
	// Submit stores one task and returns when it is durable. Callers are counted
	// from 0; a system with several doors spreads them.
	Submit(ctx context.Context, caller int, body json.RawMessage) error
	// SubmitMany stores n tasks with one call and returns when they are durable.
	SubmitMany(ctx context.Context, n int, body json.RawMessage) error
	// Work calls handle for every task, up to n at once, until stop is called.
	// stop waits for the tasks that are being carried out.
	Work(ctx context.Context, n int, handle func()) (stop func() error, err error)
	// Settled is how many tasks have been recorded as complete since the System
	// was opened: durable, and nothing left to be done.
	Settled() int64
}

// Payload is a JSON document of n bytes.
func Payload(n int) json.RawMessage {
	const frame = `{"d":""}`
	if n <= len(frame) {
		return json.RawMessage(`""` + strings.Repeat(" ", max(n-2, 0)))
	}
	return json.RawMessage(`{"d":"` + strings.Repeat("x", n-len(frame)) + `"}`)
}
