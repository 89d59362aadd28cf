package store

import (
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
)

var saveOversized = bulkOf(`INSERT INTO tasker_oversized (namespace, source, position, bytes, part, log_offset, first_at,
  seen_at)`, "tttnnnnn", ` ON CONFLICT (namespace, source, position) DO UPDATE SET bytes = excluded.bytes,
  part = excluded.part, log_offset = excluded.log_offset, seen_at = excluded.seen_at`)

func (letterRows) SaveOversized(ctx context.Context, tx engine.Tx, namespace, source string,
	list []deadletter.Oversized,
) error {
	rows := make([][]any, len(list))
	for i, o := range list {
		rows[i] = []any{namespace, source, o.Position, o.Bytes, int64(o.Partition), o.Offset, int64(o.FirstAt),
			int64(o.SeenAt)}
	}
	return saveOversized.send(ctx, In(tx), rows)
}

func (s letterRows) Oversized(ctx context.Context, namespace, source string) ([]deadletter.Oversized, error) {
	return collect(ctx, s, scanOversized, `SELECT position, bytes, part, log_offset, first_at, seen_at
 FROM tasker_oversized WHERE namespace = $1 AND source = $2 ORDER BY first_at, position LIMIT $3`, namespace, source,
		inbox.MaxOversized)
}

func scanOversized(row Row) (o deadletter.Oversized, err error) {
	var part int64
	err = row.Scan((*Text)(&o.Position), &o.Bytes, &part, &o.Offset, &o.FirstAt, &o.SeenAt)
	o.Partition = int32(part)
	return o, err
}

func (letterRows) DropOversized(ctx context.Context, tx engine.Tx, namespace, source string, positions []string) error {
	s := In(tx)
	for part := range slices.Chunk(positions, fetched) {
		w := where{}
		query := `DELETE FROM tasker_oversized WHERE namespace = ` + w.arg(namespace) + ` AND source = ` + w.arg(source) +
			` AND position IN ` + list(&w, part, func(p string) any { return p })
		if err := s.Send(ctx, query, w.args...); err != nil {
			return err
		}
	}
	return nil
}

func (letterRows) ForgetOversized(ctx context.Context, tx engine.Tx, namespace, source string) error {
	return In(tx).Send(ctx, `DELETE FROM tasker_oversized WHERE namespace = $1 AND source = $2`, namespace, source)
}
