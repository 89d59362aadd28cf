package scenario_test

import (
	"context"
	"maps"
	"strings"
	"sync"

	"github.com/taskerhq/tasker/internal/engine"
)

// handOutNotes is the prefix of the notes by which nodes agree on who hands out steps.
const handOutNotes = "dispatch/"

// privateNotes are the notes about who hands out steps of a node that is told nothing of the others: it finds itself
// alone and waits for nobody's answer. Nodes without a dispatcher may do that, because all of them hand out from the
// database whatever the others say.
type privateNotes struct {
	mu    sync.Mutex
	texts map[string]string
}

// Notes implements engine.Store.
func (s *pausingStore) Notes(ctx context.Context, prefix string) (map[string]string, error) {
	if s.private == nil || prefix != handOutNotes {
		return s.Store.Notes(ctx, prefix)
	}
	s.private.mu.Lock()
	defer s.private.mu.Unlock()
	return maps.Clone(s.private.texts), nil
}

// privateTx is a transaction of a node with private notes, which are kept whether it commits or not.
type privateTx struct {
	engine.Tx
	notes *privateNotes
}

// keeping returns the transaction for the notes of the node.
func (s *pausingStore) keeping(tx engine.Tx) engine.Tx {
	if s.private == nil {
		return tx
	}
	return privateTx{tx, s.private}
}

// Note implements engine.TxWatches.
func (x privateTx) Note(ctx context.Context, key, text string) error {
	if !strings.HasPrefix(key, handOutNotes) {
		return x.Tx.Note(ctx, key, text)
	}
	x.notes.mu.Lock()
	defer x.notes.mu.Unlock()
	x.notes.texts[key] = text
	return nil
}

// FirstNote implements engine.TxWatches.
func (x privateTx) FirstNote(ctx context.Context, key, text string) error {
	if !strings.HasPrefix(key, handOutNotes) {
		return x.Tx.FirstNote(ctx, key, text)
	}
	x.notes.mu.Lock()
	defer x.notes.mu.Unlock()
	if _, there := x.notes.texts[key]; !there {
		x.notes.texts[key] = text
	}
	return nil
}

// DropNotes implements engine.TxWatches.
func (x privateTx) DropNotes(ctx context.Context, keys []string) error {
	var shared []string
	x.notes.mu.Lock()
	for _, key := range keys {
		if strings.HasPrefix(key, handOutNotes) {
			delete(x.notes.texts, key)
		} else {
			shared = append(shared, key)
		}
	}
	x.notes.mu.Unlock()
	if len(shared) == 0 {
		return nil
	}
	return x.Tx.DropNotes(ctx, shared)
}
