package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/limit"
	"github.com/taskerhq/tasker/internal/model/task"
)

// templateBody is the part of a template in one JSON document. Queries search only its handlers, as text; see
// stepsOfHandler.
type templateBody struct {
	Description string          `json:"description,omitempty"`
	Priority    *int            `json:"priority,omitempty"`
	InputSchema json.RawMessage `json:"input_schema,omitempty"`
	Lifecycle   task.Lifecycle  `json:"lifecycle"`
	DispatchTTL time.Duration   `json:"dispatch_ttl,omitempty"`
	Steps       []stepBody      `json:"steps"`
	Sensitive   []string        `json:"sensitive,omitempty"`
	Concurrency *limit.Spec     `json:"concurrency,omitempty"`
	RateLimit   *limit.Spec     `json:"rate_limit,omitempty"`
	Unique      *task.Unique    `json:"unique,omitempty"`
}

// stepBody is a step in a templateBody. The names are stored: renaming a field needs a migration.
type stepBody struct {
	Name           string          `json:"name"`
	Description    string          `json:"description,omitempty"`
	Handler        string          `json:"handler"`
	Initialization json.RawMessage `json:"initialization,omitempty"`
	Dependencies   []string        `json:"dependencies,omitempty"`
	Retry          task.Retry      `json:"retry"`
	Timeout        time.Duration   `json:"timeout,omitempty"`
	Capabilities   []string        `json:"capabilities,omitempty"`
	Priority       *int            `json:"priority,omitempty"`
	DispatchTTL    time.Duration   `json:"dispatch_ttl,omitempty"`
	Concurrency    *limit.Spec     `json:"concurrency,omitempty"`
	RateLimit      *limit.Spec     `json:"rate_limit,omitempty"`
	When           string          `json:"when,omitempty"`
	Wait           *task.Wait      `json:"wait,omitempty"`
	OnFailure      bool            `json:"on_failure,omitempty"`
	Tasks          *task.ChildSpec `json:"tasks,omitempty"`
}

func encodeTemplate(t *task.Template) (any, error) {
	b := templateBody{Description: t.Description, Priority: t.Priority, InputSchema: t.InputSchema, Lifecycle: t.Lifecycle,
		DispatchTTL: t.DispatchTTL, Sensitive: t.Sensitive, Concurrency: t.Concurrency, RateLimit: t.RateLimit,
		Unique: t.Unique}
	for _, s := range t.Steps {
		b.Steps = append(b.Steps, stepBody{s.Name, s.Description, s.Handler, s.Initialization, s.Dependencies, s.Retry,
			s.Timeout, s.Capabilities, s.Priority, s.DispatchTTL, s.Concurrency, s.RateLimit, s.When,
			s.Wait, s.OnFailure, s.Tasks})
	}
	return jsonText(b)
}

// decodeTemplate reads the body of a template and links its steps. It accepts every body that was valid when it was
// stored. An error leaves t partly filled; the caller must not use its steps.
func decodeTemplate(t *task.Template, body JSON) error {
	var b templateBody
	if err := body.into(&b); err != nil {
		return err
	}
	t.Description, t.Priority, t.InputSchema, t.Lifecycle = b.Description, b.Priority, b.InputSchema, b.Lifecycle
	t.Concurrency, t.RateLimit = b.Concurrency, b.RateLimit
	t.DispatchTTL, t.Sensitive, t.Unique = b.DispatchTTL, b.Sensitive, b.Unique
	for _, s := range b.Steps {
		t.Steps = append(t.Steps, task.StepSpec{Name: s.Name, Description: s.Description, Handler: s.Handler,
			Initialization: s.Initialization,
			Dependencies:   s.Dependencies, Retry: s.Retry, Timeout: s.Timeout, Capabilities: s.Capabilities,
			Priority: s.Priority, DispatchTTL: s.DispatchTTL, Concurrency: s.Concurrency, RateLimit: s.RateLimit,
			When: s.When, Wait: s.Wait, OnFailure: s.OnFailure, Tasks: s.Tasks})
	}
	// steps in a cycle never run, and their tasks get a case; no other fault is accepted
	if faults := t.Link(); len(faults) > 0 && faults[0].Message != t.Cycle {
		return fmt.Errorf("stored template %s/%s %s: %s", t.Namespace, t.Name, t.Version, faults[0].Message)
	}
	return nil
}

const templateColumns = `def_id, namespace, name, version, adhoc, fingerprint, created_at, source, body`

