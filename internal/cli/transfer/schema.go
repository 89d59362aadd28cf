package transfer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/model/task"
)

// kind is a column's kind of values, the same on both engines.
type kind string

const (
	integers  kind = "integer"
	texts     kind = "text"
	documents kind = "json" // text, byte for byte
	ids       kind = "id"   // a task.ID; SQLite keeps its sequence
	blobs     kind = "bytes"
)

type column struct {
	name string
	kind kind
}

// table describes the copied columns and rows. match makes one of both sides' tables.
type table struct {
	name    string
	columns []column // sorted by name
	key     []int    // the primary key, as places in columns
	filter  string   // SQL condition for rows, if any
}

func (t *table) keyNames() []string {
	names := make([]string, len(t.key))
	for i, k := range t.key {
		names[i] = t.columns[k].name
	}
	return names
}

func (t *table) keyOf(r row) row {
	key := make(row, len(t.key))
	for i, k := range t.key {
		key[i] = r[k]
	}
	return key
}

const prefix = "tasker_"

// own are the tables that describe a database and not its content: schema version, turns, the
// settings of its servers, and who is signed in at them. They are not copied.
var own = []string{prefix + "migrations", prefix + "turns", prefix + "settings", prefix + "sessions"}

// notes has the progress of background loops.
const notes = prefix + "meta"

// filters exclude rows of the database itself: the seed of a SQLite file's IDs, the name of a PostgreSQL schema,
// and its nodes' notes about its clock.
var filters = map[string]string{notes: "key NOT IN ('" + seedKey + "', 'installation') AND key NOT LIKE 'pulse %'"}

// late tables are copied last, in this order: on an incomplete target a server finds no task without steps.
var late = []string{prefix + "workflow_steps", prefix + "tasks"}

// notesLast orders the comparison: a difference in notes usually follows from another, more telling one.
func notesLast(tables []table) []table {
	at := slices.IndexFunc(tables, func(t table) bool { return t.name == notes })
	if at < 0 {
		return tables
	}
	return append(slices.Delete(slices.Clone(tables), at, at+1), tables[at])
}

// match returns the tables to copy, or all differences beyond the representation of values, sorted by name.
func match(from, to []table) ([]table, error) {
	var problems []string
	others := byName(to)
	var out []table
	for _, a := range from {
		b, ok := others[a.name]
		if !ok {
			problems = append(problems, a.name+" is missing in the target")
			continue
		}
		delete(others, a.name)
		t, faults := join(a, b)
		problems = append(problems, faults...)
		out = append(out, t)
	}
	for name := range others {
		problems = append(problems, name+" is missing in the source")
	}
	if len(problems) > 0 {
		slices.Sort(problems)
		return nil, task.Errorf(task.Conflict, "the two databases do not have the same tables: %s",
			strings.Join(problems, "; "))
	}
	slices.SortFunc(out, func(a, b table) int {
		if d := slices.Index(late, a.name) - slices.Index(late, b.name); d != 0 {
			return d
		}
		return strings.Compare(a.name, b.name)
	})
	return out, nil
}

func byName(tables []table) map[string]table {
	m := make(map[string]table, len(tables))
	for _, t := range tables {
		m[t.name] = t
	}
	return m
}

// join merges two descriptions of a table, and returns the differences that forbid a copy.
func join(a, b table) (table, []string) {
	var faults []string
	out := table{name: a.name, filter: filters[a.name]}
	if slices.Equal(a.keyNames(), b.keyNames()) {
		out.key = a.key
	} else {
		faults = append(faults, fmt.Sprintf("%s has the key %v here, %v there", a.name, a.keyNames(), b.keyNames()))
	}
	if len(a.columns) != len(b.columns) {
		return out, append(faults, fmt.Sprintf("%s has %d columns here, %d there", a.name, len(a.columns), len(b.columns)))
	}
	for i, c := range a.columns {
		d := b.columns[i]
		k, ok := common(c.kind, d.kind)
		if c.name != d.name || !ok {
			faults = append(faults, fmt.Sprintf("%s.%s is %s here, %s %s there", a.name, c.name, c.kind, d.name, d.kind))
		}
		out.columns = append(out.columns, column{c.name, k})
	}
	return out, faults
}

// common returns the narrower kind: SQLite's INTEGER may be an ID on the other side, and its TEXT a document.
func common(a, b kind) (kind, bool) {
	if a == b {
		return a, true
	}
	for _, k := range [][2]kind{{a, b}, {b, a}} {
		if k == [2]kind{integers, ids} || k == [2]kind{texts, documents} {
			return k[1], true
		}
	}
	return a, false
}

// arrange sorts the columns; positions has their places in the primary key from 0, -1 outside it.
func arrange(t *table, positions []int) {
	place := make(map[string]int, len(positions))
	for i, c := range t.columns {
		if positions[i] >= 0 {
			place[c.name] = positions[i]
		}
	}
	slices.SortFunc(t.columns, func(a, b column) int { return strings.Compare(a.name, b.name) })
	t.key = make([]int, len(place))
	for i, c := range t.columns {
		if p, ok := place[c.name]; ok {
			t.key[p] = i
		}
	}
}
