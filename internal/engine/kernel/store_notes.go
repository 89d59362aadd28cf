package kernel

import (
	"context"
)

// NoteStore stores small texts under keys, for loops and nodes.
type NoteStore interface {
	Note(ctx context.Context, tx Tx, key, text string) error
	// FirstNote is Note, but never replaces a text.
	FirstNote(ctx context.Context, tx Tx, key, text string) error
	DropNotes(ctx context.Context, tx Tx, keys []string) error
	// FindNote returns "" when there is no text.
	FindNote(ctx context.Context, key string) (string, error)
	Notes(ctx context.Context, prefix string) (map[string]string, error)
}
