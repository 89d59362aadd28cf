package store

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Indexes with all columns of the filter decide the rows of a page of cases; only these rows are read.

// soughtDefs is a condition on many templates for an index that begins with the template: each template is one range.
func soughtDefs(n int) string { return "c.def_id IN (" + marks(n) + ")" }

// filteredDefs is for a walk along another index: PostgreSQL looks each row up in a table that it builds once. "IS
// TRUE" keeps the planner from using the list as the leading condition. SQLite accepts the same text.
func filteredDefs(n int) string {
	return "(c.def_id IN (VALUES " + strings.TrimSuffix(strings.Repeat("(CAST(? AS bigint)), ", n), ", ") + ")) IS TRUE"
}

// caseTerms adds a filter's conditions, on the alias c; false: nothing can match. ofDefs writes the condition on
// templates: soughtDefs where an index begins with the template, else filteredDefs. InError overrides the state.
func (s SQL) caseTerms(ctx context.Context, w *where, f engine.CaseFilter, ofDefs func(n int) string) (bool, error) {
	defs, restricted, err := s.definitions(ctx, engine.TaskFilter{Namespace: f.Namespace, Name: f.TaskName})
	if err != nil || restricted && len(defs) == 0 {
		return false, err
	}
	if len(f.IDs) > 0 {
		ids := make([]any, len(f.IDs))
		for i, id := range f.IDs {
			ids[i] = s.id(id)
		}
		w.add("c.dlq_entry_uuid IN ("+marks(len(ids))+")", ids...)
	}
	w.addIf(f.Status != "", "c.resolution_status = ?", string(f.Status))
	w.addIf(f.Reason != "", "c.dlq_reason = ?", string(f.Reason))
	if restricted {
		w.add(ofDefs(len(defs)), anys(defs)...)
	}
	w.addIf(f.After != 0, "c.dlq_timestamp >= ?", int64(f.After))
	w.addIf(f.Before != 0, "c.dlq_timestamp < ?", int64(f.Before))
	w.addIf(f.Fingerprint != "", "c.error_pattern = ?", f.Fingerprint)
	if f.Retryable != nil {
		w.add("c.retryable = ?", flag(*f.Retryable))
	}
	w.addIf(!f.Below.IsZero(), "c.dlq_entry_uuid < ?", s.id(f.Below))
	if f.InError {
		f.State = task.Errored
	}
	if f.State != "" { // checked for each case that passed, never turned into a join
		w.add("(SELECT t.state FROM tasker_tasks t WHERE t.id = c.task_uuid) = ?", string(f.State))
	}
	return true, nil
}

// ListCases returns a page, newest first; see engine.CaseReader. It finds the IDs in an index before it reads the rows:
// a sort must not carry the snapshots beside them.
func (s SQL) ListCases(ctx context.Context, f engine.CaseFilter) ([]*task.Case, error) {
	w := where{}
	// The reason gets another condition below, so caseTerms must not add it.
	reason := f.Reason
	f.Reason = ""
	if ok, err := s.caseTerms(ctx, &w, f, filteredDefs); err != nil || !ok {
		return nil, err
	}
	// The form keeps the planner from an index on the reason, which would need a sort; the indexes of pages are in
	// order and contain the reason too.
	w.addIf(reason != "", "coalesce(c.dlq_reason, '') = ?", string(reason))
	// the time in an ID is only near that of its case
	w.addIf(f.After != 0, "c.dlq_entry_uuid >= ?", s.id(task.MakeID(task.SeqFloor(f.After.Time().Add(-clockSlack)), 0)))
	w.addIf(f.Before != 0, "c.dlq_entry_uuid < ?", s.id(task.MakeID(task.SeqFloor(f.Before.Time().Add(clockSlack)), 0)))
	from := `tasker_tasks_dlq c`
	if asksForFailure(f) {
		from = failureWindow(&w)
		w = where{args: w.args}
		if ok, err := s.failureTerms(ctx, &w, f); err != nil || !ok {
			return nil, err
		}
	}
	query := `SELECT c.dlq_entry_uuid FROM ` + from + w.text() + ` ORDER BY c.dlq_entry_uuid DESC LIMIT ` +
		w.arg(f.Limit) + ` OFFSET ` + w.arg(f.Offset)
	ids, err := collect(ctx, s, s.scanID, query, w.args...)
	if err != nil {
		return nil, err
	}
	if len(f.IDs) > 0 { // an ID that only resembles a stored one does not exist
		ids = slices.DeleteFunc(ids, func(id task.ID) bool { return !slices.Contains(f.IDs, id) })
	}
	return s.fetchCases(ctx, ids, f.Bytes)
}

