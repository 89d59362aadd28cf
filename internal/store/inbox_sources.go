package store

import (
	"context"
	"fmt"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	savedSource = `namespace, name, driver, url, queue, format, targets, max_replays, max_open, paused, intake, version,
  sensitive`
	sourceColumns = savedSource + `, lost_at, lost_for`
)

func savedSourceFields(r *deadletter.Source) []any {
	return []any{&r.Namespace, &r.Name, &r.Driver, &r.URL, &r.Queue, &r.Format, jsonField(&r.Targets, "null"),
		&r.MaxReplays, &r.MaxOpen, &r.Paused, jsonField(&r.Intake, ""), &r.Version, sensitiveFields(r)}
}

var sources = record[deadletter.Source]{"tasker_sources s", sourceColumns, func(r *deadletter.Source) []any {
	return append(savedSourceFields(r), &r.LostAt, &r.LostFor)
}}

// sensitiveFields is a source's sensitive fields; "" for none, which queries compare with.
func sensitiveFields(r *deadletter.Source) coded {
	var of struct {
		Pointers []string `json:"pointers,omitempty"`
		Headers  []string `json:"headers,omitempty"`
	}
	return coded{'t', func() (any, error) {
		if len(r.Sensitive)+len(r.SensitiveHeaders) == 0 {
			return "", nil
		}
		of.Pointers, of.Headers = r.Sensitive, r.SensitiveHeaders
		return jsonText(of)
	}, func(b []byte) error {
		if len(b) == 0 {
			return nil
		}
		if err := JSON(b).into(&of); err != nil {
			return fmt.Errorf("sensitive fields of the source %s: %w", r.Name, err)
		}
		r.Sensitive, r.SensitiveHeaders = of.Pointers, of.Headers
		return nil
	}}
}

// The reader and the cursor stay.
func (letterRows) SaveSource(ctx context.Context, tx engine.Tx, r *deadletter.Source) error {
	const query = `INSERT INTO tasker_sources (` + savedSource + `)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT (namespace, name) DO UPDATE SET
  driver = excluded.driver, url = excluded.url, queue = excluded.queue, format = excluded.format,
  targets = excluded.targets, max_replays = excluded.max_replays, max_open = excluded.max_open,
  paused = excluded.paused, intake = excluded.intake, sensitive = excluded.sensitive, version = excluded.version
  WHERE tasker_sources.version = excluded.version - 1`
	return changedOne(ctx, tx, "the source", query, savedSourceFields(r)...)
}

// changedOne runs a statement for the row of a version; Conflict if it has another one.
func changedOne(ctx context.Context, tx engine.Tx, what, query string, fields ...any) error {
	args, err := In(tx).columns(fields)
	if err != nil {
		return err
	}
	n, err := In(tx).Exec(ctx, query, args...)
	if err == nil && n == 0 {
		err = &task.Error{Code: task.Conflict, Message: what + " has changed in the meantime", Hint: "read it again"}
	}
	return err
}

func (letterRows) DropSource(ctx context.Context, tx engine.Tx, r *deadletter.Source) error {
	return changedOne(ctx, tx, "the source", `DELETE FROM tasker_sources WHERE namespace = $1 AND name = $2
 AND version = $3`, r.Namespace, r.Name, r.Version)
}

func (letterRows) Source(ctx context.Context, tx engine.Tx, namespace, name string) (*deadletter.Source, error) {
	return letterRows{In(tx)}.FindSource(ctx, namespace, name)
}

func (s letterRows) FindSource(ctx context.Context, namespace, name string) (*deadletter.Source, error) {
	return sources.first(ctx, s.SQL, ` WHERE namespace = $1 AND name = $2`, namespace, name)
}

// The list is short and has no pages.
func (s letterRows) Sources(ctx context.Context, namespace string) ([]*deadletter.Source, error) {
	w := where{}
	w.addIf(namespace != "", "namespace = ?", namespace)
	return sources.list(ctx, s.SQL, w.text()+` ORDER BY namespace, name`, w.args...)
}

