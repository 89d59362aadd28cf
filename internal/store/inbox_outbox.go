package store

import (
	"context"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/task"
)

const sendColumns = `s.owner_id, s.kind, s.no, s.state, s.namespace, s.source, s.destination, s.content, s.message_id,
  s.lineage, s.about_id, s.item_no, s.turn, s.began_at, s.at, s.next_at, s.tries, s.copies, s.died, s.error`

var insertSends = bulkOf(`INSERT INTO tasker_sends (`+strings.ReplaceAll(sendColumns, "s.", "")+`, open)`,
	"itntttttt"+"nin"+"nnnnnnn"+"tn", ` ON CONFLICT (owner_id, kind, no) DO UPDATE SET state = excluded.state,
  destination = excluded.destination, content = excluded.content, about_id = excluded.about_id,
  item_no = excluded.item_no, turn = excluded.turn, began_at = excluded.began_at, at = excluded.at, next_at = excluded.next_at, tries = excluded.tries,
  copies = excluded.copies, died = excluded.died, error = excluded.error, open = excluded.open`)

func (s letterRows) scanSend(row Row) (o deadletter.Send, err error) {
	err = row.Scan(s.ScanID(&o.Owner), (*Text)(&o.Kind), &o.No, (*Text)(&o.State), (*Text)(&o.Namespace),
		(*Text)(&o.Source), (*Text)(&o.Destination), (*Text)(&o.Content), (*Text)(&o.MessageID), &o.Lineage,
		s.ScanID(&o.About), &o.Item, &o.Turn, &o.Began, &o.At, &o.NextAt, &o.Tries, &o.Copies, &o.Died, (*Text)(&o.Error))
	return o, err
}

func (letterRows) AddSends(ctx context.Context, tx engine.Tx, sends []deadletter.Send) error {
	s := In(tx)
	rows := make([][]any, len(sends))
	for i, o := range sends {
		rows[i] = []any{s.id(o.Owner), string(o.Kind), o.No, string(o.State), o.Namespace, o.Source, clean(o.Destination),
			clean(o.Content), clean(o.MessageID), o.Lineage, s.optional(o.About), o.Item, o.Turn, int64(o.Began), int64(o.At),
			int64(o.NextAt), o.Tries, o.Copies, o.Died, clean(o.Error), flag(o.Open())}
	}
	return insertSends.send(ctx, s, rows)
}

// sendValues is what SaveSends stores of a send.
type sendValues struct {
	kind                      deadletter.SendKind
	no                        int
	state                     deadletter.SendState
	turn                      int64
	at, nextAt                task.Instant
	tries, copies, died, open int
	error                     string
}

// The sends of a batch change in the same way, mostly: one statement stores those.
func (letterRows) SaveSends(ctx context.Context, tx engine.Tx, sends []deadletter.Send) error {
	s := In(tx)
	const query = `UPDATE tasker_sends SET state = $3, turn = $4, at = $5, next_at = $6, tries = $7, copies = $8,
  died = $9, open = $10, error = $11 WHERE kind = $1 AND no = $2 AND owner_id IN `
	return saveAlike(sends, ownerOf, func(o *deadletter.Send) sendValues {
		return sendValues{o.Kind, o.No, o.State, o.Turn, o.At, o.NextAt, o.Tries, o.Copies, o.Died, flag(o.Open()),
			clean(o.Error)}
	}, func(v sendValues, ids []task.ID) error {
		w := where{args: []any{string(v.kind), v.no, string(v.state), v.turn, int64(v.at), int64(v.nextAt), v.tries,
			v.copies, v.died, v.open, v.error}}
		return s.Send(ctx, query+s.idList(&w, ids), w.args...)
	})
}

// It changes no column of the index by content, where each entry is somewhere else.
func (letterRows) SaveDelivered(ctx context.Context, tx engine.Tx, sends []deadletter.Send) (bool, error) {
	s := In(tx)
	const query = `UPDATE tasker_sends SET state = 'delivered', error = '', copies = $3 WHERE kind = $1 AND no = $2
  AND state = 'in_flight' AND turn = $4 AND died = $5 AND owner_id IN `
	saved := int64(0)
	err := saveAlike(sends, ownerOf, func(o *deadletter.Send) sendValues {
		return sendValues{kind: o.Kind, no: o.No, turn: o.Turn, copies: o.Copies, died: o.Died}
	}, func(v sendValues, ids []task.ID) error {
		w := where{args: []any{string(v.kind), v.no, v.copies, v.turn, v.died}}
		n, err := s.Exec(ctx, query+s.idList(&w, ids), w.args...)
		saved += n
		return err
	})
	return saved == int64(len(sends)), err
}

func ownerOf(o *deadletter.Send) task.ID { return o.Owner }

func (letterRows) DropSends(ctx context.Context, tx engine.Tx, kind deadletter.SendKind, owners []task.ID) error {
	s := In(tx)
	for ids := range chunks(owners) {
		w := where{}
		w.add("kind = ?", string(kind))
		query := `DELETE FROM tasker_sends` + w.text() + ` AND owner_id IN ` + s.idList(&w, ids)
		if err := s.Send(ctx, query, w.args...); err != nil {
			return err
		}
	}
	return nil
}

