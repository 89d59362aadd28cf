package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
)

// newGroups is an insert of groups, each with counts. A group that is to be deleted stays, and gets the counts added.
// One that is being counted must not be waited for: ON CONFLICT alone waits until the row is settled.
//
// A new group takes over what was decided about the group before it (see deadletter.Group.Before), in the same
// statement: whoever fails does not read groups. What is ignored stays ignored, with what is left of its bounds.
// Nobody is told that such a group is new, unless nobody has decided anything.
const (
	newGroups = `INSERT INTO tasker_groups (group_id, namespace, print_version, error_type, error_message,
  frame, place, rule, title, state, state_at, resolved_in, ignore_until, ignore_count, ignore_rate, ignored_from,
  regression, regressions, resolved_at, open_for, resolutions, opened_at, owner, runbook, due_at, merged_into, first_at,
  notes, version, rule_version, rule_keys, last_at, failures, open_letters, open_cases, fresh, told_at)
 SELECT v.column1, v.column2, v.column3, v.column4, v.column5, v.column6, v.column7, v.column8, v.column9,
  coalesce(o.state, v.column10), coalesce(o.state_at, v.column11), coalesce(o.resolved_in, v.column12),
  coalesce(o.ignore_until, v.column13), coalesce(o.ignore_count, v.column14), coalesce(o.ignore_rate, v.column15),
  coalesce(CASE WHEN o.state = 'ignored' THEN o.ignored_from - o.failures - (SELECT coalesce(sum(m.failures), 0)
   FROM tasker_groups m WHERE m.merged_into = o.group_id AND m.merged_into <> 0) END, v.column16),
  v.column17, v.column18, coalesce(o.resolved_at, v.column19), v.column20, v.column21, v.column22,
  coalesce(o.owner, v.column23), coalesce(o.runbook, v.column24), coalesce(o.due_at, v.column25),
  coalesce(o.merged_into, v.column26), v.column27, v.column28, v.column29, v.column30, v.column31, v.column32,
  v.column33, v.column34, v.column35, v.column36,
  CASE WHEN o.state <> 'open' OR o.owner <> '' OR o.merged_into <> 0 THEN v.column11 ELSE 0 END FROM (`
	newGroupTypes = "ntntt" + "tttttntnnnn" + "nnnnnnttnnn" + "nnntnnnnn" + "n"
	keptGroups    = `) AS v LEFT JOIN tasker_groups o ON o.group_id = v.column37 AND o.purge_at = 0
 WHERE NOT EXISTS (SELECT 1 FROM tasker_groups g WHERE g.group_id = v.column1 AND g.purge_at = 0)
 ON CONFLICT (group_id) DO UPDATE SET purge_at = 0, failures = tasker_groups.failures + excluded.failures,
  open_letters = tasker_groups.open_letters + excluded.open_letters,
  open_cases = tasker_groups.open_cases + excluded.open_cases, fresh = excluded.fresh,
  last_at = CASE WHEN excluded.failures > 0 THEN excluded.last_at ELSE tasker_groups.last_at END
  WHERE tasker_groups.purge_at <> 0`
)

var (
	insertGroups  = bulkOf(newGroups, newGroupTypes, keptGroups)
	insertCounted = bulkOf(newGroups, newGroupTypes, keptGroups+` RETURNING group_id`)
)

// It inserts them in the order of their IDs, so that two transactions with the same ones do not wait for each other in
// a circle. A group that exists stays as it is. Whether it was new is not asked for here: folding its deltas shows
// that.
func (letterRows) AddGroups(ctx context.Context, tx engine.Tx, groups []*deadletter.Group) error {
	if len(groups) >= fewRows { // to look is cheaper than to insert in vain
		var err error
		if groups, err = In(tx).unknownGroups(ctx, groups); err != nil {
			return err
		}
	}
	return insertGroups.send(ctx, In(tx), groupRows(groups, nil))
}

// AddTally stores what a transaction adds to the inbox; see engine.GroupRows. A new group is stored with its counts:
// nobody else can count in it before the transaction ends. So a burst of failures that are all different leaves no
// deltas, which every answer would have to add up. The changes of all others are deltas.
func (s letterRows) AddTally(ctx context.Context, tx engine.Tx, t *deadletter.Tally) error {
	groups, deltas := t.Groups(), t.Deltas()
	if len(groups) < fewRows { // the few of a single failure are not worth an answer of the database
		if err := s.AddGroups(ctx, tx, groups); err != nil {
			return err
		}
		return s.AddDeltas(ctx, tx, deltas)
	}
	counted, err := In(tx).addCounted(ctx, groups, deltas)
	if err != nil {
		return err
	}
	deltas = slices.DeleteFunc(deltas, func(d deadletter.Delta) bool { return counted[d.Group] })
	return s.AddDeltas(ctx, tx, deltas)
}

