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

func newStreamMetrics(m metric.Meter) (*streamMetrics, error) {
	b := &builder{meter: m}
	s := &streamMetrics{ended: b.counter("tasker.event.streams.ended", "{stream}", "Ended streams of events, by "+
		"reason: no more events can follow (done), the client disconnected (gone) or did not read (slow), "+
		"the server shut down (stopped) or had an error (failed).")}
	open, err := m.Int64UpDownCounter("tasker.event.streams", metric.WithUnit("{stream}"),
		metric.WithDescription("Open streams of events."))
	b.note(err)
	if b.err != nil {
		return nil, b.err
	}
	s.open = open
	s.open.Add(context.Background(), 0)
	for _, why := range streamEnds {
		s.end(why, 0) // so that rates see the first increase
	}
	return s, nil
}

// n = 0 makes the series appear.
func (s *streamMetrics) end(why string, n int64) {
	s.ended.Add(context.Background(), n, metric.WithAttributes(whyKey.String(why)))
}

// WatchStream implements httpapi.StreamWatcher. Call ended exactly once, with one of streamEnds.
func (t *Telemetry) WatchStream() (ended func(why string)) {
	t.streams.open.Add(context.Background(), 1)
	return func(why string) {
		t.streams.open.Add(context.Background(), -1)
		t.streams.end(why, 1)
	}
}
