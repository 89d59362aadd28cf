package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// letterRows implements inbox.Store, where the methods are documented, on portable SQL. A separate type keeps the roles
// of dead letters out of SQL, which the stores embed.
type letterRows struct{ SQL }

var _ inbox.Store = letterRows{}

// Inbox returns the storage of dead letters.
func (s SQL) Inbox() inbox.Store { return letterRows{s} }

const (
	letterState = `l.version, l.state, l.state_at, l.due_at, l.reason, l.redrive_id, l.purge_at, l.replays, l.parked,
  l.failed_sends, l.unknown`
	letterSaved = letterState + `, l.origin, l.position, l.identity, l.canonical, l.group_id, l.error_type, l.error_code,
  l.error_class, l.retryable, l.error_message, l.handler, l.occurrences, l.attempts, l.first_at, l.last_at, l.edited`
	listedLetter = `l.letter_id, l.namespace, l.source, l.format, l.message_id, l.captured_at, l.payload_bytes,
  l.kept_bytes, l.cut, l.undecoded, l.message_key, l.event_type, l.lineage, l.link_kind, l.link_id, l.head,
  ` + letterSaved
	wholeLetter       = listedLetter + `, l.headers`
	bareLetter        = listedLetter + `, NULL`
	occurrenceColumns = `o.letter_id, o.no, o.at, o.group_id, o.error_type, o.error_code, o.error_class, o.retryable,
  o.handler, o.origin, o.position, o.attempts, o.redrive_id, o.error_message, o.stack, o.payload, o.details`
)

var (
	insertLetters = bulkOf("INSERT INTO tasker_letters ("+bare(wholeLetter)+")",
		typesOf(letterFields(rowOf(&deadletter.Letter{}))), ` ON CONFLICT (namespace, source, identity) DO NOTHING`)
	updateLetter      = updateOf("tasker_letters", letterSaved, "letter_id")
	insertBodies      = bulkOf(`INSERT INTO tasker_letter_bodies (letter_id, payload, edited)`, "ibb", ``)
	occurrences       = record[deadletter.Occurrence]{"tasker_letter_occurrences o", occurrenceColumns, occurrenceFields}
	insertOccurrences = occurrences.insert(` ON CONFLICT DO NOTHING`)
)

// letterRow is a stored letter. A payload that fits is in the row (head); of a longer one the row has only the
// beginning, for searches.
type letterRow struct {
	*deadletter.Letter
	kept   int
	edited bool
	head   []byte
}

func rowOf(l *deadletter.Letter) *letterRow {
	payload := l.Original.Payload
	return &letterRow{l, len(payload), l.Edited != nil, payload[:min(len(payload), inbox.SmallPayload)]}
}

func (r letterRow) large() bool { return r.kept > inbox.SmallPayload || r.edited }

func letterStateFields(l *deadletter.Letter) []any {
	return []any{&l.Version, (*string)(&l.State), &l.StateAt, &l.Due, &l.Reason, &l.Redrive, &l.PurgeAt, &l.Replays,
		&l.Parked, &l.FailedSends, &l.Unknown}
}

func savedLetterFields(r *letterRow) []any {
	return append(letterStateFields(r.Letter), &r.Origin, &r.Position, identity(&r.Identity), &r.Canonical,
		(*int64)(&r.Group), &r.Failure.Type, &r.Failure.Code, (*string)(&r.Failure.Class), &r.Failure.Retryable,
		&r.Failure.Message, &r.Handler, &r.Occurrences, &r.Attempts, &r.FirstAt, &r.LastAt, &r.edited)
}

func letterFields(r *letterRow) []any {
	return slices.Concat([]any{&r.ID, &r.Namespace, &r.Source, &r.Format, &r.MessageID, &r.CapturedAt, &r.Size, &r.kept,
		&r.Cut, &r.Undecoded, &r.Original.Key, &r.EventType, &r.Lineage, (*string)(&r.Link.Kind), &r.Link.Letter, &r.head},
		savedLetterFields(r), []any{packed(&r.Original.Headers, encodeHeaders, decodeHeaders)})
}

func identity(v *string) coded {
	return coded{'t', func() (any, error) { return identityKey(*v), nil }, func(b []byte) error {
		*v = string(b)
		return nil
	}}
}

func occurrenceFields(o *deadletter.Occurrence) []any {
	return []any{&o.Letter, &o.No, &o.At, (*int64)(&o.Group), &o.Failure.Type, &o.Failure.Code,
		(*string)(&o.Failure.Class), &o.Failure.Retryable, &o.Handler, &o.Origin, &o.Position, &o.Attempts, &o.Redrive,
		&o.Failure.Message, packed(&o.Stack, packText, unpackText), packed(&o.Payload, pack, unpack),
		packed(&o.Details, packDetails, unpackDetails)}
}