// addCounted stores new groups with their counts, and returns which those are.
func (s SQL) addCounted(ctx context.Context, groups []*deadletter.Group, deltas []deadletter.Delta) (
	map[deadletter.GroupID]bool, error,
) {
	groups, err := s.unknownGroups(ctx, groups)
	if err != nil || len(groups) == 0 {
		return nil, err
	}
	counts, added := map[deadletter.GroupID]deadletter.Delta{}, map[deadletter.GroupID]bool{}
	for _, d := range deltas {
		counts[d.Group] = d
	}
	if err := insertCounted.run(s.Dialect, groupRows(groups, counts), func(query string, args []any) error {
		ids, err := collect(ctx, s, scanInt, query, args...)
		for _, id := range ids {
			added[deadletter.GroupID(id)] = true
		}
		return err
	}); err != nil {
		return nil, err
	}
	_, hours := sumDeltas(slices.DeleteFunc(slices.Clone(deltas),
		func(d deadletter.Delta) bool { return !added[d.Group] }))
	return added, countHours.send(ctx, s, hourRows(hours))
}

// groupRows are the rows of groups with their changes of counts, in the order of the IDs.
func groupRows(groups []*deadletter.Group, counts map[deadletter.GroupID]deadletter.Delta) [][]any {
	sorted := slices.SortedFunc(slices.Values(groups), func(a, b *deadletter.Group) int { return cmp.Compare(a.ID, b.ID) })
	rows := make([][]any, len(sorted))
	for i, g := range sorted {
		d := counts[g.ID]
		rows[i] = []any{int64(g.ID), g.Namespace, g.Print.Version, clean(g.Print.Type), clean(g.Print.Message),
			clean(g.Print.Frame), clean(g.Print.Where), clean(g.Print.Rule), clean(g.Title), string(g.State),
			int64(g.StateAt), clean(g.ResolvedIn), int64(g.Ignore.Until), g.Ignore.Count, g.Ignore.PerHour, g.IgnoredFrom,
			flag(g.Regression), g.Regressions, int64(g.ResolvedAt), g.OpenFor, g.Resolutions, int64(g.OpenedAt),
			clean(g.Owner), clean(g.Runbook), int64(g.DueAt), int64(g.MergedInto), int64(g.FirstAt), g.Notes, g.Version,
			g.Print.RuleVersion, clean(g.Print.RuleKeys), int64(max(g.LastAt, d.At)), g.Failures + d.Failures,
			g.OpenLetters + d.OpenLetters, g.OpenCases + d.OpenCases, flag(d.Failures > 0),
			int64(g.Before)}
	}
	return rows
}

// unknownGroups leaves out groups that are stored, and not to be deleted.
func (s SQL) unknownGroups(ctx context.Context, groups []*deadletter.Group) ([]*deadletter.Group, error) {
	known := map[int64]bool{}
	for part := range slices.Chunk(groups, fetched) {
		w := where{}
		ids, err := collect(ctx, s, scanInt, `SELECT group_id FROM tasker_groups WHERE purge_at = 0 AND group_id IN `+
			list(&w, part, func(g *deadletter.Group) any { return int64(g.ID) }), w.args...)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			known[id] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(groups), func(g *deadletter.Group) bool { return known[int64(g.ID)] }), nil
}

func (letterRows) FreshGroups(ctx context.Context, tx engine.Tx, limit int) ([]deadletter.GroupID, error) {
	ids, err := collect(ctx, In(tx), scanInt,
		`SELECT group_id FROM tasker_groups WHERE fresh = 1 ORDER BY group_id LIMIT $1`, limit)
	return groupIDs(ids), err
}

var saveNews = bulkOf(`UPDATE tasker_groups SET told_at = v.column2, burst_at = v.column3, fresh = 0 FROM (`, "nnn",
	`) AS v WHERE group_id = v.column1`)

func (letterRows) SaveNews(ctx context.Context, tx engine.Tx, groups []*deadletter.Group) error {
	rows := make([][]any, len(groups))
	for i, g := range groups {
		rows[i] = []any{int64(g.ID), int64(g.ToldAt), int64(g.BurstAt)}
	}
	return saveNews.send(ctx, In(tx), rows)
}
