package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// BurstStore implements engine.Database.
func (s SQL) BurstStore() engine.BurstStore { return s }

// OutageStore implements engine.Database.
func (s SQL) OutageStore() engine.OutageStore { return s }

// AddBurst implements engine.BurstStore. One statement counts, so that concurrent transactions add up.
func (SQL) AddBurst(ctx context.Context, tx engine.Tx, route, group int64, net int, now task.Instant,
	within time.Duration,
) (task.Burst, error) {
	const query = `INSERT INTO tasker_bursts (route_id, group_id, since, failures) VALUES ($1, $2, $3, $4)
 ON CONFLICT (route_id, group_id) DO UPDATE SET
  since = CASE WHEN tasker_bursts.failures = 0 OR tasker_bursts.since < $5 OR tasker_bursts.since > $3 THEN $3
   ELSE tasker_bursts.since END,
  failures = CASE WHEN tasker_bursts.failures = 0 OR tasker_bursts.since < $5 OR tasker_bursts.since > $3 THEN $4
   WHEN tasker_bursts.failures + $6 < 0 THEN 0 ELSE tasker_bursts.failures + $6 END
 RETURNING since, failures`
	b := task.Burst{RouteID: route, Group: group}
	var failures int64
	err := In(tx).Query(ctx, query, []any{route, group, int64(now), int64(max(net, 0)), int64(now.Add(-within)),
		int64(net)}, func(row Row) error { return row.Scan((*int64)(&b.Since), &failures) })
	b.Failures = int(failures)
	return b, err
}

// ClearBursts implements engine.BurstStore.
func (SQL) ClearBursts(ctx context.Context, tx engine.Tx, route int64) error {
	return In(tx).Send(ctx, `DELETE FROM tasker_bursts WHERE route_id = $1`, route)
}

// DropBursts implements engine.BurstStore, the oldest first.
func (SQL) DropBursts(ctx context.Context, tx engine.Tx, before task.Instant, limit int) (int, error) {
	n, err := In(tx).Exec(ctx, `DELETE FROM tasker_bursts WHERE (route_id, group_id) IN
 (SELECT route_id, group_id FROM tasker_bursts WHERE since < $1 ORDER BY since LIMIT $2)`, int64(before), limit)
	return int(n), err
}

const outageColumns = `outage_id, route_id, namespace, closed_at, body`

// AddOutage implements engine.OutageStore.
func (SQL) AddOutage(ctx context.Context, tx engine.Tx, o *task.Outage) (bool, error) {
	s := In(tx)
	body, err := outageBody(o)
	if err != nil {
		return false, err
	}
	n, err := s.Exec(ctx, `INSERT INTO tasker_outages (`+outageColumns+`) VALUES ($1, $2, $3, $4, $5)
 ON CONFLICT (route_id) WHERE closed_at = 0 DO NOTHING`, s.id(o.ID), o.RouteID, o.Namespace, int64(o.ClosedAt), body)
	return n == 1, err
}

// SaveOutage implements engine.OutageStore.
func (SQL) SaveOutage(ctx context.Context, tx engine.Tx, o *task.Outage) error {
	s := In(tx)
	body, err := outageBody(o)
	if err != nil {
		return err
	}
	return s.Send(ctx, `UPDATE tasker_outages SET closed_at = $2, body = $3 WHERE outage_id = $1`, s.id(o.ID),
		int64(o.ClosedAt), body)
}

// outageRow is the body of an outage, without its columns.
type outageRow struct {
	task.Outage

	ProbeTask string `json:"probe_task,omitempty"`
	ProbeStep string `json:"probe_step,omitempty"`
}

func outageBody(o *task.Outage) (any, error) {
	row := outageRow{Outage: *o}
	row.Title, row.CloseReason = clean(row.Title), clean(row.CloseReason)
	if !o.ProbeStep.IsZero() {
		row.ProbeTask, row.ProbeStep = o.ProbeTask.String(), o.ProbeStep.String()
	}
	return jsonText(row)
}

// OpenOutage implements engine.OutageStore.
func (SQL) OpenOutage(ctx context.Context, tx engine.Tx, route int64) (*task.Outage, error) {
	s := In(tx)
	return first(ctx, s, s.scanOutage, `SELECT `+outageColumns+` FROM tasker_outages
 WHERE route_id = $1 AND closed_at = 0`+s.Lock, route)
}

// LockOutage implements engine.OutageStore.
func (SQL) LockOutage(ctx context.Context, tx engine.Tx, id task.ID) (*task.Outage, error) {
	s := In(tx)
	return s.outage(ctx, id, s.Lock)
}

// FindOutage implements engine.OutageStore.
func (s SQL) FindOutage(ctx context.Context, id task.ID) (*task.Outage, error) {
	return s.outage(ctx, id, "")
}

// outage compares the whole ID: SQLite finds it by a part.
func (s SQL) outage(ctx context.Context, id task.ID, lock string) (*task.Outage, error) {
	o, err := first(ctx, s, s.scanOutage, `SELECT `+outageColumns+` FROM tasker_outages WHERE outage_id = $1`+lock,
		s.id(id))
	if err != nil || o == nil || o.ID != id {
		return nil, err
	}
	return o, nil
}

// DropOutages implements engine.OutageStore, the first closed first.
func (SQL) DropOutages(ctx context.Context, tx engine.Tx, before task.Instant, limit int) (int, error) {
	n, err := In(tx).Exec(ctx, `DELETE FROM tasker_outages WHERE outage_id IN (SELECT outage_id FROM tasker_outages
 WHERE closed_at > 0 AND closed_at < $1 ORDER BY closed_at LIMIT $2)`, int64(before), limit)
	return int(n), err
}

// Outages implements engine.OutageStore.
func (s SQL) Outages(ctx context.Context, f engine.OutageFilter) ([]*task.Outage, error) {
	w := where{}
	w.addIf(f.State == engine.OutageOpen, "closed_at = 0")
	w.addIf(f.State == engine.OutageClosed, "closed_at > 0")
	w.addIf(!f.Below.IsZero(), "outage_id < ?", s.id(f.Below))
	if len(f.Namespaces) > 0 {
		marks := make([]string, len(f.Namespaces))
		for i, n := range f.Namespaces {
			marks[i] = w.arg(n)
		}
		w.add("namespace IN (" + strings.Join(marks, ", ") + ")")
	}
	return collect(ctx, s, s.scanOutage, `SELECT `+outageColumns+` FROM tasker_outages`+w.text()+
		` ORDER BY outage_id DESC LIMIT `+w.arg(f.Limit), w.args...)
}

func (s SQL) scanOutage(row Row) (*task.Outage, error) {
	var wire outageRow
	var id task.ID
	var body JSON
	var route, closed int64
	var namespace string
	if err := row.Scan(s.ScanID(&id), &route, (*Text)(&namespace), &closed, &body); err != nil {
		return nil, err
	}
	err := json.Unmarshal(body, &wire)
	o := &wire.Outage
	if err == nil && wire.ProbeStep != "" {
		if o.ProbeTask, err = task.ParseID(wire.ProbeTask); err == nil {
			o.ProbeStep, err = task.ParseID(wire.ProbeStep)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read outage: %w", err)
	}
	o.ID, o.RouteID, o.Namespace, o.ClosedAt = id, route, namespace, task.Instant(closed)
	return o, nil
}
