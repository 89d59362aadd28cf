package store

import (
	"context"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

var insertAliases = bulkOf(`INSERT INTO tasker_letter_aliases (namespace, source, identity, letter_id)`, "ttti",
	` ON CONFLICT DO NOTHING`)

func (letterRows) AddAliases(ctx context.Context, tx engine.Tx, aliases []deadletter.Alias) error {
	return insertAliases.add(ctx, In(tx), len(aliases), func(i int) []any {
		a := aliases[i]
		return []any{a.Namespace, a.Source, identityKey(a.Identity), &a.Letter}
	})
}

// They are found before they are locked: a letter keeps its identities.
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

func (s letterRows) identified(ctx context.Context, table, namespace, source string, identities []string,
	byKey map[string]task.ID,
) error {
	key := func(v string) any { return identityKey(v) }
	return inParts(identities, key, []any{namespace, source}, func(in string, args []any) error {
		return s.Query(ctx, `SELECT identity, letter_id FROM `+table+
			` WHERE namespace = $1 AND source = $2 AND identity IN `+in, args, func(row Row) error {
			var identity string
			var id task.ID
			err := s.read(row, &identity, &id)
			byKey[identity] = id
			return err
		})
	})
}

// dropAliased deletes the letters just added whose identities are aliases, and returns their number. A concurrent
// transaction that adds an alias has kept the insert waiting until its commit, which these statements see.
func (s letterRows) dropAliased(ctx context.Context, letters []*deadletter.Letter) (dropped int64, err error) {
	of := map[deadletter.SourceKey][]*deadletter.Letter{}
	for _, l := range letters {
		q := deadletter.SourceKey{Namespace: l.Namespace, Name: l.Source}
		of[q] = append(of[q], l)
	}
	for q, letters := range of {
		aliased, err := s.aliased(ctx, q, letters)
		if err != nil {
			return 0, err
		}
		err = inParts(aliased, s.id, nil, func(in string, args []any) error {
			n, err := s.Exec(ctx, `DELETE FROM tasker_letters WHERE letter_id IN `+in, args...)
			dropped += n
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	return dropped, nil
}

func (s letterRows) aliased(ctx context.Context, of deadletter.SourceKey, letters []*deadletter.Letter) (
	[]task.ID, error,
) {
	// Most sources have no aliases, as none of their letters came back.
	some, err := first(ctx, s.SQL, scanInt, `SELECT 1 FROM tasker_letter_aliases WHERE namespace = $1 AND source = $2
  LIMIT 1`, of.Namespace, of.Name)
	if err != nil || some == 0 {
		return nil, err
	}
	identities := make([]string, len(letters))
	for i, l := range letters {
		identities[i] = l.Identity
	}
	byKey := map[string]task.ID{}
	if err := s.identified(ctx, "tasker_letter_aliases", of.Namespace, of.Name, identities, byKey); err != nil {
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
	id := func(v string) any { return clean(v) }
	return found, inParts(messageIDs, id, []any{namespace, source}, func(in string, args []any) error {
		values := strings.NewReplacer("(", "(CAST(", ", ", " AS text)), (CAST(", ")", " AS text))").Replace(in)
		return s.Query(ctx, `SELECT v.column1, (SELECT l.letter_id FROM tasker_letters l WHERE l.namespace = $1
  AND l.message_id = v.column1 AND l.message_id <> '' AND l.source = $2 ORDER BY l.letter_id DESC LIMIT 1)
 FROM (VALUES `+values+`) AS v`, args, func(row Row) error {
			var name string
			var id task.ID
			err := s.read(row, &name, &id)
			if !id.IsZero() {
				found[name] = id
			}
			return err
		})
	})
}
