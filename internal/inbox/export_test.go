package inbox

import (
	"context"
	"log/slog"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/intake"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Readers reads sources, a look at a time.
type Readers struct{ r *readers }

// NewReaders returns the readers of a node.
func NewReaders(in *Inbox, node string) Readers {
	return Readers{&readers{in: in, node: node, log: slog.New(slog.DiscardHandler),
		running: map[deadletter.SourceKey]*reading{}}}
}

// Look runs once per second in a node.
func (r Readers) Look(ctx context.Context) error { return r.r.look(ctx) }

// Stop ends all reading.
func (r Readers) Stop() { r.r.stopAll() }

// ReadOn is Inbox.Read with the ticks of a test.
func ReadOn(ctx context.Context, in *Inbox, node string, tick <-chan time.Time) {
	in.read(ctx, node, slog.New(slog.DiscardHandler), tick)
}

// SendInBatches sets how many items of a redrive are sent together.
func SendInBatches(in *Inbox, of int) { in.batch = of }

// StoreBatch returns the store function of a batch.
func StoreBatch(in *Inbox, s *deadletter.Source, batch []Arrival) func(context.Context) error {
	return in.letters(s)(batch)
}

// TakeIn makes tasks of messages of a source with an intake.
func TakeIn(ctx context.Context, in *Inbox, s *deadletter.Source, batch []Arrival) (Intaken, error) {
	return in.takeIn(s, intake.NewPlan(s), batch).store(ctx)
}

// Large keeps account of the large messages of a source, as a node does that has read it since begun.
type Large struct{ *reading }

// LargeOf returns the Large of a source.
func LargeOf(in *Inbox, s *deadletter.Source, log *slog.Logger) Large {
	return Large{&reading{in: in, source: s, carrier: in.brokerOf(s), prepare: in.letters(s), log: log, begun: in.Now()}}
}

// Record records large messages.
func (l Large) Record(ctx context.Context, list ...deadletter.Oversized) error {
	return l.record(ctx, list)
}

// Again looks at the recorded messages.
func (l Large) Again(ctx context.Context) error { return l.again(ctx) }

// ByBytes is Inbox.byBytes.
func ByBytes(ctx context.Context, in *Inbox, ids []task.ID, count, bytes int) ([][]task.ID, error) {
	return in.byBytes(ctx, ids, count, bytes)
}

// SendFailures writes a failure of each of the sources.
func SendFailures(ctx context.Context, in *Inbox, of []*deadletter.Source) {
	var list []outgoing
	for _, s := range of {
		list = append(list, outgoing{source: s, send: deadletter.Send{Destination: s.Intake.WriteFailures},
			out: Outgoing{Letter: &deadletter.Letter{ID: in.NewID()}, Content: deadletter.Content{Payload: []byte("{}")}}})
	}
	in.deliver(ctx, list)
}

// OlderNote moves the note of a declared source to the key of older versions.
func OlderNote(ctx context.Context, in *Inbox, s *deadletter.Source) error {
	key := entryKey(declaredNote, s.Namespace, s.Name)
	notes := in.DB.NoteStore()
	hash, err := notes.FindNote(ctx, key)
	if err != nil {
		return err
	}
	return in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		if err := notes.DropNotes(ctx, tx, []string{key}); err != nil {
			return err
		}
		return notes.Note(ctx, tx, joinedNote(s), hash)
	})
}
