package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

const sourceColumns = `namespace, name, driver, url, queue, format, targets, max_replays, max_open, paused, intake, version, sensitive`

// sourceFields are all columns of a source that are read; SaveSource stores those of sourceColumns.
const sourceFields = sourceColumns + `, lost_at, lost_for`

func scanSource(row Row) (*deadletter.Source, error) {
	r := &deadletter.Source{}
	var targets JSON
	var paused int64
	var intake Text
	var sensitive Text
	err := row.Scan((*Text)(&r.Namespace), (*Text)(&r.Name), (*Text)(&r.Driver), (*Text)(&r.URL), (*Text)(&r.Queue),
		(*Text)(&r.Format), &targets, &r.MaxReplays, &r.MaxOpen, &paused, &intake, &r.Version, &sensitive,
		&r.LostAt, (*Text)(&r.LostFor))
	if err != nil {
		return nil, err
	}
	r.Paused = paused != 0
	if r.Intake, err = intakeOf(intake); err != nil {
		return nil, err
	}
	if err := sensitiveInto(sensitive, r); err != nil {
		return nil, err
	}
	return r, targets.into(&r.Targets)
}

// Its reader and its cursor stay as they are.
func (letterRows) SaveSource(ctx context.Context, tx engine.Tx, r *deadletter.Source) error {
	const query = `INSERT INTO tasker_sources (` + sourceColumns + `)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT (namespace, name) DO UPDATE SET
  driver = excluded.driver, url = excluded.url, queue = excluded.queue, format = excluded.format,
  targets = excluded.targets, max_replays = excluded.max_replays, max_open = excluded.max_open,
  paused = excluded.paused, intake = excluded.intake, sensitive = excluded.sensitive, version = excluded.version
  WHERE tasker_sources.version = excluded.version - 1`
	targets, err := jsonText(r.Targets)
	if err != nil {
		return err
	}
	intake, err := intakeText(r.Intake)
	if err != nil {
		return err
	}
	hidden, err := sensitiveText(r)
	if err != nil {
		return err
	}
	return changedOne(ctx, tx, "the source", query, r.Namespace, r.Name, r.Driver, r.URL, r.Queue, r.Format, targets,
		r.MaxReplays, r.MaxOpen, flag(r.Paused), intake, r.Version, hidden)
}

// sensitiveFields is what a source marks as sensitive, as it is stored: "" for nothing, which queries compare with.
type sensitiveFields struct {
	Pointers []string `json:"pointers,omitempty"`
	Headers  []string `json:"headers,omitempty"`
}

func sensitiveText(r *deadletter.Source) (string, error) {
	if len(r.Sensitive)+len(r.SensitiveHeaders) == 0 {
		return "", nil
	}
	b, err := json.Marshal(sensitiveFields{r.Sensitive, r.SensitiveHeaders})
	return string(b), err
}

func sensitiveInto(text Text, r *deadletter.Source) error {
	if text == "" {
		return nil
	}
	var fields sensitiveFields
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		return fmt.Errorf("sensitive fields of the source %s: %w", r.Name, err)
	}
	r.Sensitive, r.SensitiveHeaders = fields.Pointers, fields.Headers
	return nil
}

// changedOne runs a statement that changes the row of a version, and fails with Conflict when it has another one.
func changedOne(ctx context.Context, tx engine.Tx, what, query string, args ...any) error {
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
	return first(ctx, s, scanSource, `SELECT `+sourceFields+` FROM tasker_sources WHERE namespace = $1 AND name = $2`,
		namespace, name)
}

// Sources returns the sources of a namespace, or all.
// There are few; the list has no pages. An empty namespace means all.
func (s letterRows) Sources(ctx context.Context, namespace string) ([]*deadletter.Source, error) {
	w := where{}
	w.addIf(namespace != "", "namespace = ?", namespace)
	return collect(ctx, s, scanSource, `SELECT `+sourceFields+` FROM tasker_sources`+w.text()+
		` ORDER BY namespace, name`, w.args...)
}

// It succeeds if nobody else has the right, or that right has ended; a node renews its own in the same way. One UPDATE
// decides, so of two nodes one gets it.
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

// The key is stored in columns and the rest as one document, because no query looks into it.
func (letterRows) SavePolicy(ctx context.Context, tx engine.Tx, p *deadletter.Policy) error {
	const query = `INSERT INTO tasker_policies (namespace, source, origin, body, version) VALUES ($1, $2, $3, $4, $5)
 ON CONFLICT (namespace, source, origin) DO UPDATE SET body = excluded.body, version = excluded.version
  WHERE tasker_policies.version = excluded.version - 1`
	body, err := jsonText(p)
	if err != nil {
		return err
	}
	return changedOne(ctx, tx, "the policy", query, p.Namespace, p.Source, p.Origin, body, p.Version)
}

func (letterRows) DropPolicy(ctx context.Context, tx engine.Tx, p *deadletter.Policy) error {
	return changedOne(ctx, tx, "the policy", `DELETE FROM tasker_policies WHERE namespace = $1 AND source = $2
 AND origin = $3 AND version = $4`, p.Namespace, p.Source, p.Origin, p.Version)
}

func (letterRows) Policy(ctx context.Context, tx engine.Tx, namespace, source, origin string) (*deadletter.Policy,
	error,
) {
	return first(ctx, In(tx), scanPolicy, `SELECT body FROM tasker_policies WHERE namespace = $1 AND source = $2
 AND origin = $3`, namespace, source, origin)
}

func (s letterRows) Policies(ctx context.Context, namespace string) ([]*deadletter.Policy, error) {
	w := where{}
	w.addIf(namespace != "", "namespace = ?", namespace)
	return collect(ctx, s, scanPolicy, `SELECT body FROM tasker_policies`+w.text()+
		` ORDER BY namespace, source, origin`, w.args...)
}

// scanPolicy reads the document of a policy. One that cannot be decoded is an error: to go on without a policy could
// discard letters.
func scanPolicy(row Row) (*deadletter.Policy, error) {
	var body JSON
	if err := row.Scan(&body); err != nil {
		return nil, err
	}
	p := &deadletter.Policy{}
	return p, json.Unmarshal(body, p)
}
