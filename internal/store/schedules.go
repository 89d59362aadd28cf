package store

import (
	"context"
	"encoding/json"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/scheduler"
	"github.com/taskerhq/tasker/internal/model/schedule"
	"github.com/taskerhq/tasker/internal/model/task"
)

type scheduleRows struct{ SQL }

var _ scheduler.Store = scheduleRows{}

// Schedules returns the storage of schedules.
func (s SQL) Schedules() scheduler.Store { return scheduleRows{s} }

const scheduleColumns = `schedule_id, namespace, name, spec, version, created_at, updated_at, decided_at, wake_at, pause,
  trouble, trouble_at`

func (s scheduleRows) scanSchedule(row Row) (*schedule.Schedule, error) {
	out := &schedule.Schedule{Spec: &schedule.Spec{}}
	var namespace, name, pause Text
	var spec JSON
	err := row.Scan(s.ScanID(&out.ID), &namespace, &name, &spec, &out.Version, &out.CreatedAt, &out.UpdatedAt,
		&out.Decided, &out.Wake, &pause, (*Text)(&out.Trouble), &out.TroubleAt)
	if err != nil {
		return nil, err
	}
	if pause != "" {
		out.Pause = &schedule.Pause{}
		if err := json.Unmarshal([]byte(pause), out.Pause); err != nil {
			return nil, err
		}
	}
	return out, spec.into(out.Spec)
}

func pauseText(p *schedule.Pause) (string, error) {
	if p == nil {
		return "", nil
	}
	b, err := json.Marshal(p)
	return string(b), err
}

// Schedules returns schedules, locked; see scheduler.Rows.
func (scheduleRows) Schedules(ctx context.Context, tx engine.Tx, ids []task.ID) ([]*schedule.Schedule, error) {
	s := scheduleRows{In(tx)}
	return collectByIDs(ctx, s.SQL, ids, s.scanSchedule, `SELECT `+scheduleColumns+` FROM tasker_schedules
 WHERE schedule_id IN `, ` ORDER BY schedule_id`+s.Lock)
}

// ScheduleNamed returns a schedule, locked, or nil.
func (scheduleRows) ScheduleNamed(ctx context.Context, tx engine.Tx, namespace, name string) (*schedule.Schedule,
	error,
) {
	s := scheduleRows{In(tx)}
	return first(ctx, s, s.scanSchedule, `SELECT `+scheduleColumns+` FROM tasker_schedules
 WHERE namespace = $1 AND name = $2`+s.Lock, namespace, name)
}

// FindSchedule returns a schedule, or nil.
func (s scheduleRows) FindSchedule(ctx context.Context, namespace, name string) (*schedule.Schedule, error) {
	return first(ctx, s, s.scanSchedule, `SELECT `+scheduleColumns+` FROM tasker_schedules
 WHERE namespace = $1 AND name = $2`, namespace, name)
}

// AddSchedule stores a new schedule; see scheduler.Rows.
func (scheduleRows) AddSchedule(ctx context.Context, tx engine.Tx, of *schedule.Schedule) error {
	s := In(tx)
	const query = `INSERT INTO tasker_schedules (` + scheduleColumns + `)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING`
	spec, err := jsonText(of.Spec)
	if err != nil {
		return err
	}
	pause, err := pauseText(of.Pause)
	if err != nil {
		return err
	}
	return changedOne(ctx, tx, "the schedule", query, s.id(of.ID), of.Spec.Namespace, of.Spec.Name, spec, of.Version,
		int64(of.CreatedAt), int64(of.UpdatedAt), int64(of.Decided), int64(of.Wake), pause, clean(of.Trouble),
		int64(of.TroubleAt))
}

// SaveSchedule stores a locked schedule.
func (scheduleRows) SaveSchedule(ctx context.Context, tx engine.Tx, of *schedule.Schedule) error {
	s := In(tx)
	const query = `UPDATE tasker_schedules SET spec = $2, version = $3, updated_at = $4, decided_at = $5, wake_at = $6,
  pause = $7, trouble = $8, trouble_at = $9 WHERE schedule_id = $1`
	spec, err := jsonText(of.Spec)
	if err != nil {
		return err
	}
	pause, err := pauseText(of.Pause)
	if err != nil {
		return err
	}
	return s.Send(ctx, query, s.id(of.ID), spec, of.Version, int64(of.UpdatedAt), int64(of.Decided), int64(of.Wake), pause,
		clean(of.Trouble), int64(of.TroubleAt))
}

