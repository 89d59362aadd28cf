package store

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/compat"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// The payload, the edited content and the latest stack come from two other tables.
func (s letterRows) FindLetter(ctx context.Context, id task.ID) (*deadletter.Letter, error) {
	letters, err := s.WholeLetters(ctx, []task.ID{id})
	if err != nil || len(letters) == 0 {
		return nil, err
	}
	return letters[0], nil
}

// Occurrences come whole, the latest first.
func (s letterRows) Occurrences(ctx context.Context, id task.ID, limit int) ([]deadletter.Occurrence, error) {
	list, err := occurrences.values(ctx, s.SQL, ` WHERE o.letter_id = $1 ORDER BY o.no DESC LIMIT $2`, s.id(id), limit)
	if len(list) > 0 && list[0].Letter != id { // an engine may keep a part of the ID
		return nil, err
	}
	return list, err
}

// Each state is one walk along the index of the selection. Conditions outside the index filter a bounded window; a page
// is short where the window ended.
func (s letterRows) ListLetters(ctx context.Context, f inbox.LetterFilter) (inbox.LetterPage, error) {
	if !f.SelectsLetters() || len(statesOf(f.Selection)) == 0 {
		return inbox.LetterPage{}, nil
	}
	if len(f.IDs) > 0 {
		return s.listByIDs(ctx, f)
	}
	namespaces, err := s.letterNamespaces(ctx, f.Selection)
	if err != nil || len(namespaces) == 0 {
		return inbox.LetterPage{}, err
	}
	by, rest := letterIndex(f.Selection, namespaces)
	residual := where{}
	s.letterTerms(&residual, rest)
	size := f.Limit + 1
	if len(residual.terms) > 0 {
		size = window
	}
	w := where{}
	walks := s.walks(&w, by, f, size)
	query := `SELECT q.letter_id FROM (` + walks + `) q`
	if len(residual.terms) > 0 {
		outer := where{args: w.args}
		s.letterTerms(&outer, rest)
		query += ` JOIN tasker_letters l ON l.letter_id = q.letter_id` + outer.text()
		w.args = outer.args
	}
	ids, err := collect(ctx, s, s.scanID, query+` ORDER BY q.letter_id DESC LIMIT `+w.arg(f.Limit+1), w.args...)
	if err != nil {
		return inbox.LetterPage{}, err
	}
	page := inbox.LetterPage{}
	if len(ids) > f.Limit {
		ids = ids[:f.Limit]
		page.Next = ids[f.Limit-1]
	} else if len(residual.terms) > 0 {
		// The window is full: the next page begins after its last letter.
		edge := where{}
		walks := s.walks(&edge, by, f, window)
		page.Next, err = first(ctx, s, s.scanID, `SELECT q.letter_id FROM (`+walks+`) q ORDER BY q.letter_id DESC
 LIMIT 1 OFFSET `+strconv.Itoa(window-1), edge.args...)
		if err != nil {
			return inbox.LetterPage{}, err
		}
	}
	page.Letters, err = s.listed(ctx, ids)
	return page, err
}

// walks returns a query for the newest letters of one walk for each restriction and state, none longer than a page.
func (s letterRows) walks(w *where, by []walk, f inbox.LetterFilter, size int) string {
	type way struct {
		walk
		state model.LetterState
	}
	var ways []way
	for _, restriction := range by {
		states := statesOf(f.Selection)
		if restriction.term == wholeTable && f.State == "" {
			states = []model.LetterState{""} // all in one walk: that of a state without letters would read every letter
		}
		for _, state := range states {
			ways = append(ways, way{restriction, state})
		}
	}
	walks := w.union(len(ways), func(i int, one *where) string {
		one.add(ways[i].term, ways[i].values...)
		// a constant: the planner must recognise a rare state, or it walks along the primary key
		one.addIf(ways[i].state != "", "l.state = "+quoted(ways[i].state))
		one.addIf(!f.Below.IsZero(), "l.letter_id < ?", s.id(f.Below))
		return `SELECT l.letter_id FROM tasker_letters l` + one.text() + ` ORDER BY l.letter_id DESC LIMIT ` + one.arg(size)
	})
	return `SELECT letter_id FROM (` + walks + `) u ORDER BY letter_id DESC LIMIT ` + w.arg(size)
}

func (s letterRows) listByIDs(ctx context.Context, f inbox.LetterFilter) (inbox.LetterPage, error) {
	var found []task.ID
	for part := range chunks(f.IDs) {
		w := where{}
		w.add("l.letter_id IN " + s.idList(&w, part))
		w.addIf(f.State != "", "l.state = ?", string(f.State))
		w.addIf(!f.Below.IsZero(), "l.letter_id < ?", s.id(f.Below))
		s.letterTerms(&w, f.Selection)
		ids, err := collect(ctx, s, s.scanID, `SELECT l.letter_id FROM tasker_letters l`+w.text(), w.args...)
		if err != nil {
			return inbox.LetterPage{}, err
		}
		for _, id := range ids {
			if slices.Contains(part, id) {
				found = append(found, id)
			}
		}
	}
	slices.SortFunc(found, func(a, b task.ID) int { return compareIDs(b, a) })
	found = slices.Compact(found)
	page := inbox.LetterPage{}
	if len(found) > f.Limit {
		found = found[:f.Limit]
		page.Next = found[f.Limit-1]
	}
	var err error
	page.Letters, err = s.listed(ctx, found)
	return page, err
}

var shownLetter = strings.Replace(bareLetter, "l.message_key", "substr(l.message_key, 1, 1024)", 1)