func (letterRows) SendsOf(ctx context.Context, tx engine.Tx, kind deadletter.SendKind, owners []task.ID) (
	[]deadletter.Send, error,
) {
	s := letterRows{In(tx)}
	var all []deadletter.Send
	for ids := range chunks(slices.SortedFunc(slices.Values(owners), compareIDs)) {
		w := where{}
		w.add("s.kind = ?", string(kind))
		found, err := collect(ctx, s, s.scanSend, `SELECT `+sendColumns+` FROM tasker_sends s`+w.text()+
			` AND s.owner_id IN `+s.idList(&w, ids)+` ORDER BY s.owner_id, s.no`+s.Lock, w.args...)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// It is two looks at an index for each: a poisonous content may have been sent back a hundred thousand times.
func (letterRows) AnySends(ctx context.Context, tx engine.Tx, namespace, source string,
	contents []inbox.SentContent,
) (map[inbox.SentContent]int, error) {
	s := letterRows{In(tx)}
	found := map[inbox.SentContent]int{}
	for part := range slices.Chunk(contents, fetched) {
		w := where{}
		name, of := w.arg(namespace), w.arg(source)
		values := make([]string, len(part))
		for i, c := range part {
			values[i] = "(CAST(" + w.arg(clean(c.Content)) + " AS text), CAST(" + w.arg(clean(c.MessageID)) + " AS text))"
		}
		look := func(open string) string {
			return `coalesce((SELECT s.no + s.lineage FROM tasker_sends s WHERE s.kind = 'letter' AND s.namespace = ` + name +
				` AND s.source = ` + of + ` AND s.content = v.column1 AND s.message_id = v.column2 AND s.open = ` + open +
				` ORDER BY s.at DESC LIMIT 1), 0)`
		}
		query := `SELECT v.column1, v.column2, ` + look("1") + `, ` + look("0") + ` FROM (VALUES ` +
			strings.Join(values, ", ") + `) AS v`
		err := s.Query(ctx, query, w.args, func(row Row) error {
			var c inbox.SentContent
			var open, closed int
			err := row.Scan((*Text)(&c.Content), (*Text)(&c.MessageID), &open, &closed)
			if n := max(open, closed); n > 0 {
				found[c] = n
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// One that another transaction consumes while this one waits for it is left out, so it looks again until there are
// enough or no more.
func (letterRows) OpenSends(ctx context.Context, tx engine.Tx, namespace, source string, of inbox.SentContent,
	limit int,
) ([]deadletter.Send, error) {
	s := letterRows{In(tx)}
	const query = `SELECT ` + sendColumns + ` FROM tasker_sends s WHERE s.kind = 'letter' AND s.namespace = $1
  AND s.source = $2 AND s.content = $3 AND s.message_id = $4 AND s.open = 1 ORDER BY s.at DESC, s.owner_id DESC LIMIT $5`
	for tries := 0; ; tries++ {
		found, err := collect(ctx, s, s.scanSend, query+s.Lock, namespace, source, clean(of.Content), clean(of.MessageID),
			limit)
		if err != nil || len(found) == limit || s.Lock == "" || tries == 3 {
			return found, err
		}
		again, err := collect(ctx, s, s.scanSend, query, namespace, source, clean(of.Content), clean(of.MessageID), limit)
		if err != nil || len(again) <= len(found) {
			return found, err
		}
	}
}

func (s letterRows) DueSends(ctx context.Context, kind deadletter.SendKind, now, orphans task.Instant, limit int) (
	[]deadletter.Send, error,
) {
	const query = `SELECT ` + sendColumns + ` FROM tasker_sends s WHERE s.kind = $1 AND `
	due, err := collect(ctx, s, s.scanSend, query+`s.next_at <> 0 AND s.next_at <= $2
  ORDER BY s.next_at, s.owner_id LIMIT $3`, string(kind), int64(now), limit)
	if err != nil || len(due) == limit {
		return due, err
	}
	left, err := collect(ctx, s, s.scanSend, query+`s.state = 'in_flight' AND s.at <= $2 ORDER BY s.at, s.owner_id LIMIT $3`,
		string(kind), int64(orphans), limit-len(due))
	return append(due, left...), err
}

func (s letterRows) CountFailures(ctx context.Context, limit int) (n int, oldest task.Instant, err error) {
	err = s.Query(ctx, `SELECT count(*), coalesce(min(at), 0) FROM (SELECT at FROM tasker_sends WHERE kind = 'failure'
  ORDER BY owner_id LIMIT $1) f`, []any{limit}, func(row Row) error { return row.Scan(&n, &oldest) })
	return n, oldest, err
}

func (letterRows) TakeTurn(ctx context.Context, tx engine.Tx, loop string, turn int64) error {
	return In(tx).Send(ctx, `INSERT INTO tasker_send_turns (loop, turn) VALUES ($1, $2)
 ON CONFLICT (loop) DO UPDATE SET turn = excluded.turn`, loop, turn)
}

func (letterRows) HasTurn(ctx context.Context, tx engine.Tx, loop string, turn int64) (bool, error) {
	s := In(tx)
	lock := ""
	if s.Lock != "" {
		lock = " FOR SHARE" // the loop marks a batch while it records the one before
	}
	n, err := first(ctx, s, scanInt, `SELECT turn FROM tasker_send_turns WHERE loop = $1`+lock, loop)
	return n == turn, err
}

func (letterRows) Journal(ctx context.Context, tx engine.Tx, namespace, source string) ([]byte, error) {
	s := In(tx)
	packed, err := first(ctx, s, func(row Row) (b blob, err error) {
		err = row.Scan(&b)
		return b, err
	}, `SELECT journal FROM tasker_capture_journals WHERE namespace = $1 AND source = $2`+s.Lock, namespace, source)
	return packed, err
}

func (letterRows) SaveJournal(ctx context.Context, tx engine.Tx, namespace, source string, journal []byte) error {
	return In(tx).Send(ctx, `INSERT INTO tasker_capture_journals (namespace, source, journal) VALUES ($1, $2, $3)
 ON CONFLICT (namespace, source) DO UPDATE SET journal = excluded.journal`, namespace, source, journal)
}
