package inbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
)

// declaredNote and declaredPolicyNote begin the keys of the notes that hold the hash of a source's, or a policy's,
// entry in the configuration.
const declaredNote, declaredPolicyNote = "source:", "policy:"

// declaredBy is whose act it is.
var declaredBy = By{Actor: engine.System, Reason: "the configuration of a node names it"}

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
	key, err := entryKey(declaredNote, s.Namespace, s.Name)
	if err != nil {
		return err
	}
	hash, err := in.changedEntry(ctx, s, key, joinedNote(s))
	if err != nil || hash == "" {
		return err
	}
	_, err = in.saveSource(ctx, s, declaredBy,
		func(ctx context.Context, tx engine.Tx, known, next *deadletter.Source) error {
			next.Paused = known != nil && known.Paused // to pause is an act of an operator, never a setting
			return in.db.NoteStore().Note(ctx, tx, key, hash)
		})
	return err
}

// DeclarePolicies saves the policies of the sources of a node's configuration, as Declare does with sources: a policy
// that has left the configuration stays until somebody removes it.
func (in *Inbox) DeclarePolicies(ctx context.Context, policies []*deadletter.Policy) error {
	for _, p := range policies {
		if err := in.declarePolicy(ctx, p); err != nil {
			return fmt.Errorf("policy %s of namespace %s in the configuration: %w", policyName(p), p.Namespace, err)
		}
	}
	return nil
}

func (in *Inbox) declarePolicy(ctx context.Context, p *deadletter.Policy) error {
	entry := *p
	// Another file with the same settings changes nothing.
	entry.SetFrom, entry.SetBy = "", ""
	key, err := entryKey(declaredPolicyNote, p.Namespace, p.Source, p.Origin)
	if err != nil {
		return err
	}
	hash, err := in.changedEntry(ctx, &entry, key)
	if err != nil || hash == "" {
		return err
	}
	_, err = in.savePolicy(ctx, p, declaredBy, func(ctx context.Context, tx engine.Tx) error {
		return in.db.NoteStore().Note(ctx, tx, key, hash)
	})
	return err
}

// entryKey returns the key of a note about an entry with names, which may have any character.
func entryKey(note string, names ...string) (string, error) {
	text, err := json.Marshal(names)
	if err != nil {
		return "", fmt.Errorf("encode: %w", err)
	}
	return note + string(text), nil
}

// joinedNote returns the key of the note that older versions wrote about a source, if it names no other source.
func joinedNote(s *deadletter.Source) string {
	if strings.Contains(s.Namespace, "/") || strings.Contains(s.Name, "/") {
		return ""
	}
	return declaredNote + s.Namespace + "/" + s.Name
}

// changedEntry returns the hash of an entry of the configuration; "" if it was saved as it is. Of the keys, the first
// that has a note counts; "" has none.
func (in *Inbox) changedEntry(ctx context.Context, entry any, keys ...string) (string, error) {
	text, err := json.Marshal(entry)
	if err != nil {
		return "", fmt.Errorf("encode: %w", err)
	}
	// A hash, because a URL may hold a password, and notes are not where secrets belong.
	sum := sha256.Sum256(text)
	hash := hex.EncodeToString(sum[:])
	for _, key := range keys {
		known, err := in.db.NoteStore().FindNote(ctx, key)
		if err != nil || known == hash {
			return "", err
		}
		if known != "" {
			break
		}
	}
	return hash, nil
}
