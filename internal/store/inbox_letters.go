package store

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/task"
)

// letterRows implements inbox.Store on portable SQL; what its methods promise is said there, and how they do it here.
// It is a type of its own so that the roles of dead letters do not become methods of SQL, which the stores embed.
type letterRows struct{ SQL }

var _ inbox.Store = letterRows{}

// Inbox returns the storage of dead letters.
func (s SQL) Inbox() inbox.Store { return letterRows{s} }

const (
	listedLetter = `l.letter_id, l.namespace, l.source, l.origin, l.format, l.position, l.message_id, l.identity,
  l.canonical, l.state, l.state_at, l.due_at, l.reason, l.redrive_id, l.purge_at, l.group_id, l.error_type,
  l.error_code, l.error_class, l.retryable, l.handler, l.occurrences, l.attempts, l.replays, l.parked, l.first_at,
  l.last_at, l.captured_at, l.payload_bytes, l.kept_bytes, l.cut, l.edited, l.version, l.undecoded, l.error_message,
  l.message_key, l.failed_sends, l.event_type, l.unknown, l.lineage, l.link_kind, l.link_id, l.head`
	wholeLetter = listedLetter + `, l.headers`
	bareLetter  = listedLetter + `, NULL`
)

var (
	insertLetters = bulkOf(`INSERT INTO tasker_letters (`+strings.ReplaceAll(wholeLetter, "l.", "")+`)`,
		"ittttttt"+"ttnntinnt"+"ttntnnnnn"+"nnnnnnntt"+"bntnntibb", ` ON CONFLICT (namespace, source, identity) DO NOTHING`)
	insertBodies      = bulkOf(`INSERT INTO tasker_letter_bodies (letter_id, payload, edited)`, "ibb", ``)
	insertOccurrences = bulkOf(`INSERT INTO tasker_letter_occurrences (letter_id, no, at, group_id, error_type,
  error_code, error_class, retryable, handler, origin, position, attempts, redrive_id, error_message, stack, payload,
  details)`,
		"innnt"+"ttntttn"+"itbbb", ` ON CONFLICT DO NOTHING`)
)

// letterRow is a letter as it is read: where its payload and its edited content are is known from two columns.
type letterRow struct {
	*deadletter.Letter
	kept   int
	edited bool
}

// large reports whether a part of the letter is in another table.
func (r letterRow) large() bool { return r.kept > inbox.SmallPayload || r.edited }

// scanLetter reads wholeLetter or bareLetter. A payload that fits is in the row itself (head); of a longer one the row
// has only the beginning, for searches.
func (s letterRows) scanLetter(row Row) (r letterRow, err error) {
	l := &deadletter.Letter{}
	var retryable, parked, cut, edited, group, unknown int64
	var key, head, headers blob
	err = row.Scan(s.ScanID(&l.ID), (*Text)(&l.Namespace), (*Text)(&l.Source), (*Text)(&l.Origin), (*Text)(&l.Format),
		(*Text)(&l.Position), (*Text)(&l.MessageID), (*Text)(&l.Identity), (*Text)(&l.Canonical), (*Text)(&l.State),
		&l.StateAt, &l.Due, (*Text)(&l.Reason), s.ScanID(&l.Redrive), &l.PurgeAt, &group, (*Text)(&l.Failure.Type),
		(*Text)(&l.Failure.Code), (*Text)(&l.Failure.Class), &retryable, (*Text)(&l.Handler), &l.Occurrences, &l.Attempts,
		&l.Replays, &parked, &l.FirstAt, &l.LastAt, &l.CapturedAt, &l.Size, &r.kept, &cut, &edited, &l.Version,
		(*Text)(&l.Undecoded), (*Text)(&l.Failure.Message), &key, &l.FailedSends, (*Text)(&l.EventType), &unknown,
		&l.Lineage, (*Text)(&l.Link.Kind), s.ScanID(&l.Link.Letter), &head, &headers)
	if err != nil {
		return r, err
	}
	l.Group, l.Failure.Retryable = deadletter.GroupID(group), retryable != 0
	l.Parked, l.Cut, r.edited, l.Unknown = parked != 0, cut != 0, edited != 0, unknown != 0
	l.Original.Key = key
	if r.kept <= inbox.SmallPayload {
		l.Original.Payload = head
	}
	l.Original.Headers, err = decodeHeaders(headers)
	r.Letter = l
	return r, err
}

