package inbox

import (
	"context"
	"log/slog"
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