func (s letterRows) scanLetter(row Row) (letterRow, error) {
	r := letterRow{Letter: &deadletter.Letter{}}
	err := s.read(row, letterFields(&r)...)
	if r.kept <= inbox.SmallPayload {
		r.Original.Payload = r.head
	}
	return r, err
}

// Sorted identities prevent deadlocks of transactions that add the same ones.
func (letterRows) AddLetters(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) ([]bool, error) {
	s := letterRows{In(tx)}
	sorted := slices.Clone(letters)
	slices.SortStableFunc(sorted, func(a, b *deadletter.Letter) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Source, b.Source),
			cmp.Compare(identityKey(a.Identity), identityKey(b.Identity)))
	})
	// RETURNING lists only inserted rows, which shows conflicts.
	var count int64
	err := insertLetters.over(s.SQL, len(sorted), func(i int) []any { return letterFields(rowOf(sorted[i])) },
		func(query string, args []any) error {
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

// addHistories stores the large parts and the first occurrences of new letters. Small letters, which are the most, need
// no row in the table of bodies.
func (s letterRows) addHistories(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) error {
	var bodies [][]any
	occurrences := make([]deadletter.Occurrence, len(letters))
	for i, l := range letters {
		occurrences[i] = deadletter.Occurrence{Letter: l.ID, No: l.Occurrences, At: l.LastAt, Group: l.Group,
			Failure: l.Failure, Handler: l.Handler, Stack: l.Stack, Details: l.Details, Origin: l.Origin,
			Position: l.Position, Attempts: l.Attempts, Redrive: l.Redrive}
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

// It skips an occurrence whose number exists.
func (letterRows) AddOccurrences(ctx context.Context, tx engine.Tx, occurrences []deadletter.Occurrence) error {
	return insertOccurrences.add(ctx, In(tx), len(occurrences), func(i int) []any {
		return occurrenceFields(&occurrences[i])
	})
}

// The result is in the order of the IDs, not of the argument.
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

func (s letterRows) lockedAs(ctx context.Context, ids []task.ID, columns string) ([]letterRow, error) {
	ids = slices.SortedFunc(slices.Values(ids), compareIDs)
	rows, err := collectByIDs(ctx, s.SQL, ids, s.scanLetter,
		`SELECT `+columns+` FROM tasker_letters l WHERE l.letter_id IN `, ` ORDER BY l.letter_id`+s.Lock)
	return slices.DeleteFunc(rows, func(r letterRow) bool { // an engine may keep a part of the ID
		_, asked := slices.BinarySearchFunc(ids, r.ID, compareIDs)
		return !asked
	}), err
}

// whole adds the parts in other tables, by two queries after the rows were locked, so they are consistent.
func (s letterRows) whole(ctx context.Context, rows []letterRow) ([]*deadletter.Letter, error) {
	letters, err := s.withBodies(ctx, rows)
	if err != nil {
		return nil, err
	}
	return letters, s.each(ctx, rows, `SELECT o.letter_id, o.stack, o.details FROM tasker_letters l
 JOIN tasker_letter_occurrences o ON o.letter_id = l.letter_id AND o.no = l.occurrences
 WHERE (o.stack IS NOT NULL OR o.details IS NOT NULL) AND l.letter_id IN `,
		func(r letterRow, packed, details []byte) (err error) {
			if r.Stack, err = unpackText(packed); err != nil {
				return err
			}
			r.Details, err = unpackDetails(details)
			return err
		})
}

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

// The original content never changes. Writes follow the order of the locks, by ID.
func (letterRows) SaveLetters(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) error {
	s := letterRows{In(tx)}
	const (
		edit = `INSERT INTO tasker_letter_bodies (letter_id, edited) VALUES ($1, $2) ON CONFLICT (letter_id)
  DO UPDATE SET edited = excluded.edited WHERE tasker_letter_bodies.edited IS DISTINCT FROM excluded.edited`
	)
	sorted := slices.SortedFunc(slices.Values(letters), func(a, b *deadletter.Letter) int {
		return compareIDs(a.ID, b.ID)
	})
	for _, l := range sorted {
		err := s.update(ctx, updateLetter, &l.ID, savedLetterFields(rowOf(l)))
		if err != nil {
			return err
		}
		if l.Edited == nil { // the stored edit no longer counts
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
