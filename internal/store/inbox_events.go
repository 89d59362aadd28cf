package store

import (
	"context"
	"encoding/json"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

var insertEvents = bulkOf(`INSERT INTO tasker_inbox_events (event_id, at, submitted, body)`, "innt", ``)

func (letterRows) AddEvents(ctx context.Context, tx engine.Tx, events []deadletter.Event) error {
	s := In(tx)
	rows := make([][]any, len(events))
	for i, e := range events {
		e.Title, e.Where, e.Cause = clean(e.Title), clean(e.Where), clean(e.Cause)
		body, err := jsonText(e)
		if err != nil {
			return err
		}
		rows[i] = []any{s.id(e.ID), int64(e.At), 0, body}
	}
	return insertEvents.send(ctx, s, rows)
}

func (s letterRows) scanEvent(row Row) (*deadletter.Event, error) {
	e := &deadletter.Event{}
	var body JSON
	var id task.ID
	if err := row.Scan(s.Dialect.ScanID(&id), &body); err != nil {
		return nil, err
	}
	err := json.Unmarshal(body, e)
	e.ID = id
	return e, err
}

func (s letterRows) WaitingEvents(ctx context.Context, limit int) ([]deadletter.Event, error) {
	list, err := collect(ctx, s, s.scanEvent, `SELECT event_id, body FROM tasker_inbox_events WHERE submitted = 0
 ORDER BY event_id LIMIT $1`, limit)
	out := make([]deadletter.Event, len(list))
	for i, e := range list {
		out[i] = *e
	}
	return out, err
}

func (letterRows) EventsSubmitted(ctx context.Context, tx engine.Tx, ids []task.ID) error {
	s := In(tx)
	for part := range chunks(ids) {
		w := where{}
		query := `UPDATE tasker_inbox_events SET submitted = 1 WHERE event_id IN ` + s.idList(&w, part)
		if err := s.Send(ctx, query, w.args...); err != nil {
			return err
		}
	}
	return nil
}

func (s letterRows) FindEvent(ctx context.Context, id task.ID) (*deadletter.Event, error) {
	e, err := first(ctx, s, s.scanEvent, `SELECT event_id, body FROM tasker_inbox_events WHERE event_id = $1`, s.id(id))
	if err != nil || e == nil || e.ID != id {
		return nil, err
	}
	return e, nil
}

func (letterRows) PurgeEvents(ctx context.Context, tx engine.Tx, before task.Instant, limit int) (int, error) {
	const query = `DELETE FROM tasker_inbox_events WHERE event_id IN (SELECT event_id FROM tasker_inbox_events
 WHERE at < $1 ORDER BY at LIMIT $2)`
	n, err := In(tx).Exec(ctx, query, int64(before), limit)
	return int(n), err
}
