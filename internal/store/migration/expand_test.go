package migration_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/store/migration"
	"github.com/taskerhq/tasker/internal/store/postgres"
)

// expands are the statements after which the queries of an older node still work: what they add is nothing to it.
var expands = []*regexp.Regexp{
	regexp.MustCompile(`^CREATE (TABLE|(UNIQUE )?INDEX|VIEW|OR REPLACE VIEW|FUNCTION|OR REPLACE FUNCTION|TRIGGER)\b`),
	regexp.MustCompile(`^ALTER TABLE \w+ ADD COLUMN (IF NOT EXISTS )?\w+ [^,]*\bDEFAULT\b[^,]*$`),
	regexp.MustCompile(`^ALTER TABLE \w+ ADD COLUMN (IF NOT EXISTS )?\w+ \w+$`),
	regexp.MustCompile(`^(COMMENT ON|GRANT) `),
}

// contracts are the migrations with other statements, and why a node of an older version works with them all the same.
// One with which it does not is listed with a text that begins with "stop", and the changelog says that all nodes have
// to be stopped before it (docs/guides/upgrading.md).
var contracts = map[string]string{}

// TestMigrationsExpand: a migration of PostgreSQL can be applied under nodes of the version before it, or is known not
// to be.
func TestMigrationsExpand(t *testing.T) {
	t.Parallel()
	for _, fault := range contracting(shipped(t, postgres.Migrations), contracts) {
		t.Error(fault)
	}
}

// contracting says which statements an older node may not survive. Version 1 has no older node.
func contracting(files []migration.File, contracts map[string]string) []string {
	var faults []string
	known := map[string]bool{}
	for _, f := range files[1:] {
		known[f.Name] = true
		for _, s := range statements(f) {
			if !expand(s) && contracts[f.Name] == "" {
				faults = append(faults, fmt.Sprintf("%s: an older node may not survive %q: add only, or write into "+
					"contracts why it does", f.Name, s))
			}
		}
	}
	for name := range contracts {
		if !known[name] {
			faults = append(faults, name+" is listed, and is no migration")
		}
	}
	return faults
}

// TestContracting proves the test of migrations with lists that are made up.
func TestContracting(t *testing.T) {
	t.Parallel()
	const kept = "an older node writes what it wants"
	tests := []struct {
		name, text string
		contracts  map[string]string
		want       []string // what each fault contains
	}{
		{"Adds", rolling + "COMMENT ON TABLE tasker_shades IS 'DROP TABLE'; -- DROP TABLE tasker_shades;\n", nil, nil},
		{"Fills", "UPDATE tasker_tasks SET priority = 1;", nil, []string{`"UPDATE tasker_tasks SET priority = 1"`}},
		{"Known", "UPDATE tasker_tasks SET priority = 1;", map[string]string{"0002_second.sql": kept}, nil},
		{"Forgotten", "GRANT SELECT ON fruit TO ann;", map[string]string{"0009_gone.sql": kept},
			[]string{"0009_gone.sql is listed"}},
		{"Function", "CREATE OR REPLACE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$\nBEGIN\n    DELETE FROM a;\nEND $$;\n" +
			"CREATE FUNCTION g() RETURNS int LANGUAGE sql\nBEGIN ATOMIC\n    SELECT 1;\nEND;", nil, nil},
	}
	for _, s := range []string{"DROP TABLE a", "ALTER TABLE a ADD COLUMN b text NOT NULL", "ALTER TABLE a DROP COLUMN b",
		"ALTER TABLE a RENAME COLUMN b TO c", "DELETE FROM a", "CREATE SOMETHING"} {
		tests = append(tests, tests[0])
		last := &tests[len(tests)-1]
		last.name, last.text, last.want = s, s+";", []string{s}
	}
	for _, tt := range tests {
		got := contracting(list(t, first, tt.text), tt.contracts)
		if len(got) != len(tt.want) || len(got) > 0 && !strings.Contains(got[0], tt.want[0]) {
			t.Errorf("%s: found %q, want %q", tt.name, got, tt.want)
		}
	}
}

func expand(statement string) bool {
	for _, re := range expands {
		if re.MatchString(statement) {
			return true
		}
	}
	return false
}

var (
	remark   = regexp.MustCompile(`--[^\n]*`)
	function = regexp.MustCompile(`(?s)\$\w*\$.*?\$\w*\$|\bBEGIN ATOMIC\b.*?\bEND;`)
	blank    = regexp.MustCompile(`\s+`)
)

// statements returns the statements of a file, each on one line, without comments and bodies of functions.
func statements(f migration.File) []string {
	text := function.ReplaceAllString(remark.ReplaceAllString(f.SQL, ""), ";")
	var list []string
	for s := range strings.SplitSeq(text, ";") {
		if s = strings.TrimSpace(blank.ReplaceAllString(s, " ")); s != "" {
			list = append(list, s)
		}
	}
	return list
}
