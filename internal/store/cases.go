package store

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	// Columns of a case, in the order of scanCaseAnd: caseColumns and then failureColumns or their NULLs, and the
	// snapshot.
	caseColumns = `c.dlq_entry_uuid, c.task_uuid, c.def_id, c.original_state, c.dlq_reason, c.dlq_timestamp,
  c.resolution_status, c.resolution_notes, c.resolved_at, c.resolved_by, c.resolved_key, c.metadata, c.created_at,
  c.updated_at, c.cause, c.occurrences, c.occurred_at, c.recovery, c.replays, c.note_count, c.note_bytes,
  coalesce(c.group_id, 0)`
	failureColumns = `, c.error_pattern, c.retryable, c.failed_step, c.error_class, c.error_message`
	wholeCase      = caseColumns + failureColumns + `, c.task_snapshot`
	// A transaction changes neither the failure nor the snapshot of a case, and both may be long.
	bareCase = caseColumns + `, NULL, 0, NULL, NULL, NULL, NULL`
)

// listedCase is a case without its snapshot, and a flag for omitted metadata.
var listedCase = strings.Replace(caseColumns, `c.metadata`, small(`c.metadata`), 1) + failureColumns + `, NULL, ` +
	large(`c.metadata`)

func (s SQL) scanListed(row Row) (*task.Case, error) {
	var omitted int
	c, err := s.scanCaseAnd(row, &omitted)
	if err == nil {
		c.MetadataOmitted = omitted != 0
	}
	return c, err
}

func (s SQL) scanCase(row Row) (*task.Case, error) { return s.scanCaseAnd(row) }

// scanCaseAnd reads a case and more. It leaves out unreadable columns, with the reason in Unread.
func (s SQL) scanCaseAnd(row Row, more ...any) (*task.Case, error) {
	var c task.Case
	var retryable int
	var recovery, replays JSON
	err := scan(row,
		append([]any{s.ScanID(&c.ID), s.ScanID(&c.TaskID), &c.DefID, (*Text)(&c.OriginalState), (*Text)(&c.Reason),
			&c.OpenedAt, (*Text)(&c.Status),
			(*Text)(&c.Notes), &c.ResolvedAt, (*Text)(&c.ResolvedBy), (*Text)(&c.ResolvedKey), (*JSON)(&c.Metadata),
			&c.CreatedAt,
			&c.UpdatedAt,
			(*Text)(&c.Cause), &c.Occurrences, &c.OccurredAt, &recovery, &replays, &c.NoteCount, &c.NoteBytes, &c.Group,
			(*Text)(&c.Fingerprint), &retryable, (*Text)(&c.Step), (*Text)(&c.Class), (*Text)(&c.Message), (*JSON)(&c.Snapshot)},
			more...), &c.ID, &c.Unread)
	if err != nil {
		return nil, err
	}
	// Both databases store truth values as 0 and 1, because SQLite has no type for them.
	c.Retryable = retryable != 0
	c.Recovery = readRecovery(recovery, &c.Unread)
	if replays != nil {
		if err := json.Unmarshal(replays, &c.Replays); err != nil {
			c.Replays = task.Replays{}
			unread(&c.Unread, "replays", err)
		}
	}
	return &c, nil
}

// AddCases stores new cases; see engine.CaseRows. A task has at most one pending case, by the unique index: it skips
// another one.
func (SQL) AddCases(ctx context.Context, tx engine.Tx, cases []*task.Case) error {
	s := In(tx)
	const query = `INSERT INTO tasker_tasks_dlq (dlq_entry_uuid, task_uuid, def_id, original_state, dlq_reason,
  dlq_timestamp, task_snapshot, resolution_status, resolution_notes, resolved_at, resolved_by, metadata, created_at,
  updated_at, error_pattern, retryable, resolved_key, cause, occurred_at, failed_step, error_class, error_message,
  snapshot_bytes, group_id)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24)
  ON CONFLICT DO NOTHING`
	for _, c := range cases {
		err := s.Send(ctx, query, s.id(c.ID), s.id(c.TaskID), c.DefID, string(c.OriginalState), string(c.Reason),
			int64(c.OpenedAt), document(c.Snapshot),
			string(c.Status), nullable(c.Notes), int64(c.ResolvedAt), nullable(c.ResolvedBy), document(c.Metadata),
			int64(c.CreatedAt), int64(c.UpdatedAt),
			nullable(c.Fingerprint), flag(c.Retryable), nullable(c.ResolvedKey), nullable(string(c.Cause)), int64(c.OccurredAt),
			nullable(c.Step),
			nullable(string(c.Class)), nullable(c.Message), len(c.Snapshot), nullableNo(c.Group))
		if err != nil {
			return err
		}
	}
	return nil
}

