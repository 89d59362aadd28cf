package store

import (
	"context"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

var insertAliases = bulkOf(`INSERT INTO tasker_letter_aliases (namespace, source, identity, letter_id)`, "ttti",
	` ON CONFLICT DO NOTHING`)

func (letterRows) AddAliases(ctx context.Context, tx engine.Tx, aliases []deadletter.Alias) error {
	s := In(tx)
	rows := make([][]any, len(aliases))
	for i, a := range aliases {
		rows[i] = []any{a.Namespace, a.Source, identityKey(a.Identity), s.id(a.Letter)}
	}
	return insertAliases.send(ctx, s, rows)
}

// The letters are whole and locked, so that the same failure reported twice at once is counted once. Which letters they
// are is read before they are locked: an identity that a letter has stays with it for as long as the letter exists.
func (letterRows) Identified(ctx context.Context, tx engine.Tx, namespace, source string,
	identities []string,
) (map[string]*deadletter.Letter, error) {
	s := letterRows{In(tx)}
	byKey := map[string]task.ID{}
	for _, table := range []string{"tasker_letters", "tasker_letter_aliases"} {
		if err := s.identified(ctx, table, namespace, source, identities, byKey); err != nil {
			return nil, err
		}
	}
	if len(byKey) == 0 {
		return nil, nil
	}
	var ids []task.ID
	for _, id := range byKey {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, compareIDs)
	letters, err := s.Letters(ctx, tx, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	byID := make(map[task.ID]*deadletter.Letter, len(letters))
	for _, l := range letters {
		byID[l.ID] = l
	}
	found := make(map[string]*deadletter.Letter, len(byKey))
	for _, identity := range identities {
		if l := byID[byKey[identityKey(identity)]]; l != nil { // it may just have been deleted
			found[identity] = l
		}
	}
	return found, nil
}

// identified adds to byKey the letters that a table has for identities of a source.
func (s letterRows) identified(ctx context.Context, table, namespace, source string, identities []string,
	byKey map[string]task.ID,
) error {
	for part := range slices.Chunk(identities, fetched) {
		w := where{}
		w.add("namespace = ?", namespace)
		w.add("source = ?", source)
		w.add("identity IN " + list(&w, part, func(v string) any { return identityKey(v) }))
		err := s.Query(ctx, `SELECT identity, letter_id FROM `+table+w.text(), w.args, func(row Row) error {
			var identity Text
			var id task.ID
			if err := row.Scan(&identity, s.ScanID(&id)); err != nil {
				return err
			}
			byKey[string(identity)] = id
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// dropAliased deletes those of the letters that were just added whose identities are aliases, and returns how many.
// It comes after their insert. A transaction that was changing an identity into an alias has kept the insert waiting at
// the unique index until its commit, and these statements see what it has committed.
func (s letterRows) dropAliased(ctx context.Context, letters []*deadletter.Letter) (dropped int64, err error) {
	of := map[sourceName][]*deadletter.Letter{}
	for _, l := range letters {
		q := sourceName{l.Namespace, l.Source}
		of[q] = append(of[q], l)
	}
	for q, letters := range of {
		aliased, err := s.aliased(ctx, q, letters)
		if err != nil {
			return 0, err
		}
		for part := range chunks(aliased) {
			w := where{}
			n, err := s.Exec(ctx, `DELETE FROM tasker_letters WHERE letter_id IN `+s.idList(&w, part), w.args...)
			if err != nil {
				return 0, err
			}
			dropped += n
		}
	}
	return dropped, nil
}

// sourceName names a source.
type sourceName struct{ namespace, source string }

// aliased returns those letters of a source whose identities are aliases.
func (s letterRows) aliased(ctx context.Context, of sourceName, letters []*deadletter.Letter) ([]task.ID, error) {
	// Most sources have no aliases: nothing of theirs has come back.
	some, err := first(ctx, s.SQL, scanInt, `SELECT 1 FROM tasker_letter_aliases WHERE namespace = $1 AND source = $2
  LIMIT 1`, of.namespace, of.source)
	if err != nil || some == 0 {
		return nil, err
	}
	identities := make([]string, len(letters))
	for i, l := range letters {
		identities[i] = l.Identity
	}
	byKey := map[string]task.ID{}
	if err := s.identified(ctx, "tasker_letter_aliases", of.namespace, of.source, identities, byKey); err != nil {
		return nil, err
	}
	var ids []task.ID
	for _, l := range letters {
		if _, known := byKey[identityKey(l.Identity)]; known {
			ids = append(ids, l.ID)
		}
	}
	return ids, nil
}

func (letterRows) Namesakes(ctx context.Context, tx engine.Tx, namespace, source string, messageIDs []string) (
	map[string]task.ID, error,
) {
	s := letterRows{In(tx)}
	found := map[string]task.ID{}
	for part := range slices.Chunk(messageIDs, fetched) {
		w := where{}
		name, of := w.arg(namespace), w.arg(source)
		values := list(&w, part, func(v string) any { return clean(v) })
		values = strings.NewReplacer("(", "(CAST(", ", ", " AS text)), (CAST(", ")", " AS text))").Replace(values)
		query := `SELECT v.column1, (SELECT l.letter_id FROM tasker_letters l WHERE l.namespace = ` + name +
			` AND l.message_id = v.column1 AND l.message_id <> '' AND l.source = ` + of +
			` ORDER BY l.letter_id DESC LIMIT 1) FROM (VALUES ` + values + `) AS v`
		err := s.Query(ctx, query, w.args, func(row Row) error {
			var name Text
			var id task.ID
			err := row.Scan(&name, s.ScanID(&id))
			if !id.IsZero() {
				found[string(name)] = id
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}
