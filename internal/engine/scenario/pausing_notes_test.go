package scenario_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/taskerhq/tasker/internal/engine"
)

// handOutNotes is the prefix of the notes by which nodes agree on who hands out steps.
const handOutNotes = "dispatch/"

// privateNotes hide the other nodes, so that a node finds itself alone and waits for no answer. That is correct
// without a dispatcher, where all nodes hand out from the database anyway.
type privateNotes struct {
	mu    sync.Mutex
	texts map[string]string
}

func (s *pausingStore) NoteStore() engine.NoteStore { return pausingNotes{s.Store.NoteStore(), s} }

// pausingNotes keep private notes whether a transaction commits or not, and pause before the others.
type pausingNotes struct {
	engine.NoteStore
	of *pausingStore
}

// noted pauses before an act on a shared note.
func (p pausingNotes) noted(tx engine.Tx, at string, keys ...string) {
	if p.of.private == nil || slices.ContainsFunc(keys, func(k string) bool {
		return !strings.HasPrefix(k, handOutNotes)
	}) {
		pauseIn(tx, at)
	}
}

// private returns nil for shared keys.
func (p pausingNotes) private(key string) *privateNotes {
	if !strings.HasPrefix(key, handOutNotes) {
		return nil
	}
	return p.of.private
}

func (p pausingNotes) Notes(ctx context.Context, prefix string) (map[string]string, error) {
	if p.of.private == nil || prefix != handOutNotes {
		return p.NoteStore.Notes(ctx, prefix)
	}
	p.of.private.mu.Lock()
	defer p.of.private.mu.Unlock()
	return maps.Clone(p.of.private.texts), nil
}

func (p pausingNotes) Note(ctx context.Context, tx engine.Tx, key, text string) error {
	p.noted(tx, "Note", key)
	own := p.private(key)
	if own == nil {
		return p.NoteStore.Note(ctx, tx, key, text)
	}
	own.mu.Lock()
	defer own.mu.Unlock()
	own.texts[key] = text
	return nil
}

func (p pausingNotes) FirstNote(ctx context.Context, tx engine.Tx, key, text string) error {
	p.noted(tx, "FirstNote", key)
	own := p.private(key)
	if own == nil {
		return p.NoteStore.FirstNote(ctx, tx, key, text)
	}
	own.mu.Lock()
	defer own.mu.Unlock()
	if _, there := own.texts[key]; !there {
		own.texts[key] = text
	}
	return nil
}

func (p pausingNotes) DropNotes(ctx context.Context, tx engine.Tx, keys []string) error {
	p.noted(tx, "DropNotes", keys...)
	if p.of.private == nil {
		return p.NoteStore.DropNotes(ctx, tx, keys)
	}
	var shared []string
	p.of.private.mu.Lock()
	for _, key := range keys {
		if p.private(key) != nil {
			delete(p.of.private.texts, key)
		} else {
			shared = append(shared, key)
		}
	}
	p.of.private.mu.Unlock()
	if len(shared) == 0 {
		return nil
	}
	return p.NoteStore.DropNotes(ctx, tx, shared)
}
