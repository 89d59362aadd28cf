package node

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/local"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/kit/vault"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
	"github.com/taskerhq/tasker/internal/store/sealed"
)

// Encryption has the keys of stored sensitive values.
type Encryption struct {
	// Ring has the keys; nil stores clear text.
	Ring *vault.Ring
	// Reload rereads the keys when one is missing; by default never.
	Reload func() (*vault.Ring, error)
	// Lost are the IDs of lost keys.
	Lost []string
}

// keyNote begins the notes about the keys that a database's values need.
const keyNote = "encryption:"

type notedKey struct {
	Check string       `json:"check"` // of the key, see vault.Ring.Checks
	Since task.Instant `json:"since"`
}

type keyUses interface {
	KeyUses(ctx context.Context, text string, limit int) ([]store.KeyUse, error)
}

// openSeals returns the encryption of sensitive values; nil for none. It refuses keys that cannot read the
// database.
func openSeals(ctx context.Context, s engine.Database, now func() time.Time, opts Encryption, log *slog.Logger,
) (engine.Seals, error) {
	noted, err := notedKeys(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := fitting(ctx, s, noted, opts, log); err != nil {
		return nil, err
	}
	if opts.Ring == nil && len(noted) == 0 {
		return nil, nil
	}
	if id := opts.Ring.Active(); id != "" && noted[id].Check == "" {
		text, err := json.Marshal(notedKey{opts.Ring.Checks()[id], task.At(now())})
		if err != nil {
			return nil, err
		}
		err = s.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
			return s.NoteStore().FirstNote(ctx, tx, keyNote+id, string(text))
		})
		if err != nil {
			return nil, err
		}
	}
	return sealed.New(opts.Ring, sealed.Options{Reload: opts.Reload, Now: now}), nil
}

func notedKeys(ctx context.Context, s engine.Database) (map[string]notedKey, error) {
	notes, err := s.NoteStore().Notes(ctx, keyNote)
	if err != nil {
		return nil, err
	}
	out := map[string]notedKey{}
	for key, text := range notes {
		var k notedKey
		if err := json.Unmarshal([]byte(text), &k); err != nil {
			return nil, fmt.Errorf("read note %s: %w", key, err)
		}
		out[strings.TrimPrefix(key, keyNote)] = k
	}
	return out, nil
}

// fitting refuses a missing key that values need, and another key with its ID. It drops the note of an unused key.
func fitting(ctx context.Context, s engine.Database, noted map[string]notedKey, opts Encryption, log *slog.Logger,
) error {
	checks := opts.Ring.Checks()
	for id, k := range noted {
		switch {
		case checks[id] == k.Check, slices.Contains(opts.Lost, id):
			continue
		case checks[id] != "":
			return &tasker.Error{Code: tasker.CodeInvalid,
				Message: fmt.Sprintf("the encryption key %q is not the one with which this database was written", id),
				Hint:    "a key keeps its ID: give a new key a new one, and add the old key again"}
		}
		uses := []store.KeyUse{{Table: "the database", Rows: 1}}
		if u, ok := s.(keyUses); ok {
			var err error
			if uses, err = u.KeyUses(ctx, vault.Prefix+id+":", 1); err != nil {
				return err
			}
		}
		if len(uses) > 0 {
			return &tasker.Error{Code: tasker.CodeInvalid,
				Message: fmt.Sprintf("the encryption key %q is missing: values in %s need it", id, uses[0].Table),
				Hint: "add it to encryption.keys_file, after the key that encrypts; `tasker encryption status` shows what " +
					"needs it. If it no longer exists, name it in encryption.lost_keys"}
		}
		err := s.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
			return s.NoteStore().DropNotes(ctx, tx, []string{keyNote + id})
		})
		if err != nil {
			return err
		}
		delete(noted, id)
		log.Info("no value needs an encryption key any more", "key", id)
	}
	return nil
}

// hasKeys reports a missing key with which another node has begun to encrypt: this node's workers would get
// encrypted values, or none.
func (n *Node) hasKeys(ctx context.Context) error {
	notes, err := n.notes.Notes(ctx, keyNote)
	if err != nil || len(notes) == 0 {
		return local.ToError(err)
	}
	checks := n.encryption.Ring.Checks()
	for note := range notes {
		id := strings.TrimPrefix(note, keyNote)
		if checks[id] == "" && n.encryption.Reload != nil {
			ring, err := n.encryption.Reload()
			if err != nil {
				return &tasker.Error{Code: tasker.CodeUnavailable, Message: err.Error()}
			}
			if n.encryption.Ring != nil { // otherwise nothing here decrypts before a restart
				checks = ring.Checks()
			}
		}
		if checks[id] == "" && !slices.Contains(n.encryption.Lost, id) {
			return &tasker.Error{Code: tasker.CodeUnavailable,
				Message: fmt.Sprintf("another node encrypts with the key %q, which this node does not have", id),
				Hint:    "add it to encryption.keys_file of this node, and restart it if it had no keys"}
		}
	}
	return nil
}