// One UPDATE decides, so only one node gets it; a node renews its own in the same way.
func (letterRows) TakeSource(ctx context.Context, tx engine.Tx, namespace, name, node string, now,
	until task.Instant,
) (bool, error) {
	const query = `UPDATE tasker_sources SET reader = $3, reader_until = $5 WHERE namespace = $1 AND name = $2
  AND (reader = $3 OR reader_until <= $4)`
	n, err := In(tx).Exec(ctx, query, namespace, name, node, int64(now), int64(until))
	return n > 0, err
}

func (letterRows) MarkSource(ctx context.Context, tx engine.Tx, namespace, name string, lost task.Instant,
	why string,
) (bool, error) {
	query := `UPDATE tasker_sources SET lost_at = $3, lost_for = $4 WHERE namespace = $1 AND name = $2 AND lost_at = 0`
	if lost == 0 {
		query = `UPDATE tasker_sources SET lost_at = $3, lost_for = $4 WHERE namespace = $1 AND name = $2 AND lost_at <> 0`
	}
	n, err := In(tx).Exec(ctx, query, namespace, name, int64(lost), clean(why))
	return n > 0, err
}

// The key is in columns and the rest is one document, which no query reads.
func (letterRows) SavePolicy(ctx context.Context, tx engine.Tx, p *deadletter.Policy) error {
	const query = `INSERT INTO tasker_policies (namespace, source, origin, body, version) VALUES ($1, $2, $3, $4, $5)
 ON CONFLICT (namespace, source, origin) DO UPDATE SET body = excluded.body, version = excluded.version
  WHERE tasker_policies.version = excluded.version - 1`
	return changedOne(ctx, tx, "the policy", query, p.Namespace, p.Source, p.Origin, jsonField(p, nil), p.Version)
}

func (letterRows) DropPolicy(ctx context.Context, tx engine.Tx, p *deadletter.Policy) error {
	return changedOne(ctx, tx, "the policy", `DELETE FROM tasker_policies WHERE namespace = $1 AND source = $2
 AND origin = $3 AND version = $4`, p.Namespace, p.Source, p.Origin, p.Version)
}

func (letterRows) Policy(ctx context.Context, tx engine.Tx, namespace, source, origin string) (*deadletter.Policy,
	error,
) {
	return policies.first(ctx, In(tx), ` WHERE namespace = $1 AND source = $2 AND origin = $3`, namespace, source, origin)
}

func (s letterRows) Policies(ctx context.Context, namespace string) ([]*deadletter.Policy, error) {
	w := where{}
	w.addIf(namespace != "", "namespace = ?", namespace)
	return policies.list(ctx, s.SQL, w.text()+` ORDER BY namespace, source, origin`, w.args...)
}

// policies are bodies. An undecodable one is an error: without a policy letters could be discarded.
var policies = record[deadletter.Policy]{"tasker_policies p", `p.body`, func(p *deadletter.Policy) []any {
	return []any{jsonField(p, nil)}
}}

var saveOversized = bulkOf(`INSERT INTO tasker_oversized (namespace, source, position, bytes, part, log_offset, first_at,
  seen_at)`, "tttnnnnn", ` ON CONFLICT (namespace, source, position) DO UPDATE SET bytes = excluded.bytes,
  part = excluded.part, log_offset = excluded.log_offset, seen_at = excluded.seen_at`)

func (letterRows) SaveOversized(ctx context.Context, tx engine.Tx, namespace, source string,
	list []deadletter.Oversized,
) error {
	return saveOversized.add(ctx, In(tx), len(list), func(i int) []any {
		o := list[i]
		return []any{namespace, source, o.Position, o.Bytes, int64(o.Partition), o.Offset, int64(o.FirstAt), int64(o.SeenAt)}
	})
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
	return inParts(positions, func(p string) any { return p }, []any{namespace, source},
		func(in string, args []any) error {
			return In(tx).Send(ctx, `DELETE FROM tasker_oversized WHERE namespace = $1 AND source = $2 AND position IN `+in,
				args...)
		})
}

func (letterRows) ForgetOversized(ctx context.Context, tx engine.Tx, namespace, source string) error {
	return In(tx).Send(ctx, `DELETE FROM tasker_oversized WHERE namespace = $1 AND source = $2`, namespace, source)
}
