package engine

import (
	"context"
)

// NoteStore stores small texts under keys, for the loops and nodes to read later.
type NoteStore interface {
	// Note stores a small text under a key.
	Note(ctx context.Context, tx Tx, key, text string) error
	// FirstNote is Note for a key without a text; it never replaces a text.
	FirstNote(ctx context.Context, tx Tx, key, text string) error
	// DropNotes deletes the texts stored under keys.
	DropNotes(ctx context.Context, tx Tx, keys []string) error
	// FindNote returns the text stored under a key, "" when there is none.
	FindNote(ctx context.Context, key string) (string, error)
	// Notes returns the texts whose keys begin with a prefix.
	Notes(ctx context.Context, prefix string) (map[string]string, error)
}
