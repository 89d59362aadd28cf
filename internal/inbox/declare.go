package inbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
)

// declaredNote begins the key of the note that holds the hash of a source's entry in the configuration.
const declaredNote = "source:"

// Declare saves the sources of a node's configuration. It saves a source at the first start with its entry, and again
// when the entry has changed. In between the database rules: operators change, pause and remove a source at run time,
// and a restart does not undo that. A source that has left the configuration stays until somebody removes it. Nodes
// with different entries of one source each save theirs when they start. Invalid: an entry that SaveSource refuses.
func (in *Inbox) Declare(ctx context.Context, sources []*deadletter.Source) error {
	for _, s := range sources {
		if err := in.declare(ctx, s); err != nil {
			return fmt.Errorf("source %s of namespace %s in the configuration: %w", s.Name, s.Namespace, err)
		}
	}
	return nil
}

func (in *Inbox) declare(ctx context.Context, s *deadletter.Source) error {
	entry, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	// A hash, because the URL may hold a password, and notes are not where secrets belong.
	sum := sha256.Sum256(entry)
	hash, key := hex.EncodeToString(sum[:]), declaredNote+s.Namespace+"/"+s.Name
	notes := in.db.NoteStore()
	if known, err := notes.FindNote(ctx, key); err != nil || known == hash {
		return err
	}
	_, err = in.saveSource(ctx, s, By{Actor: engine.System, Reason: "the configuration of a node names it"}, "",
		func(ctx context.Context, tx engine.Tx, known, next *deadletter.Source) error {
			next.Paused = known != nil && known.Paused // to pause is an act of an operator, never a setting
			return notes.Note(ctx, tx, key, hash)
		})
	return err
}
