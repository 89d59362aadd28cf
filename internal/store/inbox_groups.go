package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

const (
	groupFields = `g.group_id, g.namespace, g.print_version, g.error_type, g.error_message, g.frame, g.place, g.rule,
  g.title, g.state, g.state_at, g.resolved_in, g.ignore_until, g.ignore_count, g.ignore_rate, g.ignored_from,
  g.regression, g.regressions, g.resolved_at, g.open_for, g.resolutions, g.opened_at, g.owner, g.runbook, g.due_at,
  g.merged_into, g.told_at, g.burst_at, g.first_at, g.notes, g.version, g.rule_version, g.rule_keys`
	groupCounts = `, g.last_at, g.failures, g.open_letters, g.open_cases`
)

var (
	countGroups = bulkOf(`UPDATE tasker_groups SET failures = failures + v.column2,
  open_letters = open_letters + v.column3, open_cases = open_cases + v.column4,
  last_at = CASE WHEN last_at < v.column5 THEN v.column5 ELSE last_at END FROM (`, "nnnnn", `) AS v
 WHERE group_id = v.column1`)
	countHours = bulkOf(`INSERT INTO tasker_group_hours (group_id, at, failures)`, "nnn", ` ON CONFLICT (group_id, at)
  DO UPDATE SET failures = tasker_group_hours.failures + excluded.failures`)
	dropHours = bulkOf(`DELETE FROM tasker_group_hours WHERE (group_id, at) IN (SELECT h.group_id, h.at FROM (`, "nn",
		`) AS v JOIN tasker_group_hours h ON h.group_id = v.column1 AND h.at < v.column2)`)
	insertDeltas = bulkOf(`INSERT INTO tasker_group_deltas (group_id, failures, open_letters, open_cases, at)`, "nnnnn", ``)
)

// scanGroup reads groupFields and groupCounts, or counted in place of the latter.
func scanGroup(row Row) (*deadletter.Group, error) {
	g := &deadletter.Group{}
	var id, merged, regression int64
	err := row.Scan(&id, (*Text)(&g.Namespace), &g.Print.Version, (*Text)(&g.Print.Type), (*Text)(&g.Print.Message),
		(*Text)(&g.Print.Frame), (*Text)(&g.Print.Where), (*Text)(&g.Print.Rule), (*Text)(&g.Title), (*Text)(&g.State),
		&g.StateAt, (*Text)(&g.ResolvedIn), &g.Ignore.Until, &g.Ignore.Count, &g.Ignore.PerHour, &g.IgnoredFrom,
		&regression, &g.Regressions, &g.ResolvedAt, &g.OpenFor, &g.Resolutions, &g.OpenedAt, (*Text)(&g.Owner),
		(*Text)(&g.Runbook), &g.DueAt, &merged, &g.ToldAt, &g.BurstAt, &g.FirstAt, &g.Notes, &g.Version,
		&g.Print.RuleVersion, (*Text)(&g.Print.RuleKeys), &g.LastAt, &g.Failures, &g.OpenLetters, &g.OpenCases)
	g.ID, g.MergedInto, g.Regression = deadletter.GroupID(id), deadletter.GroupID(merged), regression != 0
	return g, err
}

// It locks nothing: any number of transactions may add deltas for one group at once.
func (letterRows) AddDeltas(ctx context.Context, tx engine.Tx, deltas []deadletter.Delta) error {
	rows := make([][]any, len(deltas))
	for i, d := range deltas {
		rows[i] = []any{int64(d.Group), d.Failures, d.OpenLetters, d.OpenCases, int64(d.At)}
	}
	return insertDeltas.send(ctx, In(tx), rows)
}

// Group returns a group, locked, or nil. Its counts include the deltas that the transaction sees.
func (letterRows) Group(ctx context.Context, tx engine.Tx, id deadletter.GroupID) (*deadletter.Group, error) {
	groups, err := letterRows{}.Groups(ctx, tx, []deadletter.GroupID{id})
	return groups[id], err
}

