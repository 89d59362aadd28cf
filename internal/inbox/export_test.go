package inbox

import (
	"context"
	"log/slog"
	"time"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/task"
)

// Readers reads sources, a look at a time.
type Readers struct{ r *readers }

// NewReaders returns the readers of a node.
func NewReaders(in *Inbox, node string) Readers {
	return Readers{&readers{in: in, node: node, log: slog.New(slog.DiscardHandler), running: map[string]*reading{}}}
}

// Look is what a node does once per second.
func (r Readers) Look(ctx context.Context) error { return r.r.look(ctx) }

// Stop ends all reading.
func (r Readers) Stop() { r.r.stopAll() }

// ReadOn is Inbox.Read with the ticks of a test.
func ReadOn(ctx context.Context, in *Inbox, node string, tick <-chan time.Time) {
	in.read(ctx, node, slog.New(slog.DiscardHandler), tick)
}

// SendInBatches sets how many items of a redrive are sent together.
func SendInBatches(in *Inbox, of int) { in.batch = of }

// StoreBatch returns what stores a batch of a broker.
func StoreBatch(in *Inbox, s *deadletter.Source, batch []Arrival) func(context.Context) error {
	return in.letters(s)(batch)
}

// Large keeps account of the large messages of a source, as a node does that has read it since begun.
type Large struct{ *large }

// LargeOf returns that of a source.
func LargeOf(in *Inbox, s *deadletter.Source, log *slog.Logger) Large {
	run := &reading{source: s}
	return Large{&large{in: in, source: s, carrier: in.opts.Carriers[s.Driver], prepare: in.letters(s), log: log, run: run,
		begun: in.now()}}
}

// Record is what a carrier calls.
func (l Large) Record(ctx context.Context, list ...deadletter.Oversized) error {
	return l.record(ctx, list)
}

// Again is what a node does when it begins to read a source, and every hour.
func (l Large) Again(ctx context.Context) error { return l.again(ctx) }

// ByBytes is Inbox.byBytes.
func ByBytes(ctx context.Context, in *Inbox, ids []task.ID, count, bytes int) ([][]task.ID, error) {
	return in.byBytes(ctx, ids, count, bytes)
}