// scanTemplate reads templateColumns. An unreadable body leaves a template without steps, marked as unread: one damaged
// row must not fail a list.
func scanTemplate(row Row) (*task.Template, error) {
	var t task.Template
	var adhoc int
	var created task.Instant
	var body JSON
	if err := row.Scan(&t.DefID, (*Text)(&t.Namespace), (*Text)(&t.Name), (*Text)(&t.Version), &adhoc,
		(*Text)(&t.Fingerprint), &created, (*Text)(&t.Source), &body); err != nil {
		return nil, err
	}
	t.Adhoc, t.CreatedAt = adhoc == 1, created.Time()
	if err := decodeTemplate(&t, body); err != nil {
		unread(&t.Unread, "body", err)
		t.Steps = nil // possibly not linked
	}
	return &t, nil
}

// InsertTemplate stores a version and sets its DefID, and returns nil. If the version exists, it stores nothing and
// returns the stored one, for the caller to compare. It waits for a concurrent insert of the same version.
func (s SQL) InsertTemplate(ctx context.Context, t *task.Template) (*task.Template, error) {
	body, err := encodeTemplate(t)
	if err != nil {
		return nil, err
	}
	adhoc := 0
	if t.Adhoc {
		adhoc = 1
	}
	const insert = `INSERT INTO tasker_templates (namespace, name, version, adhoc, fingerprint, created_at, source, body)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`
	n, err := s.Exec(ctx, insert, t.Namespace, t.Name, t.Version, adhoc, t.Fingerprint, int64(task.At(t.CreatedAt)),
		t.Source, body)
	if err != nil {
		return nil, err
	}
	const find = `SELECT ` + templateColumns +
		` FROM tasker_templates WHERE namespace = $1 AND name = $2 AND version = $3 AND adhoc = $4`
	stored, err := first(ctx, s, scanTemplate, find, t.Namespace, t.Name, t.Version, adhoc)
	if err != nil || stored == nil {
		return nil, err
	}
	t.DefID = stored.DefID
	if n > 0 {
		return nil, nil
	}
	return stored, nil
}

// FindTemplateByDef returns a template by its key, or nil.
func (s SQL) FindTemplateByDef(ctx context.Context, def int64) (*task.Template, error) {
	return first(ctx, s, scanTemplate, `SELECT `+templateColumns+` FROM tasker_templates WHERE def_id = $1`, def)
}

// FindTemplate returns a version, or the last registered one if version is "", or nil. It does not find templates of
// single handlers.
func (s SQL) FindTemplate(ctx context.Context, namespace, name, version string) (*task.Template, error) {
	const query = `SELECT ` + templateColumns + ` FROM tasker_templates
 WHERE namespace = $1 AND name = $2 AND adhoc = 0 AND ($3 = '' OR version = $3) ORDER BY def_id DESC LIMIT 1`
	return first(ctx, s, scanTemplate, query, namespace, name, version)
}

// FindAdhoc returns the template of a handler's tasks, or nil: one in each namespace, without versions.
func (s SQL) FindAdhoc(ctx context.Context, namespace, handler string) (*task.Template, error) {
	const query = `SELECT ` + templateColumns + ` FROM tasker_templates WHERE namespace = $1 AND name = $2 AND adhoc = 1`
	return first(ctx, s, scanTemplate, query, namespace, handler)
}

// ListTemplates returns a page, newest first, with steps.
func (s SQL) ListTemplates(ctx context.Context, f engine.TemplateFilter) ([]*task.Template, error) {
	w := where{}
	w.add("adhoc = 0")
	w.addIf(f.Namespace != "", "namespace = ?", f.Namespace)
	w.addIf(f.Name != "", "name = ?", f.Name)
	w.addIf(f.Below != 0, "def_id < ?", f.Below)
	return collect(ctx, s, scanTemplate, `SELECT `+templateColumns+` FROM tasker_templates`+w.text()+
		` ORDER BY def_id DESC LIMIT `+w.arg(f.Limit), w.args...)
}

// InsertRoute stores a route and sets its ID, or that of the existing one, the same for concurrent processes. A route
// is never deleted: nodes keep those in use in memory.
func (s SQL) InsertRoute(ctx context.Context, r *task.Route) error {
	const insert = `INSERT INTO tasker_routes (namespace, handler, capabilities) VALUES ($1, $2, $3)
  ON CONFLICT DO NOTHING`
	if err := s.Send(ctx, insert, r.Namespace, r.Handler, r.CapabilityKey()); err != nil {
		return err
	}
	const find = `SELECT route_id FROM tasker_routes WHERE namespace = $1 AND handler = $2 AND capabilities = $3`
	id, err := first(ctx, s, scanInt, find, r.Namespace, r.Handler, r.CapabilityKey())
	r.ID = id
	return err
}