// flag is a column that is 0 or 1. Portable SQL compares such columns with 0 and 1, never with TRUE.
func flag(set bool) int {
	if set {
		return 1
	}
	return 0
}

func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func nullableNo(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

// document stores nil as NULL, and JSON unchanged: no database may reformat a payload.
func document(b []byte) any {
	if b == nil {
		return nil
	}
	return string(b)
}

// Case returns a case with the fields for a transaction, or nil; see engine.CaseRows. It takes no lock: the lock on the
// task protects its cases.
func (SQL) Case(ctx context.Context, tx engine.Tx, id task.ID) (*task.Case, error) {
	s := In(tx)
	return s.caseByID(ctx, `SELECT `+bareCase+` FROM tasker_tasks_dlq c WHERE c.dlq_entry_uuid = $1`, id)
}

// FindCase returns a case, or nil, with its snapshot, former occurrences and notes: up to three queries.
func (s SQL) FindCase(ctx context.Context, id task.ID) (*task.Case, error) {
	c, err := s.caseByID(ctx, `SELECT `+wholeCase+` FROM tasker_tasks_dlq c WHERE c.dlq_entry_uuid = $1`, id)
	if err != nil || c == nil {
		return nil, err
	}
	return c, s.addStory(ctx, c)
}

func (s SQL) caseByID(ctx context.Context, query string, id task.ID) (*task.Case, error) {
	c, err := first(ctx, s, s.scanCase, query, s.id(id))
	if err != nil || c == nil || c.ID != id { // an engine may keep a part of the ID
		return nil, err
	}
	return c, nil
}

// LastCase returns the most recently opened case of a task, or nil.
func (s SQL) LastCase(ctx context.Context, of task.ID) (*task.Case, error) {
	const query = `SELECT ` + wholeCase +
		` FROM tasker_tasks_dlq c WHERE c.task_uuid = $1 ORDER BY c.dlq_entry_uuid DESC LIMIT 1`
	c, err := first(ctx, s, s.scanCase, query, s.id(of))
	if err != nil || c == nil || c.TaskID != of {
		return nil, err
	}
	return c, s.addStory(ctx, c)
}

// PendingCases returns the pending cases of tasks, at most one each, unordered and without snapshots.
func (SQL) PendingCases(ctx context.Context, tx engine.Tx, tasks []task.ID) ([]*task.Case, error) {
	s := In(tx)
	return collectByIDs(ctx, s, tasks, s.scanCase,
		`SELECT `+bareCase+` FROM tasker_tasks_dlq c WHERE c.resolution_status = 'pending' AND c.task_uuid IN `, ``)
}

// CasesOf returns all cases of tasks, without snapshots. The caller has loaded, and so locked, the tasks.
func (SQL) CasesOf(ctx context.Context, tx engine.Tx, tasks []task.ID) ([]*task.Case, error) {
	s := In(tx)
	return collectByIDs(ctx, s, tasks, s.scanCase, `SELECT `+bareCase+` FROM tasker_tasks_dlq c WHERE c.task_uuid IN `, ``)
}

// DeleteCases deletes cases with their occurrences and notes. It ignores unknown IDs.
func (SQL) DeleteCases(ctx context.Context, tx engine.Tx, ids []task.ID) error {
	s := In(tx)
	for part := range chunks(ids) {
		for _, table := range []string{"tasker_case_occurrences", "tasker_case_notes", "tasker_tasks_dlq"} {
			w := where{}
			query := `DELETE FROM ` + table + ` WHERE dlq_entry_uuid IN ` + s.idList(&w, part)
			if err := s.Send(ctx, query, w.args...); err != nil {
				return err
			}
		}
	}
	return nil
}

// ResolvedCases returns cases resolved before a time, the oldest resolution first; see engine.CaseReader. Retention
// deletes them in batches of limit.
func (s SQL) ResolvedCases(ctx context.Context, before task.Instant, limit int) ([]*task.Case, error) {
	const query = `SELECT ` + bareCase +
		` FROM tasker_tasks_dlq c WHERE c.resolution_status <> 'pending' AND c.resolved_at < $1
 ORDER BY c.resolved_at, c.dlq_entry_uuid LIMIT $2`
	return collect(ctx, s, s.scanCase, query, int64(before), limit)
}

// SaveCases stores the fields that an investigation can change; see engine.CaseRows. Only RecurCases replaces the
// failure, the snapshot and the opening.
func (SQL) SaveCases(ctx context.Context, tx engine.Tx, cases []*task.Case) error {
	s := In(tx)
	const query = `UPDATE tasker_tasks_dlq SET resolution_status = $2, resolution_notes = $3, resolved_at = $4,
  resolved_by = $5, metadata = $6, updated_at = $7, resolved_key = $8, recovery = $9, replays = $10,
  note_count = $11, note_bytes = $12 WHERE dlq_entry_uuid = $1`
	for _, c := range cases {
		recovery, replays, err := encodeRecovery(c)
		if err != nil {
			return err
		}
		if err := s.Send(ctx, query, s.id(c.ID), string(c.Status), nullable(c.Notes), int64(c.ResolvedAt),
			nullable(c.ResolvedBy),
			document(c.Metadata), int64(c.UpdatedAt), nullable(c.ResolvedKey), document(recovery), document(replays),
			c.NoteCount, c.NoteBytes); err != nil {
			return err
		}
		if err := s.addNotes(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// Evidence returns the rows of tasks for a snapshot, including the transaction's writes; see engine.Evidences. A task
// without a failed attempt has no failures.
func (SQL) Evidence(ctx context.Context, tx engine.Tx, tasks []task.ID) (map[task.ID]engine.Evidence, error) {
	s := In(tx)
	found := make(map[task.ID]engine.Evidence, len(tasks))
	type input struct {
		id       task.ID
		document JSON
	}
	inputs, err := collectByIDs(ctx, s, tasks, func(row Row) (in input, err error) {
		err = row.Scan(s.ScanID(&in.id), &in.document)
		return in, err
	}, `SELECT id, context FROM tasker_tasks WHERE id IN `, ``)
	if err != nil {
		return nil, err
	}
	for _, in := range inputs {
		found[in.id] = engine.Evidence{Context: in.document}
	}
	// the last attempt of each step; the list of tasks replaces the inner query
	const last = `SELECT ` + attemptColumns +
		` FROM tasker_attempts WHERE id IN (SELECT max(id) FROM tasker_attempts WHERE failure IS NOT NULL AND task_id IN `
	failures, err := collectByIDs(ctx, s, tasks, s.scanAttempt, last, ` GROUP BY task_id, step_id)`)
	if err != nil {
		return nil, err
	}
	for _, a := range failures {
		e := found[a.TaskID]
		e.Failures = append(e.Failures, a)
		found[a.TaskID] = e
	}
	return found, nil
}

// WorkerName implements engine.Evidences.
func (SQL) WorkerName(ctx context.Context, tx engine.Tx, no int64) (string, error) {
	return first(ctx, In(tx), scanText, `SELECT name FROM tasker_workers WHERE worker_no = $1`, no)
}

// ChargedAttempts returns the charged attempts of the steps of tasks; see engine.Evidences. It reads no failure, which
// may be long.
func (SQL) ChargedAttempts(ctx context.Context, tx engine.Tx, tasks []task.ID) ([]task.Attempt, error) {
	s := In(tx)
	return collectByIDs(ctx, s, tasks, s.scanAttempt, `SELECT `+bareAttemptColumns+
		` FROM tasker_attempts WHERE failure IS NOT NULL AND task_id IN `, ``)
}

// AttemptsSinceReset returns the attempts of steps since their last reset; see engine.Evidences.
func (SQL) AttemptsSinceReset(ctx context.Context, tx engine.Tx, tasks []task.ID) ([]task.Attempt, error) {
	s := In(tx)
	query := `SELECT ` + bareAttemptColumns + ` FROM tasker_attempts WHERE NOT EXISTS (SELECT 1 FROM tasker_acts r
 WHERE r.task_id = tasker_attempts.task_id AND r.step_id = tasker_attempts.step_id AND r.at >= tasker_attempts.finished_at
 AND r.kind IN ('` + strings.Join(task.ResetActs, `', '`) + `')) AND task_id IN `
	return collectByIDs(ctx, s, tasks, s.scanAttempt, query, ` ORDER BY id`)
}

// LastFailures returns the last failed attempt of each task; see engine.Evidences. It finds their places first, because
// a failure may be long. The last failure of the step named by a Stop precedes a later one of another step; a task
// without either is left out.
func (s SQL) LastFailures(ctx context.Context, of []engine.Stop) ([]task.Attempt, error) {
	type place struct {
		no         int64
		task, step task.ID
	}
	tasks, named := make([]task.ID, len(of)), make(map[engine.Stop]bool, len(of))
	for i, o := range of {
		tasks[i], named[o] = o.Task, true
	}
	places, err := collectByIDs(ctx, s, tasks, func(row Row) (p place, err error) {
		err = row.Scan(&p.no, s.ScanID(&p.task), s.ScanID(&p.step))
		return p, err
	}, `SELECT id, task_id, step_id FROM tasker_attempts WHERE failure IS NOT NULL AND task_id IN `, ` ORDER BY id`)
	if err != nil {
		return nil, err
	}
	last := make(map[task.ID]place, len(of))
	stops := func(p place) bool { return named[engine.Stop{Task: p.task, Step: p.step.Ordinal(p.task)}] }
	for _, p := range places {
		// In the order of writing: a later one replaces an earlier one of the same rank.
		if stops(p) || !stops(last[p.task]) {
			last[p.task] = p
		}
	}
	var nos []int64
	for _, p := range last {
		nos = append(nos, p.no)
	}
	var attempts []task.Attempt
	for part := range slices.Chunk(nos, fetched) {
		w := where{}
		of := list(&w, part, func(no int64) any { return no })
		some, err := collect(ctx, s, s.scanAttempt, `SELECT `+attemptColumns+` FROM tasker_attempts WHERE id IN `+of,
			w.args...)
		if err != nil {
			return nil, err
		}
		attempts = append(attempts, some...)
	}
	return attempts, nil
}

// collectByIDs runs a query once for each part of a list of IDs. before ends with "IN ", and behind follows the list.
// The result is unordered, except within one part.
func collectByIDs[T any](ctx context.Context, s SQL, ids []task.ID, scan func(Row) (T, error), before,
	behind string,
) ([]T, error) {
	var all []T
	for part := range chunks(ids) {
		w := where{}
		rows, err := collect(ctx, s, scan, before+s.idList(&w, part)+behind, w.args...)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// FindNote returns the text of a key, or "". Notes are a few settings of the database itself, such as the secret for
// tokens.
func (s SQL) FindNote(ctx context.Context, key string) (string, error) {
	text, err := first(ctx, s, func(row Row) (t Text, err error) {
		err = row.Scan(&t)
		return t, err
	}, `SELECT value FROM tasker_meta WHERE key = $1`, key)
	return string(text), err
}

// Notes returns the few texts whose keys have a prefix, compared without the wildcards of LIKE.
func (s SQL) Notes(ctx context.Context, prefix string) (map[string]string, error) {
	out := map[string]string{}
	err := s.Query(ctx, `SELECT key, value FROM tasker_meta WHERE substr(key, 1, length($1)) = $1`, []any{prefix},
		func(row Row) error {
			var key, text Text
			err := row.Scan(&key, &text)
			out[string(key)] = string(text)
			return err
		})
	return out, err
}

// DropNotes deletes the texts of keys.
func (SQL) DropNotes(ctx context.Context, tx engine.Tx, keys []string) error {
	s := In(tx)
	for _, key := range keys {
		if err := s.Send(ctx, `DELETE FROM tasker_meta WHERE key = $1`, key); err != nil {
			return err
		}
	}
	return nil
}

// Note stores a small text under a key, and replaces an existing one.
func (SQL) Note(ctx context.Context, tx engine.Tx, key, text string) error {
	s := In(tx)
	const query = `INSERT INTO tasker_meta (key, value) VALUES ($1, $2) ON CONFLICT (key)
  DO UPDATE SET value = excluded.value`
	err := s.Send(ctx, query, key, text)
	return err
}

// FirstNote stores a small text under a key without one. Of several nodes that start together, one wins; each reads the
// stored text afterwards.
func (SQL) FirstNote(ctx context.Context, tx engine.Tx, key, text string) error {
	s := In(tx)
	const query = `INSERT INTO tasker_meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING`
	err := s.Send(ctx, query, key, text)
	return err
}

// Watches returns watches in the order of their time; see engine.WatchStore. It continues after a pair, because many
// watches may have the same time.
func (s SQL) Watches(ctx context.Context, behind engine.Watch, until task.Instant, limit int) ([]engine.Watch, error) {
	const query = `SELECT task_id, stale_at FROM tasker_task_watches WHERE (stale_at, task_id) > ($1, $2)
  AND stale_at <= $3
 ORDER BY stale_at, task_id LIMIT $4`
	return collect(ctx, s, func(row Row) (w engine.Watch, err error) {
		err = row.Scan(s.ScanID(&w.Task), &w.At)
		return w, err
	}, query, int64(behind.At), s.id(behind.Task), int64(until), limit)
}

// CountWatches counts watches of live tasks among the first limit watches; see engine.WatchStore. A finished task keeps
// its watch until its next check. Each task is looked up by its key: a plan that begins with all tasks is always slow.
func (s SQL) CountWatches(ctx context.Context, limit int) (int, error) {
	query := `SELECT count(*) FROM (SELECT task_id FROM tasker_task_watches LIMIT $1) AS w
 WHERE (SELECT t.state FROM tasker_tasks t WHERE t.id = w.task_id) NOT IN (` + settledStates + `)`
	n, err := first(ctx, s, scanInt, query, limit)
	return int(n), err
}

// OverdueTasks implements engine.ReadTasks.
func (s SQL) OverdueTasks(ctx context.Context, until task.Instant, limit int) ([]task.ID, error) {
	const query = `SELECT t.id FROM tasker_tasks t WHERE t.deadline_at > 0 AND t.deadline_at <= $1
 ORDER BY t.deadline_at LIMIT $2`
	return collect(ctx, s, s.scanID, query, int64(until), limit)
}

// Deadlines returns live tasks in the order of their deadlines; see engine.ReadTasks. The settled states are part of
// the text, for the partial index.
func (s SQL) Deadlines(ctx context.Context, until task.Instant, limit int) ([]*task.Task, error) {
	query := `SELECT ` + bareTask +
		` FROM tasker_tasks t WHERE t.deadline_at > 0 AND t.deadline_at <= $1 AND t.state NOT IN (` + settledStates + `)
 ORDER BY t.deadline_at LIMIT $2`
	return collect(ctx, s, s.ScanTask, query, int64(until), limit)
}

// FindTasks returns tasks without their contexts, by ID, without unknown ones; see engine.ReadTasks.
func (s SQL) FindTasks(ctx context.Context, ids []task.ID) ([]*task.Task, error) {
	rows, err := collectByIDs(ctx, s, ids, s.ScanTask, `SELECT `+bareTask+` FROM tasker_tasks t WHERE t.id IN `, ``)
	return inOrder(ids, rows), err
}

// Survey returns the live tasks among the next limit tasks by ID, and the ID at which to continue, zero at the end; see
// engine.ReadTasks. The bound counts settled tasks too, which cost little.
func (s SQL) Survey(ctx context.Context, after, before task.ID, limit int) ([]*task.Task, task.ID, error) {
	// an offset finds the edge without transferring rows
	const edge = `SELECT t.id FROM tasker_tasks t WHERE t.id > $1 AND t.id < $2 ORDER BY t.id LIMIT 1 OFFSET $3`
	stop, err := first(ctx, s, s.scanID, edge, s.id(after), s.id(before), limit-1)
	if err != nil {
		return nil, task.ID{}, err
	}
	// one upper bound: of two, SQLite would use only the first, which may be far away
	end, upTo := `t.id <= $2`, stop
	if stop.IsZero() {
		end, upTo = `t.id < $2`, before
	}
	query := `SELECT ` + bareTask + ` FROM tasker_tasks t WHERE t.id > $1 AND ` + end + ` AND t.state NOT IN (` +
		settledStates + `) ORDER BY t.id`
	live, err := collect(ctx, s, s.ScanTask, query, s.id(after), s.id(upTo))
	return live, stop, err
}

var settledStates = func() string {
	var list []string
	for _, st := range task.States {
		if st.Settled() {
			list = append(list, "'"+string(st)+"'")
		}
	}
	return strings.Join(list, ", ")
}()
