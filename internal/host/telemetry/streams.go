package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/metric"
)

// streamEnds are the reasons for a stream's end; see httpapi.StreamWatcher.
var streamEnds = [...]string{"done", "gone", "slow", "stopped", "failed"}

type streamMetrics struct {
	open  metric.Int64UpDownCounter
	ended metric.Int64Counter
}

func newStreamMetrics(b *builder) *streamMetrics {
	s := &streamMetrics{open: b.level("tasker.event.streams", "{stream}", "Open streams of events.")}
	s.ended = b.counter("tasker.event.streams.ended", "{stream}", "Ended streams of events, by "+
		"reason: no more events can follow (done), the client disconnected (gone) or did not read (slow), "+
		"the server shut down (stopped) or had an error (failed).")
	for _, why := range streamEnds {
		add(s.ended, 0, whyKey.String(why))
	}
	return s
}

// WatchStream implements httpapi.StreamWatcher. Call ended exactly once, with one of streamEnds.
func (t *Telemetry) WatchStream() (ended func(why string)) {
	t.streams.open.Add(context.Background(), 1)
	return func(why string) {
		t.streams.open.Add(context.Background(), -1)
		add(t.streams.ended, 1, whyKey.String(why))
	}
}
