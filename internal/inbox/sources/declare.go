package sources

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

const declaredNote, declaredPolicyNote = "source:", "policy:"

var declaredBy = desk.By{Actor: engine.System, Reason: "the configuration of a node names it"}

// Declare saves the sources of a node's configuration at the first start with their entry, and again when the entry has
// changed. Changes by operators in between survive a restart, and a source that leaves the configuration stays. Nodes
// with different entries of a source each save theirs when they start.
func (in *Registry) Declare(ctx context.Context, sources []*deadletter.Source) error {
	for _, s := range sources {
		err := in.declare(ctx, s, func(note noting) error {
			_, err := in.saveSource(ctx, s, declaredBy,
				func(ctx context.Context, tx engine.Tx, known, next *deadletter.Source) error {
					next.Paused = known != nil && known.Paused // only operators pause
					return note(ctx, tx)
				})
			return err
		}, entryKey(declaredNote, s.Namespace, s.Name), joinedNote(s))
		if err != nil {
			return fmt.Errorf("source %s of namespace %s in the configuration: %w", s.Name, s.Namespace, err)
		}
	}
	return nil
}

// DeclarePolicies does the same for the policies of sources.
func (in *Registry) DeclarePolicies(ctx context.Context, policies []*deadletter.Policy) error {
	for _, p := range policies {
		entry := *p
		entry.SetFrom, entry.SetBy = "", "" // the same settings in another file change nothing
		err := in.declare(ctx, &entry, func(note noting) error {
			_, err := in.savePolicy(ctx, p, declaredBy, note)
			return err
		}, entryKey(declaredPolicyNote, p.Namespace, p.Source, p.Origin))
		if err != nil {
			return fmt.Errorf("policy %s of namespace %s in the configuration: %w", policyName(p), p.Namespace, err)
		}
	}
	return nil
}

type noting func(context.Context, engine.Tx) error

// declare saves an entry of the configuration unless the first of the keys with a note has its hash. "" has no note.
// The new note gets the first key.
func (in *Registry) declare(ctx context.Context, entry any, save func(noting) error, keys ...string) error {
	text, err := json.Marshal(entry)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	// Only a hash: a URL may hold a password, and notes are no place for secrets.
	sum := sha256.Sum256(text)
	hash := hex.EncodeToString(sum[:])
	for _, key := range keys {
		known, err := in.DB.NoteStore().FindNote(ctx, key)
		if err != nil || known == hash {
			return err
		}
		if known != "" {
			break
		}
	}
	return save(func(ctx context.Context, tx engine.Tx) error {
		return in.DB.NoteStore().Note(ctx, tx, keys[0], hash)
	})
}

func entryKey(note string, names ...string) string {
	text, _ := json.Marshal(names)
	return note + string(text)
}

// joinedNote returns the key that older versions used for a source, if it is unambiguous.
func joinedNote(s *deadletter.Source) string {
	if strings.Contains(s.Namespace, "/") || strings.Contains(s.Name, "/") {
		return ""
	}
	return declaredNote + s.Namespace + "/" + s.Name
}
