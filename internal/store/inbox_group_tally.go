package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// newGroups inserts groups with counts. A group to be deleted stays, and gets the counts added. The insert must not
// wait for a group that is being counted: ON CONFLICT alone waits until the row is settled.
//
// A new group takes over the decisions about the group before it (see deadletter.Group.Before), in the same statement,
// as failures do not read groups. An ignored one stays ignored, with the rest of its bounds. Such a group is reported
// as new only if there were no decisions.
const (
	newGroups = ` SELECT v.column1, v.column2, v.column3, v.column4, v.column5, v.column6, v.column7, v.column8, v.column9,
  v.column10, v.column11, v.column12, v.column13, coalesce(o.state, v.column14), coalesce(o.state_at, v.column15),
  coalesce(o.resolved_in, v.column16), coalesce(o.ignore_until, v.column17), coalesce(o.ignore_count, v.column18),
  coalesce(o.ignore_rate, v.column19),
  coalesce(CASE WHEN o.state = 'ignored' THEN o.ignored_from - o.failures - (SELECT coalesce(sum(m.failures), 0)
   FROM tasker_groups m WHERE m.merged_into = o.group_id AND m.merged_into <> 0) END, v.column20),
  v.column21, v.column22, coalesce(o.resolved_at, v.column23), v.column24, v.column25, v.column26,
  coalesce(o.owner, v.column27), coalesce(o.runbook, v.column28), coalesce(o.due_at, v.column29),
  coalesce(o.merged_into, v.column30), v.column31,
  CASE WHEN o.state <> 'open' OR o.owner <> '' OR o.merged_into <> 0 THEN v.column15 ELSE v.column32 END,
  v.column33, v.column34, v.column35, v.column36, v.column37, v.column38 FROM (`
	keptGroups = `) AS v LEFT JOIN tasker_groups o ON o.group_id = v.column39 AND o.purge_at = 0
 WHERE NOT EXISTS (SELECT 1 FROM tasker_groups g WHERE g.group_id = v.column1 AND g.purge_at = 0)
 ON CONFLICT (group_id) DO UPDATE SET purge_at = 0, failures = tasker_groups.failures + excluded.failures,
  open_letters = tasker_groups.open_letters + excluded.open_letters,
  open_cases = tasker_groups.open_cases + excluded.open_cases, fresh = excluded.fresh,
  last_at = CASE WHEN excluded.failures > 0 THEN excluded.last_at ELSE tasker_groups.last_at END
  WHERE tasker_groups.purge_at <> 0`
)

var (
	insertGroups  = insertGroupsOf(keptGroups)
	insertCounted = insertGroupsOf(keptGroups + ` RETURNING group_id`)
)

func insertGroupsOf(behind string) bulk {
	return bulkOf("INSERT INTO tasker_groups ("+bare(groupColumns+groupCounts)+", fresh)"+newGroups,
		typesOf(newGroupFields(&deadletter.Group{}, deadletter.Delta{})), behind)
}

func newGroupFields(g *deadletter.Group, d deadletter.Delta) []any {
	return append(groupFields(g), int64(max(g.LastAt, d.At)), g.Failures+d.Failures, g.OpenLetters+d.OpenLetters,
		g.OpenCases+d.OpenCases, flag(d.Failures > 0), int64(g.Before))
}

// Sorted IDs prevent deadlocks. Folding the deltas of a group shows whether it was new.
func (letterRows) AddGroups(ctx context.Context, tx engine.Tx, groups []*deadletter.Group) error {
	if len(groups) >= fewRows { // a look is cheaper than a vain insert
		var err error
		if groups, err = In(tx).unknownGroups(ctx, groups); err != nil {
			return err
		}
	}
	return insertGroups.add(ctx, In(tx), len(groups), newGroupRows(groups, nil))
}

// A new group is stored with its counts: no other transaction can count in it before the commit. So a burst of
// different failures leaves no deltas, which every answer would have to add up.
func (s letterRows) AddTally(ctx context.Context, tx engine.Tx, t *deadletter.Tally) error {
	groups, deltas := t.Groups(), t.Deltas()
	if len(groups) < fewRows { // the few of a single failure are not worth a query
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
	if err := insertCounted.over(s, len(groups), newGroupRows(groups, counts), func(query string, args []any) error {
		ids, err := collect(ctx, s, scanGroupID, query, args...)
		for _, id := range ids {
			added[id] = true
		}
		return err
	}); err != nil {
		return nil, err
	}
	_, hours := sumDeltas(slices.DeleteFunc(slices.Clone(deltas),
		func(d deadletter.Delta) bool { return !added[d.Group] }))
	return added, s.countHours(ctx, hours)
}

func newGroupRows(groups []*deadletter.Group, counts map[deadletter.GroupID]deadletter.Delta) func(i int) []any {
	sorted := slices.SortedFunc(slices.Values(groups), func(a, b *deadletter.Group) int { return cmp.Compare(a.ID, b.ID) })
	return func(i int) []any { return newGroupFields(sorted[i], counts[sorted[i].ID]) }
}

func (s SQL) unknownGroups(ctx context.Context, groups []*deadletter.Group) ([]*deadletter.Group, error) {
	known := map[deadletter.GroupID]bool{}
	err := inParts(groups, groupOf, nil, func(in string, args []any) error {
		ids, err := collect(ctx, s, scanGroupID, `SELECT group_id FROM tasker_groups WHERE purge_at = 0 AND group_id IN `+in,
			args...)
		for _, id := range ids {
			known[id] = true
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(groups), func(g *deadletter.Group) bool { return known[g.ID] }), nil
}

func (letterRows) FreshGroups(ctx context.Context, tx engine.Tx, limit int) ([]deadletter.GroupID, error) {
	return collect(ctx, In(tx), scanGroupID,
		`SELECT group_id FROM tasker_groups WHERE fresh = 1 ORDER BY group_id LIMIT $1`, limit)
}

var saveNews = bulkOf(`UPDATE tasker_groups SET told_at = v.column2, burst_at = v.column3, fresh = 0 FROM (`, "nnn",
	`) AS v WHERE group_id = v.column1`)

func (letterRows) SaveNews(ctx context.Context, tx engine.Tx, groups []*deadletter.Group) error {
	return saveNews.add(ctx, In(tx), len(groups), func(i int) []any {
		return []any{(*int64)(&groups[i].ID), &groups[i].ToldAt, &groups[i].BurstAt}
	})
}
