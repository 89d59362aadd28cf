package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/metric"
)

// streamEnds are why a stream of events can be over; see httpapi.StreamWatcher.
var streamEnds = [...]string{"done", "gone", "slow", "stopped", "failed"}

// streamMetrics are those of the streams of events.
type streamMetrics struct {
	open  metric.Int64UpDownCounter
	ended metric.Int64Counter
}

func newStreamMetrics(m metric.Meter) (*streamMetrics, error) {
	b := &builder{meter: m}
	s := &streamMetrics{ended: b.counter("tasker.event.streams.ended", "{stream}", "Streams of events that are over, by "+
		"why: nothing more was to come (done), the client went (gone) or did not read (slow), "+
		"the server stopped, or failed.")}
	open, err := m.Int64UpDownCounter("tasker.event.streams", metric.WithUnit("{stream}"),
		metric.WithDescription("Streams of events that are open."))
	b.note(err)
	if b.err != nil {
		return nil, b.err
	}
	s.open = open
	s.open.Add(context.Background(), 0)
	for _, why := range streamEnds {
		s.end(why, 0) // a rate needs to see it rise from there
	}
	return s, nil
}

func (s *streamMetrics) end(why string, n int64) {
	s.ended.Add(context.Background(), n, metric.WithAttributes(whyKey.String(why)))
}

// WatchStream implements httpapi.StreamWatcher.
func (t *Telemetry) WatchStream() (ended func(why string)) {
	t.streams.open.Add(context.Background(), 1)
	return func(why string) {
		t.streams.open.Add(context.Background(), -1)
		t.streams.end(why, 1)
	}
}
