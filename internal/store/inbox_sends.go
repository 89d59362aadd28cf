package store

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

// LettersToSend returns letters without their stacks, locked; see inbox.SendRows.
func (letterRows) LettersToSend(ctx context.Context, tx engine.Tx, ids []task.ID) ([]*deadletter.Letter, error) {
	s := letterRows{In(tx)}
	rows, err := s.locked(ctx, ids)
	if err != nil {
		return nil, err
	}
	return s.withBodies(ctx, rows)
}

// BareLetters returns letters without headers, bodies and stacks, locked; see inbox.SendRows.
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
	state            deadletter.State
	at, due, purgeAt task.Instant
	reason           string
	redrive          task.ID
	replays          int
	failed           int
	parked, unknown  bool
	version          int64
}

// SaveStates stores what a change of state changes of letters; see inbox.SendRows. The letters of a batch change in the
// same way, mostly: those with equal values are stored by one statement.
func (letterRows) SaveStates(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) error {
	s := In(tx)
	sorted := slices.SortedFunc(slices.Values(letters), func(a, b *deadletter.Letter) int {
		return compareIDs(a.ID, b.ID)
	})
	var order []letterState
	alike := map[letterState][]task.ID{}
	for _, l := range sorted {
		v := letterState{state: l.State, at: l.StateAt, due: l.Due, purgeAt: l.PurgeAt, reason: clean(l.Reason),
			redrive: l.Redrive, replays: l.Replays, failed: l.FailedSends, parked: l.Parked, unknown: l.Unknown,
			version: l.Version}
		if alike[v] == nil {
			order = append(order, v)
		}
		alike[v] = append(alike[v], l.ID)
	}
	for _, v := range order {
		for ids := range chunks(alike[v]) {
			w := where{args: []any{string(v.state), int64(v.at), int64(v.due), v.reason, s.optional(v.redrive),
				int64(v.purgeAt), v.replays, flag(v.parked), v.version, v.failed, flag(v.unknown)}}
			query := `UPDATE tasker_letters SET state = $1, state_at = $2, due_at = $3, reason = $4, redrive_id = $5,
  purge_at = $6, replays = $7, parked = $8, version = $9, failed_sends = $10, unknown = $11
  WHERE letter_id IN ` + s.idList(&w, ids)
			if err := s.Send(ctx, query, w.args...); err != nil {
				return err
			}
		}
	}
	return nil
}

// PayloadSizes returns the sizes of large payloads; see inbox.SendRows.
func (s letterRows) PayloadSizes(ctx context.Context, ids []task.ID) (map[task.ID]int, error) {
	sizes := map[task.ID]int{}
	_, err := collectByIDs(ctx, s.SQL, ids, func(row Row) (none struct{}, err error) {
		var id task.ID
		var size int
		err = row.Scan(s.ScanID(&id), &size)
		sizes[id] = size
		return none, err
	}, `SELECT letter_id, kept_bytes FROM tasker_letters WHERE kept_bytes > 1024 AND letter_id IN `, ``)
	return sizes, err
}
