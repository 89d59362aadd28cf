package telemetry

import (
	"go.opentelemetry.io/otel/metric"
)

// Blobs has the metrics of the blob store. Its methods are safe for concurrent use and do not block.
type Blobs struct{ requests metric.Int64Counter }

// Blobs returns the metrics of the blob store.
func (t *Telemetry) Blobs() *Blobs { return t.blobs }

func newBlobs(b *builder) *Blobs {
	s := &Blobs{requests: b.counter("tasker.blobs.requests", "{request}",
		"Requests to the store of large results, by verb (put, get, delete) and outcome: ok, missing, failed.")}
	for _, verb := range []string{"put", "get", "delete"} {
		for _, outcome := range []string{"ok", "failed"} {
			s.add(verb, outcome, 0)
		}
	}
	s.add("get", "missing", 0)
	return s
}

// Requested counts a request.
func (b *Blobs) Requested(verb, outcome string) { b.add(verb, outcome, 1) }

func (b *Blobs) add(verb, outcome string, n int64) {
	add(b.requests, n, verbKey.String(verb), outcomeKey.String(outcome))
}