var saveDecided = bulkOf(`UPDATE tasker_schedules SET decided_at = v.column2, wake_at = v.column3, pause = v.column4,
  trouble = v.column5, trouble_at = v.column6 FROM (`, "innttn", `) AS v WHERE schedule_id = v.column1`)

// SaveDecided stores how far schedules are decided.
func (scheduleRows) SaveDecided(ctx context.Context, tx engine.Tx, list []*schedule.Schedule) error {
	s := In(tx)
	rows := make([][]any, len(list))
	for i, of := range list {
		pause, err := pauseText(of.Pause)
		if err != nil {
			return err
		}
		rows[i] = []any{s.id(of.ID), int64(of.Decided), int64(of.Wake), pause, clean(of.Trouble), int64(of.TroubleAt)}
	}
	return saveDecided.send(ctx, s, rows)
}

// DropSchedule deletes a schedule with its firings and skips.
func (scheduleRows) DropSchedule(ctx context.Context, tx engine.Tx, id task.ID) error {
	s := In(tx)
	for _, query := range []string{`DELETE FROM tasker_firings WHERE schedule_id = $1`,
		`DELETE FROM tasker_firing_skips WHERE schedule_id = $1`, `DELETE FROM tasker_schedules WHERE schedule_id = $1`} {
		if err := s.Send(ctx, query, s.id(id)); err != nil {
			return err
		}
	}
	return nil
}

// CountSchedules counts the schedules of a namespace.
func (scheduleRows) CountSchedules(ctx context.Context, tx engine.Tx, namespace string) (int, error) {
	n, err := first(ctx, In(tx), scanInt, `SELECT count(*) FROM tasker_schedules WHERE namespace = $1`, namespace)
	return int(n), err
}

// ListSchedules returns a page; see scheduler.Reader.
func (s scheduleRows) ListSchedules(ctx context.Context, f scheduler.Filter) ([]*schedule.Schedule, error) {
	w := where{}
	w.addIf(f.Namespace != "", "namespace = ?", f.Namespace)
	w.addIf(f.AfterNamespace != "", "(namespace, name) > (?, ?)", f.AfterNamespace, f.AfterName)
	return collect(ctx, s, s.scanSchedule, `SELECT `+scheduleColumns+` FROM tasker_schedules`+w.text()+
		` ORDER BY namespace, name LIMIT `+w.arg(f.Limit), w.args...)
}

func (s scheduleRows) WakeTimes(ctx context.Context, limit int) ([]scheduler.Wake, error) {
	return collect(ctx, s, func(row Row) (w scheduler.Wake, err error) {
		err = row.Scan(s.ScanID(&w.ID), &w.At)
		return w, err
	}, `SELECT schedule_id, wake_at FROM tasker_schedules WHERE wake_at > 0 ORDER BY wake_at LIMIT $1`, limit)
}

// AnySchedules returns IDs of schedules above one.
func (s scheduleRows) AnySchedules(ctx context.Context, above task.ID, limit int) ([]task.ID, error) {
	w := where{}
	w.addIf(!above.IsZero(), "schedule_id > ?", s.id(above))
	return collect(ctx, s, s.scanID, `SELECT schedule_id FROM tasker_schedules`+w.text()+` ORDER BY schedule_id LIMIT `+
		w.arg(limit), w.args...)
}

const firingColumns = `f.schedule_id, f.fired_for, f.kind, f.state, f.task_id, f.decided_at, f.submitted_at,
  coalesce(t.state, f.outcome), f.error`

const firingsFrom = ` FROM tasker_firings f LEFT JOIN tasker_tasks t ON t.id = f.task_id`

