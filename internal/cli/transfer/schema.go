package transfer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/model/task"
)

// kind is the kind of values of a column, the same on both engines.
type kind string

const (
	integers  kind = "integer"
	texts     kind = "text"
	documents kind = "json" // text, byte for byte
	ids       kind = "id"   // a task.ID; SQLite keeps its sequence
	blobs     kind = "bytes"
)

// column is one column of a table.
type column struct {
	name string
	kind kind
}

// table describes which columns and rows of a table are copied, and in which order.
// A table of one side becomes the table of both in match.
type table struct {
	name    string
	columns []column // sorted by name
	key     []int    // the primary key: places in columns
	filter  string   // SQL that rows have to satisfy, if any
}

// keyNames returns the columns of the primary key, in the order of the key.
func (t *table) keyNames() []string {
	names := make([]string, len(t.key))
	for i, k := range t.key {
		names[i] = t.columns[k].name
	}
	return names
}

// keyOf returns the values of the primary key.
func (t *table) keyOf(r row) row {
	key := make(row, len(t.key))
	for i, k := range t.key {
		key[i] = r[k]
	}
	return key
}

// prefix is the prefix of the names of all tables of Tasker.
const prefix = "tasker_"

// own are the tables that describe a database and not its content: schema version, turns, the
// settings of its servers, and who is signed in at them. They are not copied.
var own = []string{prefix + "migrations", prefix + "turns", prefix + "settings", prefix + "sessions"}

// notes is the table in which servers store the progress of background work.
const notes = prefix + "meta"

// filters exclude rows that belong to the database: the seed from which a SQLite file rebuilds its IDs,
// the name that identifies a PostgreSQL schema, and what its nodes say of its clock.
var filters = map[string]string{notes: "key NOT IN ('" + seedKey + "', 'installation') AND key NOT LIKE 'pulse %'"}

// late are copied last, in this order. If a server is started on an incomplete target, it finds
// no task without its steps.
var late = []string{prefix + "workflow_steps", prefix + "tasks"}

// notesLast returns the tables in the order of comparison. A difference in notes usually
// follows from another one, which is the better message.
func notesLast(tables []table) []table {
	at := slices.IndexFunc(tables, func(t table) bool { return t.name == notes })
	if at < 0 {
		return tables
	}
	return append(slices.Delete(slices.Clone(tables), at, at+1), tables[at])
}

// match returns the tables to copy. It fails with a list of all differences if the databases
// differ in more than the representation of values.
// It reports every difference at once, sorted by name.
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

// byName indexes tables by name.
func byName(tables []table) map[string]table {
	m := make(map[string]table, len(tables))
	for _, t := range tables {
		m[t.name] = t
	}
	return m
}

// join merges two descriptions of a table, and returns the differences that forbid a copy.
// Its result is complete only without differences.
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

// common returns the narrower of two kinds, if one can represent the other.
// An INTEGER of SQLite may be an ID on the other side, and its TEXT a document.
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

// arrange sorts the columns of a table from the catalog; positions holds the place of each in the primary
// key, from 0, and -1 for a column outside the key.
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