// listed returns letters for a list, by ID: without headers, stacks and payloads of other tables, and with the
// beginning of a long key.
func (s letterRows) listed(ctx context.Context, ids []task.ID) ([]*deadletter.Letter, error) {
	rows, err := collectByIDs(ctx, s.SQL, ids, s.scanLetter,
		`SELECT `+shownLetter+` FROM tasker_letters l WHERE l.letter_id IN `, ``)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(rows, func(a, b letterRow) int { return compareIDs(b.ID, a.ID) })
	letters := make([]*deadletter.Letter, len(rows))
	for i, r := range rows {
		letters[i] = r.Letter
	}
	return letters, nil
}

func (s letterRows) OpenLetters(ctx context.Context, namespace, source string, limit int) (int, error) {
	const query = `SELECT count(*) FROM (SELECT 1 FROM tasker_letters WHERE namespace = $1 AND source = $2
  AND state IN ('open', 'scheduled') LIMIT $3) AS q`
	n, err := first(ctx, s, scanInt, query, namespace, source, limit)
	return int(n), err
}

func (s letterRows) DueLetters(ctx context.Context, until task.Instant, limit int) ([]task.ID, error) {
	const query = `SELECT letter_id FROM tasker_letters WHERE state = 'scheduled' AND due_at <= $1
 ORDER BY due_at, letter_id LIMIT $2`
	return collect(ctx, s, s.scanID, query, int64(until), limit)
}

// The oldest come first. The second result reports whether there are more than limit.
func (s letterRows) SelectCases(ctx context.Context, f deadletter.Selection, limit int) ([]task.ID, bool, error) {
	if f.State = cmp.Or(f.State, model.LetterOpen); !hasCases(f) {
		return nil, false, nil
	}
	w := where{}
	if some, err := s.caseSelection(ctx, &w, f); err != nil || !some {
		return nil, false, err
	}
	ids, err := collect(ctx, s, s.scanID, `SELECT c.dlq_entry_uuid FROM tasker_tasks_dlq c`+w.text()+
		` ORDER BY c.dlq_entry_uuid LIMIT `+w.arg(limit+1), w.args...)
	return ids[:min(len(ids), limit)], len(ids) > limit, err
}

func (letterRows) PurgeLetters(ctx context.Context, tx engine.Tx, until task.Instant, limit int) (int, error) {
	s := In(tx)
	query := `SELECT letter_id FROM tasker_letters WHERE purge_at <> 0 AND purge_at <= $1
 ORDER BY purge_at, letter_id LIMIT $2` + s.Lock
	ids, err := collect(ctx, s, s.scanID, query, int64(until), limit)
	if err != nil {
		return 0, err
	}
	for _, rows := range []string{"tasker_letter_occurrences WHERE letter_id", "tasker_letter_bodies WHERE letter_id",
		"tasker_letter_aliases WHERE letter_id", "tasker_letters WHERE letter_id",
		"tasker_sends WHERE kind <> 'failure' AND owner_id"} {
		if err := inParts(ids, s.id, nil, func(in string, args []any) error {
			return s.Send(ctx, `DELETE FROM `+rows+` IN `+in, args...)
		}); err != nil {
			return 0, err
		}
	}
	return len(ids), nil
}

// No body is read: an edit counts as much as the original, or as its stored part if that is more.
func (s letterRows) LetterBytes(ctx context.Context, ids []task.ID) (map[task.ID]int, error) {
	sizes := make(map[task.ID]int, len(ids))
	_, err := collectByIDs(ctx, s.SQL, ids, func(row Row) (none struct{}, err error) {
		var id task.ID
		var kept, around, edited, packed int
		err = row.Scan(s.ScanID(&id), &kept, &around, &edited, &packed)
		sizes[id] = kept + around
		if edited != 0 {
			sizes[id] += max(kept+around, packed)
		}
		return none, err
	}, `SELECT l.letter_id, l.kept_bytes, coalesce(length(l.message_key), 0) + coalesce(length(l.headers), 0), l.edited,
 coalesce((SELECT length(b.edited) FROM tasker_letter_bodies b WHERE b.letter_id = l.letter_id), 0)
 FROM tasker_letters l WHERE l.letter_id IN `, ``)
	return sizes, err
}

// Each state is one walk along the index of sources.
func (s letterRows) OldestLetters(ctx context.Context, f compat.QueueFilter) ([]task.ID, error) {
	w := where{}
	walks := w.union(len(f.States), func(i int, one *where) string {
		one.add("l.namespace = ?", f.Namespace)
		one.add("l.source = ?", f.Source)
		one.add("l.state = " + quoted(f.States[i]))
		if f.Parked != nil {
			one.add("l.parked = ?", flag(*f.Parked))
		}
		one.addIf(f.Reason != "", "substr(l.reason, 1, ?) = ?", utf8.RuneCountInString(f.Reason), f.Reason)
		one.addIf(f.At != 0, "l.state_at = ?", int64(f.At))
		one.addIf(!f.Above.IsZero(), "l.letter_id > ?", s.id(f.Above))
		return `SELECT l.letter_id FROM tasker_letters l` + one.text() + ` ORDER BY l.letter_id LIMIT ` +
			one.arg(f.Skip+f.Limit)
	})
	return collect(ctx, s, s.scanID, `SELECT letter_id FROM (`+walks+`) q ORDER BY letter_id LIMIT `+w.arg(f.Limit)+
		` OFFSET `+w.arg(f.Skip), w.args...)
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