const routeColumns = `route_id, namespace, handler, capabilities`

func scanRoute(row Row) (*task.Route, error) {
	var r task.Route
	var capabilities Text
	err := row.Scan(&r.ID, (*Text)(&r.Namespace), (*Text)(&r.Handler), &capabilities)
	r.Capabilities = task.SplitCapabilities(string(capabilities))
	return &r, err
}

// Routes returns all routes, maybe many; see RoutesAfter.
func (s SQL) Routes(ctx context.Context) ([]*task.Route, error) {
	return collect(ctx, s, scanRoute, `SELECT `+routeColumns+` FROM tasker_routes ORDER BY route_id`)
}

// RoutesAfter returns up to limit routes by number, after one. A number is assigned before its commit, so a lower one
// may appear later: reading after the newest known number may miss routes.
func (s SQL) RoutesAfter(ctx context.Context, behind int64, limit int) ([]*task.Route, error) {
	const query = `SELECT ` + routeColumns + ` FROM tasker_routes WHERE route_id > $1 ORDER BY route_id LIMIT $2`
	return collect(ctx, s, scanRoute, query, behind, limit)
}

// FindRoute returns the route with the namespace, handler and capabilities of another, or nil.
func (s SQL) FindRoute(ctx context.Context, like task.Route) (*task.Route, error) {
	const query = `SELECT ` + routeColumns +
		` FROM tasker_routes WHERE namespace = $1 AND handler = $2 AND capabilities = $3`
	return first(ctx, s, scanRoute, query, like.Namespace, like.Handler, like.CapabilityKey())
}

// CountRoutes counts the routes of a namespace up to limit.
func (s SQL) CountRoutes(ctx context.Context, namespace string, limit int) (int, error) {
	const query = `SELECT count(*) FROM (SELECT 1 FROM tasker_routes WHERE namespace = $1 LIMIT $2) AS r`
	n, err := first(ctx, s, scanInt, query, namespace, limit)
	return int(n), err
}

// CountAdhoc counts the templates of single handlers in a namespace, up to limit.
func (s SQL) CountAdhoc(ctx context.Context, namespace string, limit int) (int, error) {
	const query = `SELECT count(*) FROM (SELECT 1 FROM tasker_templates WHERE namespace = $1 AND adhoc = 1 LIMIT $2) AS t`
	n, err := first(ctx, s, scanInt, query, namespace, limit)
	return int(n), err
}

// WorkerColumns are the columns that ScanWorker reads.
const WorkerColumns = `worker_no, id, name, state, namespaces, handlers, capabilities, capacity, load, host, version,
  started_at, last_heartbeat, health_url, probe_failures, probe_error, broken_at, transport, cordoned_at, cordoned_by,
  cordon_reason, drained_at, drained_by, drain_reason`

// ScanWorker reads WorkerColumns.
func (s SQL) ScanWorker(row Row) (*task.Worker, error) {
	var w task.Worker
	var namespaces, handlers, capabilities Text
	err := scan(row, []any{&w.No, s.ScanID(&w.ID), (*Text)(&w.Name), (*Text)(&w.State), &namespaces, &handlers,
		&capabilities,
		&w.Capacity, &w.Load, (*Text)(&w.Host), (*Text)(&w.Version), &w.StartedAt, &w.LastHeartbeat,
		(*Text)(&w.HealthURL), &w.ProbeFailures, (*Text)(&w.ProbeError), &w.BrokenAt, (*Text)(&w.Transport),
		&w.CordonedAt, (*Text)(&w.CordonedBy), (*Text)(&w.CordonReason), &w.DrainedAt, (*Text)(&w.DrainedBy),
		(*Text)(&w.DrainReason)}, &w.ID, &w.Unread)
	w.Namespaces, w.Handlers, w.Capabilities = split(namespaces), split(handlers), split(capabilities)
	return &w, err
}

// split and joined convert a list of names to a column: one a line. A name has no line break (task.TextFault).
func split(t Text) []string       { return task.SplitCapabilities(string(t)) }
func joined(list []string) string { return strings.Join(list, "\n") }

