package store

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

var insertEvents = bulkOf(`INSERT INTO tasker_inbox_events (event_id, at, submitted, body)`, "innt", ``)

func (letterRows) AddEvents(ctx context.Context, tx engine.Tx, list []deadletter.Event) error {
	return insertEvents.add(ctx, In(tx), len(list), func(i int) []any {
		e := list[i]
		e.Title, e.Where, e.Cause = clean(e.Title), clean(e.Where), clean(e.Cause)
		return []any{&e.ID, &e.At, 0, jsonField(&e, nil)}
	})
}

var events = record[deadletter.Event]{"tasker_inbox_events e", `e.event_id, e.body`, func(e *deadletter.Event) []any {
	return []any{&e.ID, jsonField(e, nil)}
}}

func (s letterRows) WaitingEvents(ctx context.Context, limit int) ([]deadletter.Event, error) {
	return events.values(ctx, s.SQL, ` WHERE e.submitted = 0 ORDER BY e.event_id LIMIT $1`, limit)
}

func (letterRows) EventsSubmitted(ctx context.Context, tx engine.Tx, ids []task.ID) error {
	s := In(tx)
	return inParts(ids, s.id, nil, func(in string, args []any) error {
		return s.Send(ctx, `UPDATE tasker_inbox_events SET submitted = 1 WHERE event_id IN `+in, args...)
	})
}

func (s letterRows) FindEvent(ctx context.Context, id task.ID) (*deadletter.Event, error) {
	return events.byID(ctx, s.SQL, ` WHERE e.event_id = $1`, id)
}

func (letterRows) PurgeEvents(ctx context.Context, tx engine.Tx, before task.Instant, limit int) (int, error) {
	const query = `DELETE FROM tasker_inbox_events WHERE event_id IN (SELECT event_id FROM tasker_inbox_events
 WHERE at < $1 ORDER BY at LIMIT $2)`
	n, err := In(tx).Exec(ctx, query, int64(before), limit)
	return int(n), err
}
