package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/migration"
)

// schema compares the database's migrations with this binary's, in checks named "schema", and reports whether the
// tables exist.
func schema(ctx context.Context, m *migration.Migrator) ([]Check, bool, error) {
	refused := func(err error) []Check {
		c := Check{Name: "schema", Status: Fail, Seen: err.Error(), Do: "Use the binary that fits the database."}
		if h := hint(err); h != "" {
			c.Do = h
		}
		return []Check{c}
	}
	list, err := m.Status(ctx)
	if task.CodeOf(err) == task.Conflict { // tables of no known version: other checks could not read them
		return refused(err), false, nil
	}
	if err != nil {
		return nil, false, err
	}
	pending := len(migration.PendingFiles(list))
	if err := migration.Check(list); err != nil {
		return refused(err), true, nil
	}
	switch {
	case pending == len(list):
		return []Check{{"schema", Fail, "there are no tables of Tasker here", "Check that the DSN names the right database " +
			"and schema; then run tasker migrate up, or start a server."}}, false, nil
	case pending > 0:
		return []Check{{"schema", Fail, fmt.Sprintf("%d of %d migrations are pending", pending, len(list)),
			"Run tasker migrate up, or start a server of this version."}}, true, nil
	}
	return []Check{
			{Name: "schema", Status: OK, Seen: fmt.Sprintf("at %s, as this binary, checksums included",
				list[len(list)-1].Name)}},
		true, nil
}

// index is an index of a database. Definitions are compared as text, so both sides must come from the same engine.
type index struct {
	name, table, definition string
	valid                   bool
}

// compareIndexes reports missing, invalid, different and additional indexes. repair returns the statement that
// creates an index. A missing index is a failure: a claim reads the whole table. An additional one is a warning: it
// slows writes, and prevents updates in place on PostgreSQL.
func compareIndexes(want, have []index, repair func(index) string) []Check {
	var checks []Check
	found := map[string]index{}
	for _, h := range have {
		found[h.name] = h
	}
	for _, w := range want {
		h, exists := found[w.name]
		delete(found, w.name)
		switch {
		case !exists:
			checks = append(checks, Check{Status: Fail, Seen: fmt.Sprintf("index %s is missing", w.name),
				Do: "Create it: " + repair(w)})
		case !h.valid:
			checks = append(checks, Check{Status: Fail,
				Seen: fmt.Sprintf("index %s is invalid: it is maintained and never used", w.name),
				Do:   fmt.Sprintf("Run REINDEX INDEX CONCURRENTLY %s.", w.name)})
		case h.definition != w.definition:
			checks = append(checks, Check{Status: Warn, Seen: fmt.Sprintf("index %s is another: %s", w.name, h.definition),
				Do: fmt.Sprintf("Replace it: %s", repair(w))})
		}
	}
	var extra []string
	for name := range found {
		extra = append(extra, name)
	}
	slices.Sort(extra)
	for _, name := range extra {
		checks = append(checks, Check{Status: Warn,
			Seen: fmt.Sprintf("index %s on %s is not Tasker's: every write pays for it", name, found[name].table),
			Do:   "Drop it, unless a report of yours needs it and you know what it costs."})
	}
	if len(checks) == 0 {
		return ok("all %d are there, and no others", len(want))
	}
	return checks
}

func tidy(sql string) string { return strings.Join(strings.Fields(sql), " ") }
