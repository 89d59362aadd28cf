package store

import (
	"context"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/outbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	sendState   = `s.state, s.turn, s.at, s.next_at, s.tries, s.copies, s.died, s.error`
	sendColumns = `s.owner_id, s.kind, s.no, s.namespace, s.source, s.destination, s.content, s.message_id, s.lineage,
  s.about_id, s.item_no, s.began_at, ` + sendState
)

var sends = record[deadletter.Send]{"tasker_sends s", sendColumns, sendFields}

var insertSends = bulkOf("INSERT INTO tasker_sends ("+bare(sendColumns+`, open`)+")",
	typesOf(append(sendFields(&deadletter.Send{}), 0)), ` ON CONFLICT (owner_id, kind, no) DO UPDATE SET
  state = excluded.state, destination = excluded.destination, content = excluded.content,
  about_id = excluded.about_id, item_no = excluded.item_no, turn = excluded.turn, began_at = excluded.began_at,
  at = excluded.at, next_at = excluded.next_at, tries = excluded.tries, copies = excluded.copies,
  died = excluded.died, error = excluded.error, open = excluded.open`)

func sendStateFields(o *deadletter.Send) []any {
	return []any{(*string)(&o.State), &o.Turn, &o.At, &o.NextAt, &o.Tries, &o.Copies, &o.Died, &o.Error}
}

func sendFields(o *deadletter.Send) []any {
	return append([]any{&o.Owner, (*string)(&o.Kind), &o.No, &o.Namespace, &o.Source, &o.Destination, &o.Content,
		&o.MessageID, &o.Lineage, &o.About, &o.Item, &o.Began}, sendStateFields(o)...)
}

func (letterRows) AddSends(ctx context.Context, tx engine.Tx, sends []deadletter.Send) error {
	return insertSends.add(ctx, In(tx), len(sends), func(i int) []any {
		return append(sendFields(&sends[i]), flag(sends[i].Open()))
	})
}

// Most sends of a batch change alike: one statement stores them.
func (letterRows) SaveSends(ctx context.Context, tx engine.Tx, sends []deadletter.Send) error {
	s := In(tx)
	return saveAlike(s, sends, ownerOf, func(o *deadletter.Send) []any {
		return append([]any{(*string)(&o.Kind), &o.No}, append(sendStateFields(o), flag(o.Open()))...)
	}, func(w *where, ids string) error {
		return s.Send(ctx, `UPDATE tasker_sends SET `+assigned(sendState+`, open`, 3)+
			` WHERE kind = $1 AND no = $2 AND owner_id IN `+ids, w.args...)
	})
}

// It changes no column of the index by content, whose entries are scattered.
func (letterRows) SaveDelivered(ctx context.Context, tx engine.Tx, sends []deadletter.Send) error {
	s := In(tx)
	return s.reaching(ctx, len(sends), func(exec func(query string, args []any) error) error {
		return saveAlike(s, sends, ownerOf, func(o *deadletter.Send) []any {
			return []any{(*string)(&o.Kind), &o.No, &o.Copies, &o.Turn, &o.Died}
		}, func(w *where, ids string) error {
			return exec(`UPDATE tasker_sends SET state = 'delivered', error = '', copies = $3 WHERE kind = $1
  AND no = $2 AND state = 'in_flight' AND turn = $4 AND died = $5 AND owner_id IN `+ids, w.args)
		})
	})
}

func ownerOf(o *deadletter.Send) task.ID { return o.Owner }

func (letterRows) DropSends(ctx context.Context, tx engine.Tx, kind deadletter.SendKind, owners []task.ID) error {
	s := In(tx)
	return inParts(owners, s.id, []any{string(kind)}, func(in string, args []any) error {
		return s.Send(ctx, `DELETE FROM tasker_sends WHERE kind = $1 AND owner_id IN `+in, args...)
	})
}

func (letterRows) SendsOf(ctx context.Context, tx engine.Tx, kind deadletter.SendKind, owners []task.ID) (
	[]deadletter.Send, error,
) {
	s := In(tx)
	var all []deadletter.Send
	sorted := slices.SortedFunc(slices.Values(owners), compareIDs)
	err := inParts(sorted, s.id, []any{string(kind)}, func(in string, args []any) error {
		found, err := sends.values(ctx, s, ` WHERE s.kind = $1 AND s.owner_id IN `+in+` ORDER BY s.owner_id, s.no`+s.Lock,
			args...)
		all = append(all, found...)
		return err
	})
	return all, err
}

// Two index look-ups for each: a poisonous content may have been sent back a hundred thousand times.
func (letterRows) AnySends(ctx context.Context, tx engine.Tx, namespace, source string,
	contents []outbox.SentContent,
) (map[outbox.SentContent]int, error) {
	s := letterRows{In(tx)}
	found := map[outbox.SentContent]int{}
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
			var c outbox.SentContent
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

// Locking skips a send that another transaction consumes meanwhile, so it looks again until there are enough or no
// more.
func (letterRows) OpenSends(ctx context.Context, tx engine.Tx, namespace, source string, of outbox.SentContent,
	limit int,
) ([]deadletter.Send, error) {
	s := In(tx)
	const rest = ` WHERE s.kind = 'letter' AND s.namespace = $1
  AND s.source = $2 AND s.content = $3 AND s.message_id = $4 AND s.open = 1 ORDER BY s.at DESC, s.owner_id DESC LIMIT $5`
	for tries := 0; ; tries++ {
		found, err := sends.values(ctx, s, rest+s.Lock, namespace, source, clean(of.Content), clean(of.MessageID), limit)
		if err != nil || len(found) == limit || s.Lock == "" || tries == 3 {
			return found, err
		}
		again, err := sends.values(ctx, s, rest, namespace, source, clean(of.Content), clean(of.MessageID), limit)
		if err != nil || len(again) <= len(found) {
			return found, err
		}
	}
}

func (s letterRows) DueSends(ctx context.Context, kind deadletter.SendKind, now, orphans task.Instant, limit int) (
	[]deadletter.Send, error,
) {
	due, err := sends.values(ctx, s.SQL, ` WHERE s.kind = $1 AND s.next_at <> 0 AND s.next_at <= $2
  ORDER BY s.next_at, s.owner_id LIMIT $3`, string(kind), int64(now), limit)
	if err != nil || len(due) == limit {
		return due, err
	}
	left, err := sends.values(ctx, s.SQL, ` WHERE s.kind = $1 AND s.state = 'in_flight' AND s.at <= $2
  ORDER BY s.at, s.owner_id LIMIT $3`, string(kind), int64(orphans), limit-len(due))
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
