package store

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// The statements of engine.UniqueStore. None locks the row of a key whose task guards it: a submission that finds one
// must not delay others.
var (
	insertUnique = bulkOf(`INSERT INTO tasker_unique_keys (namespace, key, task_id, expires_at, guards)`, "ttint",
		` ON CONFLICT DO NOTHING RETURNING namespace, key`)
	findUnique = bulkOf(`SELECT k.namespace, k.key, k.task_id, k.expires_at, k.guards, t.state FROM (`, "tt", `) AS v
 JOIN tasker_unique_keys k ON k.namespace = v.column1 AND k.key = v.column2 LEFT JOIN tasker_tasks t ON t.id = k.task_id`)
	lockUnique = bulkOf(`SELECT k.namespace, k.key FROM (`, "tt", `) AS v
 JOIN tasker_unique_keys k ON k.namespace = v.column1 AND k.key = v.column2 ORDER BY v.column1, v.column2`)
	lockHolders = bulkOf(`SELECT t.id FROM (`, "i", `) AS v JOIN tasker_tasks t ON t.id = v.column1 ORDER BY t.id`)
	moveUnique  = bulkOf(`UPDATE tasker_unique_keys SET task_id = v.column4, expires_at = v.column5, guards = v.column6
 FROM (`, "ttiint", `) AS v WHERE namespace = v.column1 AND key = v.column2 AND task_id = v.column3
 RETURNING namespace, key`)
)

const maxTakes = 20

// UniqueStore implements engine.Database.
func (s SQL) UniqueStore() engine.UniqueStore { return s }

// WithoutWaiting implements engine.UniqueStore, for an engine with a single writer, where no other transaction can
// block it.
func (SQL) WithoutWaiting(_ context.Context, _ engine.Tx, fn func() error) error { return fn() }

// TakeUnique implements engine.UniqueStore. All transactions ask in one order, to avoid deadlocks.
func (SQL) TakeUnique(ctx context.Context, tx engine.Tx, asks []engine.UniqueAsk, now task.Instant,
) ([]engine.Guardian, error) {
	s := In(tx)
	guardians := make(map[engine.KeyName]engine.Guardian, len(asks))
	open := slices.Clone(asks)
	slices.SortFunc(open, func(a, b engine.UniqueAsk) int { return compareNames(a.Name, b.Name) })
	for range maxTakes {
		var err error
		if open, err = s.takeOpen(ctx, open, now, guardians); err != nil {
			return nil, err
		}
		if len(open) > 0 {
			continue
		}
		answers := make([]engine.Guardian, len(asks))
		for i, a := range asks {
			answers[i] = guardians[a.Name]
		}
		return answers, nil
	}
	return nil, task.Errorf(task.Unavailable, "others take the same unique keys all the time")
}

// takeOpen tries once to take keys. It adds guarded ones to guardians, and returns the asks to repeat.
func (s SQL) takeOpen(ctx context.Context, asks []engine.UniqueAsk, now task.Instant,
	guardians map[engine.KeyName]engine.Guardian,
) (again []engine.UniqueAsk, err error) {
	rows := make([][]any, len(asks))
	for i, a := range asks {
		rows[i] = append([]any{a.Name.Namespace, a.Name.Key}, s.holderColumns(a.To)...)
	}
	won, err := s.uniqueNames(ctx, insertUnique, rows, "")
	if err != nil || len(won) == len(asks) {
		return nil, err
	}
	var rest []engine.UniqueAsk
	for _, a := range asks {
		if !won[a.Name] {
			rest = append(rest, a)
		}
	}
	found, err := s.guardians(ctx, namesOfAsks(rest))
	if err != nil {
		return nil, err
	}
	var free []engine.UniqueMove
	for _, a := range rest {
		switch g, bound := found[a.Name]; {
		case !bound: // deleted meanwhile
			again = append(again, a)
		case g.Guards(now):
			guardians[a.Name] = g
		default:
			free = append(free, engine.UniqueMove{Name: a.Name, From: g.Task, To: a.To})
		}
	}
	moved, err := s.move(ctx, free)
	for _, m := range free {
		if !moved[m.Name] {
			again = append(again, engine.UniqueAsk{Name: m.Name, To: m.To})
		}
	}
	return again, err
}