// SaveWorker inserts a worker whose No is 0, and sets No, or updates a worker. Name, abilities, host and start never
// change: a restarted program registers anew.
func (s SQL) SaveWorker(ctx context.Context, w *task.Worker) error {
	if w.No != 0 {
		const update = `UPDATE tasker_workers SET state = $2, load = $3, last_heartbeat = $4, probe_failures = $5,
  probe_error = $6, broken_at = $7, cordoned_at = $8, cordoned_by = $9, cordon_reason = $10, drained_at = $11,
  drained_by = $12, drain_reason = $13 WHERE worker_no = $1`
		err := s.Send(ctx, update, w.No, string(w.State), w.Load, int64(w.LastHeartbeat), w.ProbeFailures, w.ProbeError,
			int64(w.BrokenAt), int64(w.CordonedAt), w.CordonedBy, w.CordonReason, int64(w.DrainedAt), w.DrainedBy,
			w.DrainReason)
		return err
	}
	const insert = `INSERT INTO tasker_workers (id, name, state, namespaces, handlers, capabilities, capacity, load,
  host, version, started_at, last_heartbeat, health_url, probe_failures, probe_error, broken_at, transport,
  cordoned_at, cordoned_by, cordon_reason, drained_at, drained_by, drain_reason)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)
 RETURNING worker_no`
	no, err := first(ctx, s, scanInt, insert,
		s.id(w.ID), w.Name, string(w.State), joined(w.Namespaces), joined(w.Handlers), joined(w.Capabilities),
		w.Capacity, w.Load, w.Host, w.Version, int64(w.StartedAt), int64(w.LastHeartbeat), w.HealthURL, w.ProbeFailures,
		w.ProbeError, int64(w.BrokenAt), string(w.Transport), int64(w.CordonedAt), w.CordonedBy, w.CordonReason,
		int64(w.DrainedAt), w.DrainedBy, w.DrainReason)
	w.No = no
	return err
}

// Workers returns the workers seen at or after a time, and all that are not dead. Dead workers stay in the table until
// retention deletes them.
func (s SQL) Workers(ctx context.Context, since task.Instant) ([]*task.Worker, error) {
	const query = `SELECT ` + WorkerColumns +
		` FROM tasker_workers WHERE state <> 'dead' OR last_heartbeat >= $1 ORDER BY worker_no`
	return collect(ctx, s, s.ScanWorker, query, int64(since))
}

// ListWorkers returns up to limit of these workers by number, after one.
func (s SQL) ListWorkers(ctx context.Context, since task.Instant, behind int64, limit int) ([]*task.Worker, error) {
	const query = `SELECT ` + WorkerColumns + ` FROM tasker_workers
 WHERE (state <> 'dead' OR last_heartbeat >= $1) AND worker_no > $2 ORDER BY worker_no LIMIT $3`
	return collect(ctx, s, s.ScanWorker, query, int64(since), behind, limit)
}

// CountWorkers counts all workers up to limit.
func (s SQL) CountWorkers(ctx context.Context, limit int) (int, error) {
	n, err := first(ctx, s, scanInt, `SELECT count(*) FROM (SELECT 1 FROM tasker_workers LIMIT $1) AS w`, limit)
	return int(n), err
}

// KnowsWorker reports whether a worker of this name and host is stored: the limit of workers excepts one that restarts.
func (s SQL) KnowsWorker(ctx context.Context, name, host string) (bool, error) {
	n, err := first(ctx, s, scanInt,
		`SELECT count(*) FROM (SELECT 1 FROM tasker_workers WHERE name = $1 AND host = $2 LIMIT 1) AS w`, name, host)
	return n > 0, err
}

// FindWorker returns a worker, or nil.
func (s SQL) FindWorker(ctx context.Context, id task.ID) (*task.Worker, error) {
	w, err := first(ctx, s, s.ScanWorker, `SELECT `+WorkerColumns+` FROM tasker_workers WHERE id = $1`, s.id(id))
	if err != nil || w == nil || w.ID != id {
		return nil, err
	}
	return w, nil
}

// FindWorkerByNo returns a worker by its key, or nil. Steps have this number, which is shorter than the ID.
func (s SQL) FindWorkerByNo(ctx context.Context, no int64) (*task.Worker, error) {
	return first(ctx, s, s.ScanWorker, `SELECT `+WorkerColumns+` FROM tasker_workers WHERE worker_no = $1`, no)
}
