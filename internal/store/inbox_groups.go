package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	groupState = `g.title, g.state, g.state_at, g.resolved_in, g.ignore_until, g.ignore_count, g.ignore_rate,
  g.ignored_from, g.regression, g.regressions, g.resolved_at, g.open_for, g.resolutions, g.opened_at, g.owner,
  g.runbook, g.due_at, g.merged_into, g.version, g.told_at, g.burst_at`
	groupColumns = `g.group_id, g.namespace, g.print_version, g.error_type, g.error_message, g.frame, g.place, g.rule,
  g.rule_version, g.rule_keys, g.first_at, g.notes, ` + groupState
	groupCounts = `, g.last_at, g.failures, g.open_letters, g.open_cases`
)

// Only FoldDeltas writes counts, so an act on a group and a fold never undo each other. An act also ends a planned
// deletion.
var saveGroup = updateOf("tasker_groups", groupState+`, g.purge_at`, "group_id")

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

func groupStateFields(g *deadletter.Group) []any {
	return []any{&g.Title, (*string)(&g.State), &g.StateAt, &g.ResolvedIn, &g.Ignore.Until, &g.Ignore.Count,
		&g.Ignore.PerHour, &g.IgnoredFrom, &g.Regression, &g.Regressions, &g.ResolvedAt, &g.OpenFor, &g.Resolutions,
		&g.OpenedAt, &g.Owner, &g.Runbook, &g.DueAt, (*int64)(&g.MergedInto), &g.Version, &g.ToldAt, &g.BurstAt}
}

func groupFields(g *deadletter.Group) []any {
	return append([]any{(*int64)(&g.ID), &g.Namespace, &g.Print.Version, &g.Print.Type, &g.Print.Message, &g.Print.Frame,
		&g.Print.Where, &g.Print.Rule, &g.Print.RuleVersion, &g.Print.RuleKeys, &g.FirstAt, &g.Notes},
		groupStateFields(g)...)
}

func countedFields(g *deadletter.Group) []any {
	return append(groupFields(g), &g.LastAt, &g.Failures, &g.OpenLetters, &g.OpenCases)
}

// groups returns groups without unfolded deltas.
var groups = record[deadletter.Group]{"tasker_groups g", groupColumns + groupCounts, countedFields}

// It locks nothing: any number of transactions may add deltas for one group together.
func (letterRows) AddDeltas(ctx context.Context, tx engine.Tx, deltas []deadletter.Delta) error {
	return insertDeltas.add(ctx, In(tx), len(deltas), func(i int) []any { return deltaFields(&deltas[i]) })
}

// Group returns a locked group, or nil, with the deltas that the transaction sees.
func (letterRows) Group(ctx context.Context, tx engine.Tx, id deadletter.GroupID) (*deadletter.Group, error) {
	groups, err := letterRows{}.Groups(ctx, tx, []deadletter.GroupID{id})
	return groups[id], err
}

func (letterRows) Groups(ctx context.Context, tx engine.Tx, ids []deadletter.GroupID) (
	map[deadletter.GroupID]*deadletter.Group, error,
) {
	s := In(tx)
	found := map[deadletter.GroupID]*deadletter.Group{}
	return found, inParts(slices.Sorted(slices.Values(ids)), groupID, nil, func(in string, args []any) error {
		list, err := groups.list(ctx, s, ` WHERE g.group_id IN `+in+` ORDER BY g.group_id`+s.Lock, args...)
		for _, g := range list {
			found[g.ID] = g
		}
		if err != nil {
			return err
		}
		return s.addPending(ctx, list, found)
	})
}

// addPending adds unfolded deltas to the counts of groups. The lock on a group, which a fold needs too, prevents a fold
// between the two reads.
func (s SQL) addPending(ctx context.Context, groups []*deadletter.Group,
	byID map[deadletter.GroupID]*deadletter.Group,
) error {
	return inParts(groups, groupOf, nil, func(in string, args []any) error {
		deltas, err := collect(ctx, s, s.scanDelta, `SELECT group_id, CAST(sum(failures) AS bigint),
  CAST(sum(open_letters) AS bigint), CAST(sum(open_cases) AS bigint), max(at) FROM tasker_group_deltas
 WHERE group_id IN `+in+` GROUP BY group_id`, args...)
		for _, d := range deltas {
			g := byID[d.Group]
			g.Failures, g.OpenLetters, g.OpenCases = g.Failures+d.Failures, g.OpenLetters+d.OpenLetters,
				g.OpenCases+d.OpenCases
			g.LastAt = max(g.LastAt, d.At)
		}
		return err
	})
}

func deltaFields(d *deadletter.Delta) []any {
	return []any{(*int64)(&d.Group), &d.Failures, &d.OpenLetters, &d.OpenCases, &d.At}
}

func (s SQL) scanDelta(row Row) (d deadletter.Delta, err error) {
	err = s.read(row, deltaFields(&d)...)
	return d, err
}

func groupID(id deadletter.GroupID) any { return int64(id) }

func groupOf(g *deadletter.Group) any { return int64(g.ID) }

func (letterRows) SaveGroup(ctx context.Context, tx engine.Tx, g *deadletter.Group) error {
	return In(tx).update(ctx, saveGroup, (*int64)(&g.ID), append(groupStateFields(g), 0))
}

