package store

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/task"
)

// Each state is one walk along the index of sources.
func (s letterRows) OldestLetters(ctx context.Context, f inbox.QueueFilter) ([]task.ID, error) {
	w := where{}
	var walks []string
	for _, state := range f.States {
		one := where{args: w.args}
		one.add("l.namespace = ?", f.Namespace)
		one.add("l.source = ?", f.Source)
		one.add("l.state = " + quoted(state))
		if f.Parked != nil {
			one.add("l.parked = ?", flag(*f.Parked))
		}
		one.addIf(f.Reason != "", "substr(l.reason, 1, ?) = ?", utf8.RuneCountInString(f.Reason), f.Reason)
		one.addIf(f.At != 0, "l.state_at = ?", int64(f.At))
		one.addIf(!f.Above.IsZero(), "l.letter_id > ?", s.id(f.Above))
		walks = append(walks, `SELECT letter_id FROM (SELECT l.letter_id FROM tasker_letters l`+one.text()+
			` ORDER BY l.letter_id LIMIT `+one.arg(f.Skip+f.Limit)+`) `+string(state))
		w.args = one.args
	}
	return collect(ctx, s, s.scanID, `SELECT letter_id FROM (`+strings.Join(walks, ` UNION ALL `)+
		`) q ORDER BY letter_id LIMIT `+w.arg(f.Limit)+` OFFSET `+w.arg(f.Skip), w.args...)
}

func (s letterRows) WholeLetters(ctx context.Context, ids []task.ID) ([]*deadletter.Letter, error) {
	rows, err := collectByIDs(ctx, s.SQL, ids, s.scanLetter,
		`SELECT `+wholeLetter+` FROM tasker_letters l WHERE l.letter_id IN `, ``)
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(r letterRow) bool { return !slices.Contains(ids, r.ID) })
	slices.SortFunc(rows, func(a, b letterRow) int { return compareIDs(a.ID, b.ID) })
	return s.whole(ctx, rows)
}
