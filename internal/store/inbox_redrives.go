package store

import (
	"context"
	"strings"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/task"
)

const redriveColumns = `r.redrive_id, r.namespace, r.operation, r.destination, r.include_parked, r.state, r.state_at,
  r.resume_state, r.halt, r.frozen_at, r.started_at, r.ended_at, r.total, r.wave, r.wave_size, r.wave_sent,
  r.wave_began, r.behind, r.actor, r.key_name, r.reason, r.created_at, r.version, r.counts, r.plan, r.stop, r.edit,
  r.selection`

var insertRedrive = bulkOf(`INSERT INTO tasker_redrives (`+strings.ReplaceAll(redriveColumns, "r.", "")+`)`,
	"itttntnttnnn"+"nnnnnn"+"tttnn"+"ttttt", ``)

// scanRedrive reads redriveColumns. A part that cannot be decoded is an error: a redrive must not go on without its
// rules.
func (s letterRows) scanRedrive(row Row) (*deadletter.Redrive, error) {
	r := &deadletter.Redrive{}
	var parked int64
	var counts, plan, stop, edit, selection JSON
	err := row.Scan(s.ScanID(&r.ID), (*Text)(&r.Namespace), (*Text)(&r.Operation), (*Text)(&r.Destination), &parked,
		(*Text)(&r.State), &r.StateAt, (*Text)(&r.Resume), (*Text)(&r.Halt), &r.FrozenAt, &r.StartedAt, &r.EndedAt,
		&r.Total, &r.Wave, &r.WaveSize, &r.WaveSent, &r.WaveBegan, &r.Behind, (*Text)(&r.Actor), (*Text)(&r.Key),
		(*Text)(&r.Reason), &r.CreatedAt, &r.Version, &counts, &plan, &stop, &edit, &selection)
	if err != nil {
		return nil, err
	}
	r.IncludeParked = parked != 0
	for _, part := range []struct {
		from JSON
		to   any
	}{{counts, &r.Counts}, {plan, &r.Plan}, {stop, &r.Stop}, {edit, &r.Edit}, {selection, &r.Selection}} {
		if err := part.from.into(part.to); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// AddRedrive stores a new redrive. Freeze adds its items.
func (letterRows) AddRedrive(ctx context.Context, tx engine.Tx, r *deadletter.Redrive) error {
	s := letterRows{In(tx)}
	var edit any
	parts := make([]any, 4)
	for i, v := range []any{r.Counts, r.Plan, r.Stop, r.Selection} {
		var err error
		if parts[i], err = jsonText(v); err != nil {
			return err
		}
	}
	if r.Edit != nil {
		var err error
		if edit, err = jsonText(r.Edit); err != nil {
			return err
		}
	}
	return insertRedrive.send(ctx, s.SQL, [][]any{{s.id(r.ID), r.Namespace, string(r.Operation), clean(r.Destination),
		flag(r.IncludeParked), string(r.State), int64(r.StateAt), string(r.Resume), clean(r.Halt), int64(r.FrozenAt),
		int64(r.StartedAt), int64(r.EndedAt), r.Total, r.Wave, r.WaveSize, r.WaveSent, int64(r.WaveBegan), r.Behind,
		clean(r.Actor), clean(r.Key), clean(r.Reason), int64(r.CreatedAt), r.Version, parts[0], parts[1], parts[2], edit,
		parts[3]}})
}

// Redrive returns a redrive, locked, or nil.
// The lock makes acts of operators and the runner take turns.
func (letterRows) Redrive(ctx context.Context, tx engine.Tx, id task.ID) (*deadletter.Redrive, error) {
	s := letterRows{In(tx)}
	return s.redriveByID(ctx, id, s.Lock)
}

func (s letterRows) FindRedrive(ctx context.Context, id task.ID) (*deadletter.Redrive, error) {
	return s.redriveByID(ctx, id, "")
}

// lock is Dialect.Lock, or "" for a read.
func (s letterRows) redriveByID(ctx context.Context, id task.ID, lock string) (*deadletter.Redrive, error) {
	r, err := first(ctx, s, s.scanRedrive, `SELECT `+redriveColumns+` FROM tasker_redrives r WHERE r.redrive_id = $1`+lock,
		s.id(id))
	if err != nil || r == nil || r.ID != id { // an engine may keep a part of the ID
		return nil, err
	}
	return r, nil
}

// SaveRedrive stores what changes of a redrive: not its selection, nor its edit, nor who began it.
func (letterRows) SaveRedrive(ctx context.Context, tx engine.Tx, r *deadletter.Redrive) error {
	s := In(tx)
	const query = `UPDATE tasker_redrives SET state = $2, state_at = $3, resume_state = $4, halt = $5, frozen_at = $6,
  started_at = $7, ended_at = $8, total = $9, wave = $10, wave_size = $11, wave_sent = $12, wave_began = $13,
  behind = $14, version = $15, counts = $16, plan = $17, stop = $18 WHERE redrive_id = $1`
	parts := make([]any, 3)
	for i, v := range []any{r.Counts, r.Plan, r.Stop} {
		var err error
		if parts[i], err = jsonText(v); err != nil {
			return err
		}
	}
	return s.Send(ctx, query, s.id(r.ID), string(r.State), int64(r.StateAt), string(r.Resume), clean(r.Halt),
		int64(r.FrozenAt), int64(r.StartedAt), int64(r.EndedAt), r.Total, r.Wave, r.WaveSize, r.WaveSent,
		int64(r.WaveBegan), r.Behind, r.Version, parts[0], parts[1], parts[2])
}

// ListRedrives returns a page, the newest first. Each state is one walk along an index.
// Without states, it is one walk along the primary key.
func (s letterRows) ListRedrives(ctx context.Context, f inbox.RedriveFilter) ([]*deadletter.Redrive, error) {
	terms := func(w *where) {
		w.addIf(f.Namespace != "", "r.namespace = ?", f.Namespace)
		w.addIf(!f.Below.IsZero(), "r.redrive_id < ?", s.id(f.Below))
	}
	const page = ` ORDER BY r.redrive_id DESC LIMIT `
	w := where{}
	if len(f.States) == 0 {
		terms(&w)
		return collect(ctx, s, s.scanRedrive, `SELECT `+redriveColumns+` FROM tasker_redrives r`+w.text()+page+
			w.arg(f.Limit), w.args...)
	}
	var walks []string
	for _, state := range f.States {
		one := where{args: w.args}
		one.add("r.state = ?", string(state))
		terms(&one)
		walks = append(walks, `SELECT * FROM (SELECT r.redrive_id FROM tasker_redrives r`+one.text()+page+one.arg(f.Limit)+
			`) AS w`)
		w.args = one.args
	}
	return collect(ctx, s, s.scanRedrive, `SELECT `+redriveColumns+` FROM tasker_redrives r WHERE r.redrive_id IN (`+
		strings.Join(walks, ` UNION ALL `)+`)`+page+w.arg(f.Limit), w.args...)
}

func (s letterRows) ActiveRedrives(ctx context.Context, behind task.ID, limit int) ([]*deadletter.Redrive, error) {
	const query = `SELECT ` + redriveColumns + ` FROM tasker_redrives r WHERE r.state IN ('running', 'observing')
  AND r.redrive_id > $1 ORDER BY r.redrive_id LIMIT $2`
	return collect(ctx, s, s.scanRedrive, query, s.id(behind), limit)
}

// Parked letters are left out unless the redrive includes them. TooLarge: the selection has more than limit items, and
// the plan does not limit them to fewer; the caller must roll back, since they are inserted then. Items are numbered by
// the time of their first death, the oldest first. It returns their number.
func (letterRows) Freeze(ctx context.Context, tx engine.Tx, r *deadletter.Redrive, limit int) (int, error) {
	s := letterRows{In(tx)}
	w := where{}
	id := w.arg(s.id(r.ID))
	items, err := s.frozenItems(ctx, &w, r)
	if err != nil || len(items) == 0 {
		return 0, err
	}
	query := `INSERT INTO tasker_redrive_items (redrive_id, no, kind, item_id, state, wave, at, group_id, uncertain,
  message) SELECT CAST(` + id + ` AS uuid), row_number() OVER (ORDER BY q.died, q.id), q.kind, q.id, 'pending', 0,
  CAST(` + w.arg(int64(r.FrozenAt)) + ` AS bigint), 0, 0, '' FROM (` + strings.Join(items, ` UNION ALL `)
	if r.Plan.Limit > 0 { // only then the order decides what is taken
		query += ` ORDER BY died, id LIMIT ` + w.arg(min(r.Plan.Limit, limit)) + `) q`
	} else {
		query += ` LIMIT ` + w.arg(limit+1) + `) q`
	}
	n, err := s.Exec(ctx, query, w.args...)
	if err == nil && n > int64(limit) {
		e := task.Errorf(task.TooLarge, "the selection has more than %d items", limit)
		e.Hint = "select less, for example a group or a span of time"
		return 0, e
	}
	return int(n), err
}

// frozenItems returns queries for the items of a redrive: letters and cases, with the time of their first death.
// None means that the selection can match nothing.
func (s letterRows) frozenItems(ctx context.Context, w *where, r *deadletter.Redrive) ([]string, error) {
	f := r.Selection
	var items []string
	if f.SelectsLetters() {
		letters := where{args: w.args}
		if len(f.IDs) > 0 {
			letters.add("l.letter_id IN " + s.idList(&letters, f.IDs))
		}
		if f.State != "" {
			letters.add("l.state = ?", string(f.State))
		}
		s.letterTerms(&letters, f)
		letters.addIf(!r.IncludeParked, "l.parked = 0")
		items = append(items, `SELECT 'letter' AS kind, l.letter_id AS id, l.first_at AS died FROM tasker_letters l`+
			letters.text())
		w.args = letters.args
	}
	if !hasCases(f) {
		return items, nil
	}
	cases := where{args: w.args}
	some, err := s.caseSelection(ctx, &cases, f)
	if err != nil || !some {
		return items, err
	}
	w.args = cases.args
	return append(items, `SELECT 'case' AS kind, c.dlq_entry_uuid AS id, c.dlq_timestamp AS died FROM tasker_tasks_dlq c`+
		cases.text()), nil
}