func (letterRows) Groups(ctx context.Context, tx engine.Tx, ids []deadletter.GroupID) (
	map[deadletter.GroupID]*deadletter.Group, error,
) {
	s := In(tx)
	found := map[deadletter.GroupID]*deadletter.Group{}
	for part := range slices.Chunk(slices.Sorted(slices.Values(ids)), fetched) {
		w := where{}
		groups, err := collect(ctx, s, scanGroup, `SELECT `+groupFields+groupCounts+` FROM tasker_groups g
 WHERE g.group_id IN `+list(&w, part, func(id deadletter.GroupID) any { return int64(id) })+
			` ORDER BY g.group_id`+s.Lock, w.args...)
		if err == nil {
			err = s.addPending(ctx, groups...)
		}
		if err != nil {
			return nil, err
		}
		for _, g := range groups {
			found[g.ID] = g
		}
	}
	return found, nil
}

// addPending adds the deltas that are not folded yet to the counts of groups.
// A fold between the two reads would be missed; the lock on the group, which a fold needs too, prevents it.
func (s SQL) addPending(ctx context.Context, groups ...*deadletter.Group) error {
	for part := range slices.Chunk(groups, fetched) {
		w, byID := where{}, map[int64]*deadletter.Group{}
		for _, g := range part {
			byID[int64(g.ID)] = g
		}
		query := `SELECT group_id, CAST(sum(failures) AS bigint), CAST(sum(open_letters) AS bigint),
  CAST(sum(open_cases) AS bigint), max(at) FROM tasker_group_deltas WHERE group_id IN ` +
			list(&w, part, func(g *deadletter.Group) any { return int64(g.ID) }) + ` GROUP BY group_id`
		deltas, err := collect(ctx, s, scanDelta, query, w.args...)
		if err != nil {
			return err
		}
		for _, d := range deltas {
			g := byID[int64(d.Group)]
			g.Failures, g.OpenLetters, g.OpenCases = g.Failures+d.Failures, g.OpenLetters+d.OpenLetters,
				g.OpenCases+d.OpenCases
			g.LastAt = max(g.LastAt, d.At)
		}
	}
	return nil
}

// scanDelta reads a group, the three sums and a time.
func scanDelta(row Row) (d deadletter.Delta, err error) {
	var group int64
	err = row.Scan(&group, &d.Failures, &d.OpenLetters, &d.OpenCases, &d.At)
	d.Group = deadletter.GroupID(group)
	return d, err
}

// Counts have only one writer, FoldDeltas; so an act on a group and a fold never undo each other. A group that somebody
// acts on is not about to be deleted.
func (letterRows) SaveGroup(ctx context.Context, tx engine.Tx, g *deadletter.Group) error {
	const query = `UPDATE tasker_groups SET title = $2, state = $3, state_at = $4, resolved_in = $5, ignore_until = $6,
  ignore_count = $7, ignore_rate = $8, ignored_from = $9, regression = $10, regressions = $11, resolved_at = $12,
  open_for = $13, resolutions = $14, opened_at = $15, owner = $16, runbook = $17, due_at = $18, merged_into = $19,
  version = $20, told_at = $21, burst_at = $22, purge_at = 0 WHERE group_id = $1`
	return In(tx).Send(ctx, query, int64(g.ID), clean(g.Title), string(g.State), int64(g.StateAt), clean(g.ResolvedIn),
		int64(g.Ignore.Until), g.Ignore.Count, g.Ignore.PerHour, g.IgnoredFrom, flag(g.Regression), g.Regressions,
		int64(g.ResolvedAt), g.OpenFor, g.Resolutions, int64(g.OpenedAt), clean(g.Owner), clean(g.Runbook),
		int64(g.DueAt), int64(g.MergedInto), g.Version, int64(g.ToldAt), int64(g.BurstAt))
}

// The row of the group gives out the numbers.
func (letterRows) AddGroupNotes(ctx context.Context, tx engine.Tx, notes []deadletter.Note) error {
	s := In(tx)
	const (
		count = `UPDATE tasker_groups SET notes = notes + 1 WHERE group_id = $1`
		add   = `INSERT INTO tasker_group_notes (group_id, no, at, author, author_key, kind, body)
 SELECT group_id, notes, CAST($2 AS bigint), CAST($3 AS text), CAST($4 AS text), CAST($5 AS text), CAST($6 AS text)
  FROM tasker_groups WHERE group_id = $1`
	)
	sorted := slices.SortedStableFunc(slices.Values(notes), func(a, b deadletter.Note) int {
		return cmp.Compare(a.Group, b.Group)
	})
	for _, n := range sorted {
		if err := s.Send(ctx, count, int64(n.Group)); err != nil {
			return err
		}
		if err := s.Send(ctx, add, int64(n.Group), int64(n.At), clean(n.Author), clean(n.Key), n.Kind,
			clean(n.Text)); err != nil {
			return err
		}
	}
	return nil
}

