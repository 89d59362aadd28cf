package bench

import (
	"context"
	"encoding/json"
	"strings"
)

// System is a measured queue. All methods may be called concurrently.
type System interface {
	// Submit stores one task and returns when it is durable. Callers count from 0; a system with several entries
	// spreads them.
	Submit(ctx context.Context, caller int, body json.RawMessage) error
	// SubmitMany stores n tasks in one call and returns when they are durable.
	SubmitMany(ctx context.Context, n int, body json.RawMessage) error
	// Work calls handle for every task, up to n at a time, until stop, which waits for running tasks.
	Work(ctx context.Context, n int, handle func()) (stop func() error, err error)
	// Settled counts durably completed tasks since the System was opened.
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
