package store

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

func (s letterRows) LettersToSend(ctx context.Context, tx engine.Tx, ids []task.ID, size int) (
	letters []*deadletter.Letter, left []task.ID, err error,
) {
	if tx != nil {
		s = letterRows{In(tx)}
	} else {
		s.Lock = ""
	}
	rows, err := s.locked(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	kept, total := make(map[task.ID]int, len(rows)), 0
	for _, r := range rows {
		if r.large() {
			kept[r.ID] = r.kept
		}
	}
	for i, id := range ids { // in the order of the caller, which is that of messages with one key
		if total += kept[id]; total > size && i > 0 {
			left = ids[i:]
			rows = slices.DeleteFunc(rows, func(r letterRow) bool { return slices.Contains(left, r.ID) })
			break
		}
	}
	letters, err = s.withBodies(ctx, rows)
	return letters, left, err
}

func (letterRows) BareLetters(ctx context.Context, tx engine.Tx, ids []task.ID) ([]*deadletter.Letter, error) {
	s := letterRows{In(tx)}
	rows, err := s.lockedAs(ctx, ids, bareLetter)
	letters := make([]*deadletter.Letter, len(rows))
	for i, r := range rows {
		letters[i] = r.Letter
	}
	return letters, err
}

// letterState is what a change of state changes of a letter.
type letterState struct {
	state            model.LetterState
	at, due, purgeAt task.Instant
	reason           string
	redrive          task.ID
	replays          int
	failed           int
	parked, unknown  bool
	version          int64
}

// The letters of a batch change in the same way, mostly: one statement stores those with equal values.
func (letterRows) SaveStates(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) error {
	s := In(tx)
	return s.saveStates(letters, func(_ letterState, w *where, query string) error {
		return s.Send(ctx, query, w.args...)
	})
}

func (letterRows) SaveUnchanged(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) (bool, error) {
	s := In(tx)
	saved := int64(0)
	err := s.saveStates(letters, func(v letterState, w *where, query string) error {
		query += ` AND version = ` + w.arg(v.version-1)
		n, err := s.Exec(ctx, query, w.args...)
		saved += n
		return err
	})
	return saved == int64(len(letters)), err
}

// saveStates calls save with the update of letters that change alike.
func (s SQL) saveStates(letters []*deadletter.Letter, save func(v letterState, w *where, query string) error) error {
	const query = `UPDATE tasker_letters SET state = $1, state_at = $2, due_at = $3, reason = $4, redrive_id = $5,
  purge_at = $6, replays = $7, parked = $8, version = $9, failed_sends = $10, unknown = $11 WHERE letter_id IN `
	id := func(l **deadletter.Letter) task.ID { return (*l).ID }
	return saveAlike(letters, id, func(p **deadletter.Letter) letterState {
		l := *p
		return letterState{state: l.State, at: l.StateAt, due: l.Due, purgeAt: l.PurgeAt, reason: clean(l.Reason),
			redrive: l.Redrive, replays: l.Replays, failed: l.FailedSends, parked: l.Parked, unknown: l.Unknown,
			version: l.Version}
	}, func(v letterState, ids []task.ID) error {
		w := where{args: []any{string(v.state), int64(v.at), int64(v.due), v.reason, s.optional(v.redrive),
			int64(v.purgeAt), v.replays, flag(v.parked), v.version, v.failed, flag(v.unknown)}}
		return save(v, &w, query+s.idList(&w, ids))
	})
}

// saveAlike calls save for the rows that have equal values, once for each chunk of their IDs: in the order of IDs in a
// chunk, and of the first ID of each value, so that transactions lock rows in one order, mostly.
func saveAlike[T any, V comparable](rows []T, id func(*T) task.ID, values func(*T) V, save func(V, []task.ID) error,
) error {
	sorted := make([]*T, len(rows))
	for i := range rows {
		sorted[i] = &rows[i]
	}
	slices.SortStableFunc(sorted, func(a, b *T) int { return compareIDs(id(a), id(b)) })
	var order []V
	alike := map[V][]task.ID{}
	for _, row := range sorted {
		v := values(row)
		if alike[v] == nil {
			order = append(order, v)
		}
		alike[v] = append(alike[v], id(row))
	}
	for _, v := range order {
		for ids := range chunks(alike[v]) {
			if err := save(v, ids); err != nil {
				return err
			}
		}
	}
	return nil
}
