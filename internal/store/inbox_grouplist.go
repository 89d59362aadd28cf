package store

import (
	"context"
	"strings"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// It takes no lock and sees the last commit; Group is for a change.
func (s letterRows) FindGroup(ctx context.Context, id deadletter.GroupID) (*deadletter.Group, error) {
	return counted(`group_id = $1`).first(ctx, s.SQL, ` WHERE g.group_id = $1`, int64(id))
}

// counted selects the groups of of with their deltas, each counted exactly once.
func counted(of string) record[deadletter.Group] {
	return record[deadletter.Group]{`tasker_groups g LEFT JOIN (SELECT group_id, CAST(sum(failures) AS bigint) AS failures,
  CAST(sum(open_letters) AS bigint) AS open_letters, CAST(sum(open_cases) AS bigint) AS open_cases, max(at) AS at
  FROM tasker_group_deltas WHERE ` + of + ` GROUP BY group_id) d ON d.group_id = g.group_id`,
		groupColumns + `, CASE WHEN coalesce(d.at, 0) > g.last_at THEN d.at ELSE g.last_at END,
  g.failures + coalesce(d.failures, 0), g.open_letters + coalesce(d.open_letters, 0),
  g.open_cases + coalesce(d.open_cases, 0)`, countedFields}
}

const shownBy = `CASE WHEN o.merged_into <> 0 THEN o.merged_into ELSE o.group_id END`

// sumsOfGroups are groups with deltas or merged groups, with the sums for a list. All others (the most, even in a
// burst: see AddTally) are shown as they are.
//
// Without statistics a planner expects few rows, and joins 50,000 groups row by row with as many sums. So there is only
// one join, by a primary key, and the sums are computed once.
const sumsOfGroups = `WITH sums AS MATERIALIZED (SELECT a.group_id, CAST(sum(a.failures) AS bigint) AS failures,
  CAST(sum(a.open_letters) AS bigint) AS open_letters, CAST(sum(a.open_cases) AS bigint) AS open_cases,
  min(a.first_at) AS first_at, max(a.at) AS at FROM (
  SELECT ` + shownBy + ` AS group_id, x.failures, x.open_letters, x.open_cases, o.first_at, x.at
   FROM tasker_group_deltas x JOIN tasker_groups o ON o.group_id = x.group_id
  UNION ALL SELECT merged_into, failures, open_letters, open_cases, first_at, last_at
   FROM tasker_groups WHERE merged_into <> 0) a GROUP BY a.group_id),
 summed AS MATERIALIZED (SELECT g.group_id, g.namespace, g.state, g.owner, g.place, g.title, g.merged_into,
  CASE WHEN s.first_at < g.first_at THEN s.first_at ELSE g.first_at END AS first_at,
  CASE WHEN s.at > g.last_at THEN s.at ELSE g.last_at END AS last_at, g.failures + s.failures AS failures,
  g.open_letters + s.open_letters AS open_letters, g.open_cases + s.open_cases AS open_cases
  FROM sums s JOIN tasker_groups g ON g.group_id = s.group_id)`

// sortedBy are the values that order groups, the largest first. The cursor and the WHERE clause repeat them.
var sortedBy = map[string]string{"last": `g.last_at`, "open": `g.open_letters + g.open_cases`, "first": `g.first_at`}

// It sorts the groups without their texts, and reads only those of the page whole. An unknown order counts as "last".
// The cursor is a pair of value and ID, because many groups may have the same value.
func (s letterRows) ListGroups(ctx context.Context, f inbox.GroupFilter) ([]*deadletter.Group, error) {
	value, ok := sortedBy[f.Order]
	if !ok {
		value = sortedBy["last"]
	}
	w := where{}
	w.add("g.merged_into = 0")
	w.addIf(f.Namespace != "", "g.namespace = ?", f.Namespace)
	w.addIf(f.State != "", "g.state = ?", string(f.State))
	w.addIf(f.Owner != "", "g.owner = ?", f.Owner)
	w.addIf(f.Where != "", "g.place = ?", clean(f.Where))
	w.addIf(f.Text != "", "replace(g.title, ?, '') <> g.title", clean(f.Text))
	w.addIf(f.OpenOnly, sortedBy["open"]+" > 0")
	w.addIf(f.After != 0, value+" <= CAST(? AS bigint)", f.AfterValue) // SQLite finds no pair in an index of expressions
	w.addIf(f.After != 0, "("+value+", g.group_id) < (CAST(? AS bigint), CAST(? AS bigint))", f.AfterValue, int64(f.After))
	order := value
	if f.Text != "" { // reading all rows in disk order is faster than index look-ups
		order = "+(" + value + ")"
	}
	limited := ` ORDER BY ` + order + ` DESC, g.group_id DESC LIMIT ` + w.arg(f.Limit)
	const fields = `SELECT g.group_id, g.first_at, g.last_at, g.failures, g.open_letters, g.open_cases FROM `
	page := sumsOfGroups + `, page AS MATERIALIZED (SELECT * FROM (
  SELECT * FROM (` + fields + `tasker_groups g` + w.text() + ` AND g.group_id NOT IN (SELECT group_id FROM sums)` +
		limited + `) stored UNION ALL ` + fields + `summed g` + w.text() + `) g` + limited + `)
`
	return collect(ctx, s, func(row Row) (*deadletter.Group, error) {
		g := &deadletter.Group{}
		return g, s.read(row, countedFields(g)...)
	}, page+` SELECT `+strings.Replace(groupColumns, "g.first_at", "p.first_at", 1)+`, p.last_at, p.failures,
  p.open_letters, p.open_cases FROM page p JOIN tasker_groups g ON g.group_id = p.group_id
 ORDER BY `+strings.ReplaceAll(value, "g.", "p.")+` DESC, p.group_id DESC`, w.args...)
}

// 0 is the value of an unmerged group, which has no members.
func (s letterRows) MergedGroups(ctx context.Context, into deadletter.GroupID) ([]*deadletter.Group, error) {
	if into == 0 {
		return nil, nil
	}
	const of = `merged_into = $1 AND merged_into <> 0`
	return counted(`group_id IN (SELECT group_id FROM tasker_groups WHERE `+of+`)`).list(ctx, s.SQL,
		` WHERE `+of+` ORDER BY g.group_id`, int64(into))
}

func (letterRows) Merged(ctx context.Context, tx engine.Tx, into deadletter.GroupID) ([]*deadletter.Group, error) {
	return letterRows{In(tx)}.MergedGroups(ctx, into)
}

var notes = record[deadletter.Note]{"tasker_group_notes n",
	`n.group_id, n.no, n.at, n.author, n.author_key, n.kind, n.body`, func(n *deadletter.Note) []any {
		return []any{(*int64)(&n.Group), &n.No, &n.At, &n.Author, &n.Key, &n.Kind, &n.Text}
	}}

// below continues a page: notes with a lower number; 0 is the latest.
func (s letterRows) GroupNotes(ctx context.Context, id deadletter.GroupID, below,
	limit int,
) ([]deadletter.Note, error) {
	w := where{}
	w.add("group_id = ?", int64(id))
	w.addIf(below > 0, "no < ?", below)
	return notes.values(ctx, s.SQL, w.text()+` ORDER BY n.no DESC LIMIT `+w.arg(limit), w.args...)
}

// It includes unfolded deltas. An hour without failures has no entry.
func (s letterRows) Hours(ctx context.Context, groups []deadletter.GroupID,
	since task.Instant,
) (map[deadletter.GroupID][]deadletter.Hour, error) {
	out := map[deadletter.GroupID][]deadletter.Hour{}
	return out, inParts(groups, groupID, []any{int64(since)}, func(in string, args []any) error {
		shown := `(o.group_id IN ` + in + ` OR o.merged_into <> 0 AND o.merged_into IN ` + in + `)` // each has an index
		return s.Query(ctx, `SELECT h.shown, h.at, CAST(sum(h.failures) AS bigint) FROM (
 SELECT `+shownBy+` AS shown, x.at, x.failures FROM tasker_groups o JOIN tasker_group_hours x
  ON x.group_id = o.group_id WHERE `+shown+`
 UNION ALL SELECT `+shownBy+`, x.at - x.at % 3600000000, x.failures FROM tasker_groups o
  JOIN tasker_group_deltas x ON x.group_id = o.group_id
  WHERE x.failures <> 0 AND `+shown+`) h
 WHERE h.at >= $1 GROUP BY h.shown, h.at ORDER BY h.shown, h.at`, args, func(row Row) error {
			var group deadletter.GroupID
			var h deadletter.Hour
			err := s.read(row, (*int64)(&group), &h.At, &h.Failures)
			out[group] = append(out[group], h)
			return err
		})
	})
}

func (letterRows) HoursOf(ctx context.Context, tx engine.Tx, groups []deadletter.GroupID, since task.Instant) (
	map[deadletter.GroupID][]deadletter.Hour, error,
) {
	return letterRows{In(tx)}.Hours(ctx, groups, since)
}

func (letterRows) ShownFailures(ctx context.Context, tx engine.Tx, into []deadletter.GroupID) (
	map[deadletter.GroupID]int64, error,
) {
	s, out := In(tx), map[deadletter.GroupID]int64{}
	return out, inParts(into, groupID, nil, func(in string, args []any) error {
		return s.Query(ctx, `SELECT o.merged_into, CAST(sum(o.failures + coalesce((SELECT sum(x.failures)
  FROM tasker_group_deltas x WHERE x.group_id = o.group_id), 0)) AS bigint) FROM tasker_groups o
 WHERE o.merged_into <> 0 AND o.merged_into IN `+in+` GROUP BY o.merged_into`, args, func(row Row) error {
			var id, n int64
			err := row.Scan(&id, &n)
			out[deadletter.GroupID(id)] = n
			return err
		})
	})
}

// One index has all columns.
func (s letterRows) Resolutions(ctx context.Context, namespace string) (deadletter.Resolutions, error) {
	w := where{}
	w.add("resolutions > 0")
	w.addIf(namespace != "", "namespace = ?", namespace)
	return first(ctx, s, func(row Row) (r deadletter.Resolutions, err error) {
		err = row.Scan(&r.Times, &r.OpenFor)
		return r, err
	}, `SELECT CAST(coalesce(sum(resolutions), 0) AS bigint), CAST(coalesce(sum(open_for), 0) AS bigint)
 FROM tasker_groups`+w.text(), w.args...)
}

// The earliest come first.
func (s letterRows) Timed(ctx context.Context, now task.Instant, limit int) ([]deadletter.GroupID, error) {
	const query = `SELECT group_id FROM tasker_groups WHERE ignore_until <> 0 AND ignore_until <= $1 AND state = 'ignored'
 ORDER BY ignore_until, group_id LIMIT $2`
	return collect(ctx, s, scanGroupID, query, int64(now), limit)
}

func scanGroupID(row Row) (id deadletter.GroupID, err error) {
	err = row.Scan((*int64)(&id))
	return id, err
}