// letterValues returns the columns of a new letter.
// They are in the order of wholeLetter. Texts of the message are cleaned; what this program made itself need not be.
func (s letterRows) letterValues(l *deadletter.Letter) []any {
	payload := l.Original.Payload
	head := payload[:min(len(payload), inbox.SmallPayload)]
	return []any{s.id(l.ID), l.Namespace, l.Source, clean(l.Origin), clean(l.Format), clean(l.Position),
		clean(l.MessageID), identityKey(l.Identity), clean(l.Canonical), string(l.State), int64(l.StateAt), int64(l.Due),
		clean(l.Reason), s.optional(l.Redrive), int64(l.PurgeAt), int64(l.Group), clean(l.Failure.Type),
		clean(l.Failure.Code), clean(string(l.Failure.Class)), flag(l.Failure.Retryable), clean(l.Handler), l.Occurrences,
		l.Attempts, l.Replays, flag(l.Parked), int64(l.FirstAt), int64(l.LastAt), int64(l.CapturedAt), l.Size, len(payload),
		flag(l.Cut), flag(l.Edited != nil), l.Version, clean(l.Undecoded), clean(l.Failure.Message),
		binary(l.Original.Key), l.FailedSends, clean(l.EventType), flag(l.Unknown), l.Lineage, string(l.Link.Kind),
		s.optional(l.Link.Letter), binary(head), binary(encodeHeaders(l.Original.Headers))}
}

// It inserts them in the order of their identities, so that two transactions that add the same ones wait for each other
// instead of both being in the other's way. The result tells, in the order of letters, which were new. One whose
// identity is stored already is left out, with its history.
func (letterRows) AddLetters(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) ([]bool, error) {
	s := letterRows{In(tx)}
	sorted := slices.Clone(letters)
	slices.SortStableFunc(sorted, func(a, b *deadletter.Letter) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Source, b.Source),
			cmp.Compare(identityKey(a.Identity), identityKey(b.Identity)))
	})
	rows := make([][]any, len(sorted))
	for i, l := range sorted {
		rows[i] = s.letterValues(l)
	}
	// RETURNING lists only the rows that were inserted, which is how a conflict is noticed.
	var count int64
	err := insertLetters.run(s.Dialect, rows, func(query string, args []any) error {
		n, err := s.Exec(ctx, query, args...)
		count += n
		return err
	})
	if err != nil {
		return nil, err
	}
	dropped, err := s.dropAliased(ctx, letters)
	if err != nil {
		return nil, err
	}
	count -= dropped
	added, fresh := make([]bool, len(letters)), letters
	if count == int64(len(letters)) {
		for i := range added {
			added[i] = true
		}
	} else if added, fresh, err = s.storedOf(ctx, letters); err != nil {
		return nil, err
	}
	return added, s.addHistories(ctx, tx, fresh)
}

// storedOf returns which of the letters that were to be added are stored, and those.
func (s letterRows) storedOf(ctx context.Context, letters []*deadletter.Letter) (added []bool,
	fresh []*deadletter.Letter, err error,
) {
	ids := make([]task.ID, len(letters))
	for i, l := range letters {
		ids[i] = l.ID
	}
	found, err := collectByIDs(ctx, s.SQL, ids, s.scanID, `SELECT letter_id FROM tasker_letters WHERE letter_id IN `, ``)
	if err != nil {
		return nil, nil, err
	}
	added = make([]bool, len(letters))
	for i, l := range letters {
		if added[i] = slices.Contains(found, l.ID); added[i] {
			fresh = append(fresh, l)
		}
	}
	return added, fresh, nil
}