// microsPerHour is an hour in the unit of task.Instant.
const microsPerHour = 3_600_000_000

// hoursKept is how long the failures of an hour are kept, in microseconds: 14 days are shown.
const hoursKept = 15 * 24 * microsPerHour

// It deletes the rows that it has seen, by their keys: rows that are being added are in nobody's way, and are found the
// next time. It returns the sums by group, and whether there may be more. Only one process folds at a time, which the
// turn of its loop ensures; two would only wait for each other.
func (letterRows) FoldDeltas(ctx context.Context, tx engine.Tx, limit int) ([]deadletter.Delta, bool, error) {
	s := In(tx)
	const take = `DELETE FROM tasker_group_deltas WHERE id IN (SELECT id FROM tasker_group_deltas ORDER BY id LIMIT $1)
 RETURNING group_id, failures, open_letters, open_cases, at`
	deltas, err := collect(ctx, s, scanDelta, take, limit)
	if err != nil || len(deltas) == 0 {
		return nil, false, err
	}
	sums, hours := sumDeltas(deltas)
	if err := s.count(ctx, sums, hours); err != nil {
		return nil, false, err
	}
	return sums, len(deltas) == limit, nil
}

// count adds sums to the counts of groups, and failures to their hours.
func (s SQL) count(ctx context.Context, sums, hours []deadletter.Delta) error {
	ids, counts, old := make([]deadletter.GroupID, len(sums)), make([][]any, len(sums)), make([][]any, len(sums))
	for i, d := range sums {
		ids[i] = d.Group
		counts[i] = []any{int64(d.Group), d.Failures, d.OpenLetters, d.OpenCases, int64(d.At)}
		old[i] = []any{int64(d.Group), int64(d.At) - hoursKept}
	}
	if s.Lock != "" { // one UPDATE of many rows takes them in any order
		for part := range slices.Chunk(ids, fetched) {
			w := where{}
			query := `SELECT 1 FROM tasker_groups WHERE group_id IN ` +
				list(&w, part, func(id deadletter.GroupID) any { return int64(id) }) + ` ORDER BY group_id` + s.Lock
			if err := s.Send(ctx, query, w.args...); err != nil {
				return err
			}
		}
	}
	if err := countGroups.send(ctx, s, counts); err != nil {
		return err
	}
	if err := countHours.send(ctx, s, hourRows(hours)); err != nil {
		return err
	}
	return dropHours.send(ctx, s, old)
}

func hourRows(hours []deadletter.Delta) [][]any {
	rows := make([][]any, len(hours))
	for i, h := range hours {
		rows[i] = []any{int64(h.Group), int64(h.At), h.Failures}
	}
	return rows
}

// sumDeltas adds deltas up: by group, and their failures by group and hour; both in the order of the groups.
// The order is that of the locks that FoldDeltas takes.
func sumDeltas(deltas []deadletter.Delta) (sums, hours []deadletter.Delta) {
	type hourOf struct {
		group deadletter.GroupID
		at    task.Instant
	}
	byGroup, byHour := map[deadletter.GroupID]deadletter.Delta{}, map[hourOf]int64{}
	for _, d := range deltas {
		sum := byGroup[d.Group]
		byGroup[d.Group] = deadletter.Delta{Group: d.Group, Failures: sum.Failures + d.Failures,
			OpenLetters: sum.OpenLetters + d.OpenLetters, OpenCases: sum.OpenCases + d.OpenCases, At: max(sum.At, d.At)}
		if d.Failures != 0 {
			byHour[hourOf{d.Group, d.At - d.At%microsPerHour}] += d.Failures
		}
	}
	for _, d := range byGroup {
		sums = append(sums, d)
	}
	for h, n := range byHour {
		hours = append(hours, deadletter.Delta{Group: h.group, At: h.at, Failures: n})
	}
	order := func(a, b deadletter.Delta) int { return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.At, b.At)) }
	slices.SortFunc(sums, order)
	slices.SortFunc(hours, order)
	return sums, hours
}