// fetchCases returns cases in the order of the IDs, with up to bytes of metadata. It skips a case deleted between the
// two queries, so a page may be short.
func (s SQL) fetchCases(ctx context.Context, ids []task.ID, bytes int) ([]*task.Case, error) {
	place := make(map[task.ID]int, len(ids))
	for i, id := range ids {
		place[id] = i
	}
	cases, err := collectByIDs(ctx, s, ids, s.scanListed,
		`SELECT `+listedCase+` FROM tasker_tasks_dlq c WHERE c.dlq_entry_uuid IN `, ``)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(cases, func(a, b *task.Case) int { return place[a.ID] - place[b.ID] })
	page := make([]documentOf, len(cases))
	for i, c := range cases {
		page[i] = documentOf{s.id(c.ID), &c.Metadata, &c.MetadataOmitted}
	}
	return cases, s.addLarge(ctx, `SELECT c.metadata FROM tasker_tasks_dlq c WHERE c.dlq_entry_uuid = $1`, page, bytes)
}

// UrgentCases returns a page of pending cases, most urgent first; see engine.CaseReader. Urgency is the age plus a head
// start by reason. All ages grow equally, so the order is the time of opening minus the head start, which does not
// change.
func (s SQL) UrgentCases(ctx context.Context, f engine.CaseFilter, bases settings.PriorityBases) ([]*task.Case, error) {
	// A constant below replaces this condition, as the partial index requires.
	f.Status = ""
	base := where{}
	if ok, err := s.caseTerms(ctx, &base, f, filteredDefs); err != nil || !ok {
		return nil, err
	}
	w := where{args: base.args}
	// A page needs at most this number of cases of each reason.
	looked, among := f.Offset+f.Limit, ` q`
	if asksForFailure(f) {
		looked, among = engine.CaseWindow, ` q JOIN tasker_tasks_dlq c ON c.dlq_entry_uuid = q.dlq_entry_uuid`
		if ok, err := s.failureTerms(ctx, &w, f); err != nil || !ok {
			return nil, err
		}
		among += w.text()
	}
	most := w.arg(looked)
	terms := append([]string{"c.resolution_status = 'pending'"}, base.terms...)
	var parts []string
	for _, r := range task.CaseReasons {
		if f.Reason != "" && f.Reason != r {
			continue
		}
		// each reason is one walk along the index of urgency, for a full page
		of := strings.Join(append(terms, "c.dlq_reason = '"+string(r)+"'"), " AND ")
		parts = append(parts, `SELECT q.dlq_entry_uuid, q.urgency FROM (SELECT c.dlq_entry_uuid, c.dlq_timestamp - `+
			w.arg(bases.Headstart(r).Microseconds())+` AS urgency
 FROM tasker_tasks_dlq c WHERE `+of+` ORDER BY c.dlq_timestamp, c.dlq_entry_uuid LIMIT `+most+`)`+among)
	}
	if len(parts) == 0 {
		return nil, nil
	}
	query := `SELECT dlq_entry_uuid FROM (` + strings.Join(parts, ` UNION ALL `) +
		`) AS u ORDER BY urgency, dlq_entry_uuid LIMIT ` + w.arg(f.Limit) + ` OFFSET ` + w.arg(f.Offset)
	ids, err := collect(ctx, s, s.scanID, query, w.args...)
	if err != nil {
		return nil, err
	}
	return s.fetchCases(ctx, ids, f.Bytes)
}

