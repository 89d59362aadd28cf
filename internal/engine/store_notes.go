package engine

import (
	"context"
)

// NoteStore keeps small texts under keys: what a loop or a node has to find again.
type NoteStore interface {
	// Note keeps a small text under a key.
	Note(ctx context.Context, tx Tx, key, text string) error
	// FirstNote is Note for a key under which nothing is kept yet; else it does nothing.
	FirstNote(ctx context.Context, tx Tx, key, text string) error
	// DropNotes deletes what is kept under keys.
	DropNotes(ctx context.Context, tx Tx, keys []string) error
	// FindNote returns the text kept under a key, "" when there is none.
	FindNote(ctx context.Context, key string) (string, error)
	// Notes returns the texts whose keys begin with a prefix.
	Notes(ctx context.Context, prefix string) (map[string]string, error)
}