func (s scheduleRows) scanFiring(row Row) (f scheduler.Firing, err error) {
	err = row.Scan(s.ScanID(&f.Schedule), &f.At, (*Text)(&f.Kind), (*Text)(&f.State), s.ScanID(&f.Task), &f.DecidedAt,
		&f.SubmittedAt, (*Text)(&f.Outcome), (*Text)(&f.Error))
	return f, err
}

var insertFirings = bulkOf(`INSERT INTO tasker_firings (schedule_id, fired_for, kind, state, task_id, decided_at,
  submitted_at, outcome, error)`, "inttinntt", ``)

func (s scheduleRows) optionalID(id task.ID) any {
	if id.IsZero() {
		return nil
	}
	return s.id(id)
}

// AddFirings stores new firings.
func (scheduleRows) AddFirings(ctx context.Context, tx engine.Tx, list []scheduler.Firing) error {
	s := scheduleRows{In(tx)}
	rows := make([][]any, len(list))
	for i, f := range list {
		rows[i] = []any{s.id(f.Schedule), int64(f.At), string(f.Kind), string(f.State), s.optionalID(f.Task),
			int64(f.DecidedAt), int64(f.SubmittedAt), "", clean(f.Error)}
	}
	return insertFirings.send(ctx, s.SQL, rows)
}

// SaveFirings stores the changes of firings.
func (scheduleRows) SaveFirings(ctx context.Context, tx engine.Tx, list []scheduler.Firing) error {
	s := scheduleRows{In(tx)}
	for _, f := range list { // at most one of a schedule that waited, and refused ones of a backfill
		if err := s.Send(ctx, `UPDATE tasker_firings SET kind = $3, state = $4, task_id = $5, submitted_at = $6, error = $7
 WHERE schedule_id = $1 AND fired_for = $2`, s.id(f.Schedule), int64(f.At), string(f.Kind), string(f.State),
			s.optionalID(f.Task), int64(f.SubmittedAt), clean(f.Error)); err != nil {
			return err
		}
	}
	return nil
}

var insertSkips = bulkOf(`INSERT INTO tasker_firing_skips (schedule_id, last_for, decided_at, reason, first_for, times,
  capped)`, "inntnnn", ` ON CONFLICT DO NOTHING`)

// AddSkips stores skips.
func (scheduleRows) AddSkips(ctx context.Context, tx engine.Tx, list []scheduler.Skip) error {
	s := In(tx)
	rows := make([][]any, len(list))
	for i, skip := range list {
		rows[i] = []any{s.id(skip.Schedule), int64(skip.Last), int64(skip.DecidedAt), skip.Reason, int64(skip.First),
			skip.Count, flag(skip.Capped)}
	}
	return insertSkips.send(ctx, s, rows)
}

// OpenFirings returns firings that wait or run; see scheduler.FiringRows.
func (scheduleRows) OpenFirings(ctx context.Context, tx engine.Tx, ids []task.ID) ([]scheduler.Firing, error) {
	s := scheduleRows{In(tx)}
	return collectByIDs(ctx, s.SQL, ids, s.scanFiring, `SELECT `+firingColumns+firingsFrom+`
 WHERE (f.state = 'waiting' OR f.state = 'running') AND f.schedule_id IN `, ` ORDER BY f.schedule_id, f.fired_for`)
}

// FiredBetween returns the firings of schedules in a range; see scheduler.FiringRows.
func (scheduleRows) FiredBetween(ctx context.Context, tx engine.Tx, ids []task.ID, from, last task.Instant) (
	[]scheduler.Firing, error,
) {
	s := scheduleRows{In(tx)}
	w := where{}
	w.add("f.fired_for >= ? AND f.fired_for <= ?", int64(from), int64(last))
	query := `SELECT ` + firingColumns + firingsFrom + w.text() + ` AND f.schedule_id IN ` + s.idList(&w, ids)
	return collect(ctx, s, s.scanFiring, query, w.args...)
}

// EndedFirings returns firings whose tasks have ended; see scheduler.Reader.
func (s scheduleRows) EndedFirings(ctx context.Context, limit int) ([]scheduler.Firing, error) {
	return collect(ctx, s, s.scanFiring, `SELECT `+firingColumns+firingsFrom+`
 WHERE (f.state = 'waiting' OR f.state = 'running') AND f.state = 'running'
  AND (t.id IS NULL OR t.state IN (`+settledStates+`)) LIMIT $1`, limit)
}