// addHistories stores the large parts and the first occurrences of new letters.
// A small letter costs no row in the table of bodies: most messages are small.
func (s letterRows) addHistories(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) error {
	var bodies [][]any
	occurrences := make([]deadletter.Occurrence, len(letters))
	for i, l := range letters {
		occurrences[i] = deadletter.Occurrence{Letter: l.ID, No: l.Occurrences, At: l.LastAt, Group: l.Group,
			Failure: l.Failure, Handler: l.Handler, Stack: l.Stack, Details: l.Details, Origin: l.Origin,
			Position: l.Position,
			Attempts: l.Attempts, Redrive: l.Redrive}
		if len(l.Original.Payload) <= inbox.SmallPayload && l.Edited == nil {
			continue
		}
		var payload []byte
		var err error
		if len(l.Original.Payload) > inbox.SmallPayload {
			if payload, err = pack(l.Original.Payload); err != nil {
				return err
			}
		}
		edited, err := packContent(l.Edited)
		if err != nil {
			return err
		}
		bodies = append(bodies, []any{s.id(l.ID), binary(payload), binary(edited)})
	}
	if err := insertBodies.send(ctx, s.SQL, bodies); err != nil {
		return err
	}
	return s.AddOccurrences(ctx, tx, occurrences)
}

// An occurrence whose number exists already is left out.
func (letterRows) AddOccurrences(ctx context.Context, tx engine.Tx, occurrences []deadletter.Occurrence) error {
	s := In(tx)
	rows := make([][]any, len(occurrences))
	for i, o := range occurrences {
		stack, err := packText(o.Stack)
		if err != nil {
			return err
		}
		payload, err := pack(o.Payload)
		if err != nil {
			return err
		}
		details, err := packDetails(o.Details)
		if err != nil {
			return err
		}
		rows[i] = []any{s.id(o.Letter), o.No, int64(o.At), int64(o.Group), clean(o.Failure.Type), clean(o.Failure.Code),
			clean(string(o.Failure.Class)), flag(o.Failure.Retryable), clean(o.Handler), clean(o.Origin), clean(o.Position),
			o.Attempts, s.optional(o.Redrive), clean(o.Failure.Message), binary(stack), binary(payload),
			binary(details)}
	}
	return insertOccurrences.send(ctx, s, rows)
}

// Unknown IDs are left out. The result is in the order of the IDs, not of the argument.
func (letterRows) Letters(ctx context.Context, tx engine.Tx, ids []task.ID) ([]*deadletter.Letter, error) {
	s := letterRows{In(tx)}
	rows, err := s.locked(ctx, ids)
	if err != nil {
		return nil, err
	}
	return s.whole(ctx, rows)
}

// locked returns the rows of letters, locked in the order of their IDs.
func (s letterRows) locked(ctx context.Context, ids []task.ID) ([]letterRow, error) {
	return s.lockedAs(ctx, ids, wholeLetter)
}

// lockedAs is locked, with wholeLetter or bareLetter.
func (s letterRows) lockedAs(ctx context.Context, ids []task.ID, columns string) ([]letterRow, error) {
	ids = slices.SortedFunc(slices.Values(ids), compareIDs)
	rows, err := collectByIDs(ctx, s.SQL, ids, s.scanLetter,
		`SELECT `+columns+` FROM tasker_letters l WHERE l.letter_id IN `, ` ORDER BY l.letter_id`+s.Lock)
	return slices.DeleteFunc(rows, func(r letterRow) bool { // an engine may keep a part of the ID
		_, asked := slices.BinarySearchFunc(ids, r.ID, compareIDs)
		return !asked
	}), err
}

// whole adds the parts of letters that are in other tables, and returns the letters. They are read after the rows were
// locked, so they belong to them.
// It takes two queries for any number of letters: bodies of the large ones, and the stacks and details of the latest
// failures.
func (s letterRows) whole(ctx context.Context, rows []letterRow) ([]*deadletter.Letter, error) {
	letters, err := s.withBodies(ctx, rows)
	if err != nil {
		return nil, err
	}
	return letters, s.each(ctx, rows, `SELECT o.letter_id, o.stack, o.details FROM tasker_letters l
 JOIN tasker_letter_occurrences o ON o.letter_id = l.letter_id AND o.no = l.occurrences
 WHERE (o.stack IS NOT NULL OR o.details IS NOT NULL) AND l.letter_id IN `,
		func(r letterRow, packed, details []byte) error {
			stack, err := unpack(packed)
			if err != nil {
				return err
			}
			r.Stack = string(stack)
			r.Details, err = unpackDetails(details)
			return err
		})
}