// The row of the group numbers the notes.
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

const microsPerHour = 3_600_000_000

// hoursKept is how long failures are kept by the hour, in microseconds: 14 days are shown.
const hoursKept = 15 * 24 * microsPerHour

// It deletes the rows that it has read, by key, and does not block inserts. Only one process folds at a time, by the
// turn of its loop.
func (letterRows) FoldDeltas(ctx context.Context, tx engine.Tx, limit int) ([]deadletter.Delta, bool, error) {
	s := In(tx)
	const take = `DELETE FROM tasker_group_deltas WHERE id IN (SELECT id FROM tasker_group_deltas ORDER BY id LIMIT $1)
 RETURNING group_id, failures, open_letters, open_cases, at`
	deltas, err := collect(ctx, s, s.scanDelta, take, limit)
	if err != nil || len(deltas) == 0 {
		return nil, false, err
	}
	sums, hours := sumDeltas(deltas)
	if err := s.count(ctx, sums, hours); err != nil {
		return nil, false, err
	}
	return sums, len(deltas) == limit, nil
}

func (s SQL) count(ctx context.Context, sums, hours []deadletter.Delta) error {
	if s.Lock != "" { // one UPDATE of many rows takes them in any order
		of := func(d deadletter.Delta) any { return int64(d.Group) }
		if err := inParts(sums, of, nil, func(in string, args []any) error {
			return s.Send(ctx, `SELECT 1 FROM tasker_groups WHERE group_id IN `+in+` ORDER BY group_id`+s.Lock, args...)
		}); err != nil {
			return err
		}
	}
	if err := countGroups.add(ctx, s, len(sums), func(i int) []any { return deltaFields(&sums[i]) }); err != nil {
		return err
	}
	if err := s.countHours(ctx, hours); err != nil {
		return err
	}
	return dropHours.add(ctx, s, len(sums), func(i int) []any {
		return []any{(*int64)(&sums[i].Group), int64(sums[i].At) - hoursKept}
	})
}

func (s SQL) countHours(ctx context.Context, hours []deadletter.Delta) error {
	return countHours.add(ctx, s, len(hours), func(i int) []any {
		return []any{(*int64)(&hours[i].Group), &hours[i].At, &hours[i].Failures}
	})
}

// sumDeltas adds up deltas by group, and failures by group and hour, in the order of locks.
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

const nothingLeft = `g.merged_into = 0 AND g.fresh = 0
  AND NOT EXISTS (SELECT 1 FROM tasker_letters l WHERE l.group_id = g.group_id)
  AND NOT EXISTS (SELECT 1 FROM tasker_tasks_dlq c WHERE c.group_id = g.group_id AND c.group_id IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM tasker_groups m WHERE m.merged_into = g.group_id AND m.merged_into <> 0)
  AND NOT EXISTS (SELECT 1 FROM tasker_group_moves v WHERE v.group_id = g.group_id)
  AND NOT EXISTS (SELECT 1 FROM tasker_group_deltas d WHERE d.group_id = g.group_id)`

func (s letterRows) EmptyGroups(ctx context.Context, now, failed task.Instant, behind deadletter.GroupID, limit int) (
	[]deadletter.GroupID, error,
) {
	return collect(ctx, s, scanGroupID, `SELECT g.group_id FROM tasker_groups g WHERE g.last_at <= $1
  AND g.group_id > $2 AND g.purge_at <= $3 AND `+nothingLeft+` ORDER BY g.group_id LIMIT $4`, int64(failed),
		int64(behind), int64(now), limit)
}

// It locks them first, so that the following statements see earlier changes of others.
func (letterRows) PurgeGroups(ctx context.Context, tx engine.Tx, ids []deadletter.GroupID, now,
	next task.Instant,
) (n int, err error) {
	s := In(tx)
	w := where{}
	w.add("g.group_id IN " + list(&w, ids, groupID))
	if _, err := collect(ctx, s, scanInt, `SELECT g.group_id FROM tasker_groups g`+w.text()+` ORDER BY g.group_id`+s.Lock,
		w.args...); err != nil {
		return 0, err
	}
	ended := where{terms: slices.Clone(w.terms), args: slices.Clone(w.args)}
	ended.add("g.purge_at <> 0")
	ended.add("g.purge_at <= ?", int64(now))
	ended.add(nothingLeft)
	gone, err := collect(ctx, s, scanGroupID, `DELETE FROM tasker_groups AS g`+ended.text()+` RETURNING group_id`,
		ended.args...)
	if err != nil {
		return 0, err
	}
	w.add("g.purge_at = 0")
	at := w.arg(int64(next))
	if err := s.Send(ctx, `UPDATE tasker_groups AS g SET purge_at = `+at+w.text(), w.args...); err != nil {
		return 0, err
	}
	if len(gone) == 0 {
		return 0, nil
	}
	of := where{}
	of.add("group_id IN " + list(&of, gone, groupID))
	for _, table := range []string{"tasker_group_notes", "tasker_group_hours"} {
		if err := s.Send(ctx, `DELETE FROM `+table+of.text(), of.args...); err != nil {
			return 0, err
		}
	}
	return len(gone), nil
}
