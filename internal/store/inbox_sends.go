package store

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/outbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
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
	for i, id := range ids { // in the caller's order, which is that of messages with one key
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

// Most letters of a batch change alike: one statement stores those with equal values.
func (letterRows) SaveStates(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) error {
	s := In(tx)
	return s.saveStates(letters, func(w *where, query string) error { return s.Send(ctx, query, w.args...) })
}

func (letterRows) SaveUnchanged(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) error {
	s := In(tx)
	return s.reaching(ctx, len(letters), func(exec func(query string, args []any) error) error {
		return s.saveStates(letters, func(w *where, query string) error {
			query += ` AND version = ` + w.arg(w.args[0].(int64)-1)
			return exec(query, w.args)
		})
	})
}

func (s SQL) reaching(ctx context.Context, n int, updates func(exec func(query string, args []any) error) error) error {
	reached := int64(0)
	err := updates(func(query string, args []any) error {
		rows, err := s.Exec(ctx, query, args...)
		reached += rows
		return err
	})
	if err == nil && reached != int64(n) {
		err = outbox.ErrChanged
	}
	return err
}

var updateStates = `UPDATE tasker_letters SET ` + assigned(letterState, 1) + ` WHERE letter_id IN `

// saveStates calls save for letters that change alike; the first argument is their version.
func (s SQL) saveStates(letters []*deadletter.Letter, save func(w *where, query string) error) error {
	return saveAlike(s, letters, func(l **deadletter.Letter) task.ID { return (*l).ID },
		func(l **deadletter.Letter) []any { return letterStateFields(*l) },
		func(w *where, ids string) error { return save(w, updateStates+ids) })
}