// withBodies adds the large payloads and the edited contents to letters, and returns the letters.
func (s letterRows) withBodies(ctx context.Context, rows []letterRow) ([]*deadletter.Letter, error) {
	letters := make([]*deadletter.Letter, len(rows))
	var large []letterRow
	for i, r := range rows {
		letters[i] = r.Letter
		if r.large() {
			large = append(large, r)
		}
	}
	return letters, s.each(ctx, large, `SELECT letter_id, payload, edited FROM tasker_letter_bodies WHERE letter_id IN `,
		func(r letterRow, payload, edited []byte) (err error) {
			if r.kept > inbox.SmallPayload {
				r.Original.Payload, err = unpack(payload)
			}
			if r.edited && err == nil {
				r.Edited, err = unpackContent(edited)
			}
			return err
		})
}

// each runs a query that ends with a list of letters, and returns their IDs with two more columns.
func (s letterRows) each(ctx context.Context, rows []letterRow, query string,
	set func(r letterRow, a, b []byte) error,
) error {
	ids, byID := make([]task.ID, len(rows)), make(map[task.ID]letterRow, len(rows))
	for i, r := range rows {
		ids[i], byID[r.ID] = r.ID, r
	}
	_, err := collectByIDs(ctx, s.SQL, ids, func(row Row) (none struct{}, err error) {
		var id task.ID
		var a, b blob
		if err := row.Scan(s.ScanID(&id), &a, &b); err != nil {
			return none, err
		}
		return none, set(byID[id], a, b)
	}, query, ``)
	return err
}

// The original content never changes. They are written in the order of the IDs, as they were locked.
func (letterRows) SaveLetters(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) error {
	s := letterRows{In(tx)}
	const (
		save = `UPDATE tasker_letters SET origin = $2, position = $3, canonical = $4, state = $5, state_at = $6,
  due_at = $7, reason = $8, redrive_id = $9, purge_at = $10, group_id = $11, error_type = $12, error_code = $13,
  error_class = $14, retryable = $15, error_message = $16, handler = $17, occurrences = $18, attempts = $19,
  replays = $20, parked = $21, first_at = $22, last_at = $23, edited = $24, version = $25,
  identity = $26, failed_sends = $27, unknown = $28 WHERE letter_id = $1`
		edit = `INSERT INTO tasker_letter_bodies (letter_id, edited) VALUES ($1, $2) ON CONFLICT (letter_id)
  DO UPDATE SET edited = excluded.edited WHERE tasker_letter_bodies.edited IS DISTINCT FROM excluded.edited`
	)
	sorted := slices.SortedFunc(slices.Values(letters), func(a, b *deadletter.Letter) int {
		return compareIDs(a.ID, b.ID)
	})
	for _, l := range sorted {
		err := s.Send(ctx, save, s.id(l.ID), clean(l.Origin), clean(l.Position), clean(l.Canonical), string(l.State),
			int64(l.StateAt), int64(l.Due), clean(l.Reason), s.optional(l.Redrive), int64(l.PurgeAt), int64(l.Group),
			clean(l.Failure.Type), clean(l.Failure.Code), clean(string(l.Failure.Class)), flag(l.Failure.Retryable),
			clean(l.Failure.Message), clean(l.Handler), l.Occurrences, l.Attempts, l.Replays, flag(l.Parked),
			int64(l.FirstAt), int64(l.LastAt), flag(l.Edited != nil), l.Version, identityKey(l.Identity), l.FailedSends,
			flag(l.Unknown))
		if err != nil || l.Edited == nil { // the column says that what is stored no longer counts
			if err != nil {
				return err
			}
			continue
		}
		packed, err := packContent(l.Edited)
		if err != nil {
			return err
		}
		if err := s.Send(ctx, edit, s.id(l.ID), packed); err != nil {
			return err
		}
	}
	return nil
}