// SizeOf counts cases up to a limit, where it stops; see engine.CaseCounter.
func (s SQL) SizeOf(ctx context.Context, f engine.CaseFilter, limit int) (int, error) {
	w := where{}
	if ok, err := s.caseTerms(ctx, &w, f, soughtDefs); err != nil || !ok {
		return 0, err
	}
	from := `tasker_tasks_dlq c`
	if asksForFailure(f) {
		from = failureWindow(&w)
		w = where{args: w.args}
		if ok, err := s.failureTerms(ctx, &w, f); err != nil || !ok {
			return 0, err
		}
	}
	n, err := first(ctx, s, scanInt, `SELECT count(*) FROM (SELECT 1 FROM `+from+w.text()+` LIMIT `+w.arg(limit)+`) AS q`,
		w.args...)
	return int(n), err
}

// CountFailures counts cases by kind, the most frequent kinds first, up to limit; see engine.CaseCounter. since bounds
// the opening of the cases.
func (s SQL) CountFailures(ctx context.Context, since task.Instant, byFingerprint bool,
	limit int,
) ([]engine.FailureCount, error) {
	pattern := `''`
	if byFingerprint {
		pattern = `coalesce(c.error_pattern, '')`
	}
	// only candidates are checked for a task in error
	query := `SELECT d.namespace, c.dlq_reason, ` + pattern + ` AS pattern, count(*) AS cases,
 CAST(sum(CASE WHEN c.retryable = 0 OR c.resolution_status <> 'pending' THEN 0
  WHEN (SELECT t.state FROM tasker_tasks t WHERE t.id = c.task_uuid) = 'error' THEN 1 ELSE 0 END) AS bigint),
  CAST(min(c.dlq_timestamp) AS bigint), CAST(max(c.dlq_timestamp) AS bigint)
 FROM tasker_tasks_dlq c JOIN tasker_templates d ON d.def_id = c.def_id WHERE c.dlq_timestamp >= $1
 GROUP BY d.namespace, c.dlq_reason, pattern ORDER BY cases DESC, d.namespace, c.dlq_reason, pattern LIMIT $2`
	list, err := collect(ctx, s, func(row Row) (p engine.FailureCount, err error) {
		err = row.Scan((*Text)(&p.Namespace), (*Text)(&p.Reason), (*Text)(&p.Fingerprint), &p.Cases, &p.Replayable, &p.First,
			&p.Last)
		return p, err
	}, query, int64(since), limit)
	slices.SortStableFunc(list, func(a, b engine.FailureCount) int { // a database may sort names by its locale
		return cmp.Or(cmp.Compare(b.Cases, a.Cases), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Reason, b.Reason),
			cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	return list, err
}

// CountCases counts cases by reason and resolution, without empty pairs. OpenFor is the sum over resolved cases, in
// microseconds.
func (s SQL) CountCases(ctx context.Context, f engine.CaseFilter) ([]engine.CaseCount, error) {
	w := where{}
	if ok, err := s.caseTerms(ctx, &w, f, soughtDefs); err != nil || !ok {
		return nil, err
	}
	// Every case has a reason and a resolution: naming all of them allows the index of counts, which begins with both.
	if w.terms != nil && f.Reason == "" {
		w.add("c.dlq_reason IN ("+marks(len(task.CaseReasons))+")", anys(texts(task.CaseReasons))...)
	}
	if w.terms != nil && f.Status == "" {
		w.add("c.resolution_status IN ("+marks(len(task.Resolutions))+")", anys(texts(task.Resolutions))...)
	}
	query :=
		`SELECT c.dlq_reason, c.resolution_status, count(*), CAST(min(c.dlq_timestamp) AS bigint),
  CAST(max(c.dlq_timestamp) AS bigint), CAST(sum(CASE WHEN c.resolved_at <> 0 THEN c.resolved_at - c.dlq_timestamp
  ELSE 0 END) AS bigint)
 FROM tasker_tasks_dlq c` + w.text() + ` GROUP BY c.dlq_reason, c.resolution_status
  ORDER BY c.dlq_reason, c.resolution_status`
	return collect(ctx, s, func(row Row) (n engine.CaseCount, err error) {
		err = row.Scan((*Text)(&n.Reason), (*Text)(&n.Status), &n.Cases, &n.Oldest, &n.Newest, &n.OpenFor)
		return n, err
	}, query, w.args...)
}