// SettleFirings ends firings whose tasks have ended; see scheduler.FiringRows.
func (scheduleRows) SettleFirings(ctx context.Context, tx engine.Tx, list []scheduler.Firing) error {
	s := In(tx)
	for _, f := range list {
		if err := s.Send(ctx, `UPDATE tasker_firings SET state = 'ended',
  outcome = coalesce((SELECT t.state FROM tasker_tasks t WHERE t.id = tasker_firings.task_id), '')
 WHERE schedule_id = $1 AND fired_for = $2 AND state = 'running' AND NOT EXISTS
  (SELECT 1 FROM tasker_tasks t WHERE t.id = tasker_firings.task_id AND t.state NOT IN (`+settledStates+`))`,
			s.id(f.Schedule), int64(f.At)); err != nil {
			return err
		}
	}
	return nil
}

// TrimFirings deletes all but the latest; see scheduler.FiringRows.
func (scheduleRows) TrimFirings(ctx context.Context, tx engine.Tx, ids []task.ID, firings, skips int) error {
	s := In(tx)
	for _, id := range ids {
		if err := s.Send(ctx, `DELETE FROM tasker_firings WHERE schedule_id = $1 AND state IN ('ended', 'refused')
  AND fired_for < (SELECT fired_for FROM tasker_firings WHERE schedule_id = $2 ORDER BY fired_for DESC LIMIT 1 OFFSET $3)`,
			s.id(id), s.id(id), firings-1); err != nil {
			return err
		}
		if err := s.Send(ctx, `DELETE FROM tasker_firing_skips WHERE schedule_id = $1 AND last_for <
  (SELECT last_for FROM tasker_firing_skips WHERE schedule_id = $2 ORDER BY last_for DESC LIMIT 1 OFFSET $3)`,
			s.id(id), s.id(id), skips-1); err != nil {
			return err
		}
	}
	return nil
}

// LastFirings returns the latest firing of each schedule.
func (s scheduleRows) LastFirings(ctx context.Context, ids []task.ID) (map[task.ID]*scheduler.Firing, error) {
	list, err := collectByIDs(ctx, s.SQL, ids, s.scanFiring, `SELECT `+firingColumns+firingsFrom+`
 WHERE f.fired_for = (SELECT max(l.fired_for) FROM tasker_firings l WHERE l.schedule_id = f.schedule_id)
  AND f.schedule_id IN `, ``)
	out := map[task.ID]*scheduler.Firing{}
	for i := range list {
		out[list[i].Schedule] = &list[i]
	}
	return out, err
}

// ListFirings returns firings of a schedule before a time, the latest first.
func (s scheduleRows) ListFirings(ctx context.Context, id task.ID, before task.Instant, limit int) ([]scheduler.Firing,
	error,
) {
	return collect(ctx, s, s.scanFiring, `SELECT `+firingColumns+firingsFrom+` WHERE f.schedule_id = $1
 AND f.fired_for < $2 ORDER BY f.fired_for DESC LIMIT $3`, s.id(id), int64(before), limit)
}

// ListSkips returns skips of a schedule before a time, the latest first.
func (s scheduleRows) ListSkips(ctx context.Context, id task.ID, before task.Instant, limit int) ([]scheduler.Skip,
	error,
) {
	scan := func(row Row) (skip scheduler.Skip, err error) {
		var capped int64
		err = row.Scan(s.ScanID(&skip.Schedule), &skip.Last, &skip.DecidedAt, (*Text)(&skip.Reason), &skip.First,
			&skip.Count, &capped)
		skip.Capped = capped != 0
		return skip, err
	}
	return collect(ctx, s, scan, `SELECT schedule_id, last_for, decided_at, reason, first_for, times, capped
 FROM tasker_firing_skips WHERE schedule_id = $1 AND last_for < $2 ORDER BY last_for DESC LIMIT $3`, s.id(id),
		int64(before), limit)
}