// MoveUnique implements engine.UniqueStore.
func (SQL) MoveUnique(ctx context.Context, tx engine.Tx, moves []engine.UniqueMove) (map[engine.KeyName]bool, error) {
	s := In(tx)
	if s.Lock != "" {
		holders := make([]task.ID, len(moves))
		for i, m := range moves {
			holders[i] = m.From
		}
		err := lockHolders.run(s.Dialect, s.idRows(holders), func(query string, args []any) error {
			return s.Query(ctx, query+s.Lock+" OF t", args, func(Row) error { return nil })
		})
		if err != nil {
			return nil, err
		}
	}
	return s.move(ctx, moves)
}

// move binds keys that are still bound to From to others. It locks them in the order of all transactions first.
func (s SQL) move(ctx context.Context, moves []engine.UniqueMove) (map[engine.KeyName]bool, error) {
	if len(moves) == 0 {
		return nil, nil
	}
	if s.Lock != "" && len(moves) > 1 {
		if _, err := s.uniqueNames(ctx, lockUnique, nameRows(moves), s.Lock+" OF k"); err != nil {
			return nil, err
		}
	}
	rows := make([][]any, len(moves))
	for i, m := range moves {
		rows[i] = append([]any{m.Name.Namespace, m.Name.Key, s.id(m.From)}, s.holderColumns(m.To)...)
	}
	return s.uniqueNames(ctx, moveUnique, rows, "")
}

// DropUnique implements engine.UniqueStore. It skips a key locked by another transaction, which may bind it again, and
// may be long.
func (SQL) DropUnique(ctx context.Context, tx engine.Tx, before task.Instant, limit int) (int, error) {
	s := In(tx)
	lock := ""
	if s.Lock != "" {
		lock = s.Lock + " SKIP LOCKED"
	}
	n, err := s.Exec(ctx, `WITH old AS MATERIALIZED (SELECT namespace, key FROM tasker_unique_keys
  WHERE expires_at > 0 AND expires_at < $1 ORDER BY expires_at LIMIT $2`+lock+`)
 DELETE FROM tasker_unique_keys WHERE (namespace, key) IN (SELECT namespace, key FROM old)`, int64(before), limit)
	return int(n), err
}

// Guardians implements engine.UniqueStore.
func (s SQL) Guardians(ctx context.Context, names []engine.KeyName) (map[engine.KeyName]engine.Guardian, error) {
	return s.guardians(ctx, names)
}

func (s SQL) guardians(ctx context.Context, names []engine.KeyName) (map[engine.KeyName]engine.Guardian, error) {
	out := make(map[engine.KeyName]engine.Guardian, len(names))
	rows := make([][]any, len(names))
	for i, n := range names {
		rows[i] = []any{n.Namespace, n.Key}
	}
	err := findUnique.run(s.Dialect, rows, func(query string, args []any) error {
		return s.Query(ctx, query, args, func(row Row) error {
			var n engine.KeyName
			var g engine.Guardian
			var guards, state Text
			err := row.Scan((*Text)(&n.Namespace), (*Text)(&n.Key), s.ScanID(&g.Task), (*int64)(&g.Until), &guards, &state)
			g.While, g.State = strings.Split(string(guards), ","), task.State(state)
			out[n] = g
			return err
		})
	})
	return out, err
}

func (s SQL) uniqueNames(ctx context.Context, b bulk, rows [][]any, behind string) (map[engine.KeyName]bool, error) {
	out := make(map[engine.KeyName]bool, len(rows))
	err := b.run(s.Dialect, rows, func(query string, args []any) error {
		return s.Query(ctx, query+behind, args, func(row Row) error {
			var n engine.KeyName
			err := row.Scan((*Text)(&n.Namespace), (*Text)(&n.Key))
			out[n] = true
			return err
		})
	})
	return out, err
}

func (s SQL) holderColumns(h engine.Holder) []any {
	return []any{s.id(h.Task), int64(h.Until), strings.Join(h.While, ",")}
}

func namesOfAsks(asks []engine.UniqueAsk) []engine.KeyName {
	names := make([]engine.KeyName, len(asks))
	for i, a := range asks {
		names[i] = a.Name
	}
	return names
}

// nameRows returns the names of moves as rows, in the order in which all transactions lock them.
func nameRows(moves []engine.UniqueMove) [][]any {
	sorted := slices.Clone(moves)
	slices.SortFunc(sorted, func(a, b engine.UniqueMove) int { return compareNames(a.Name, b.Name) })
	rows := make([][]any, len(sorted))
	for i, m := range sorted {
		rows[i] = []any{m.Name.Namespace, m.Name.Key}
	}
	return rows
}

func compareNames(a, b engine.KeyName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Key, b.Key))
}
