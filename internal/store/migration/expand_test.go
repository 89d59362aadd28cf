package migration_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/store/migration"
	"github.com/taskerhq/tasker/internal/store/postgres"
)

// firstRolling is the first migration that nodes of the version before it survive.
const firstRolling = 32

// expands are the statements after which the queries of an older node still work: what they add is nothing to it.
var expands = []*regexp.Regexp{
	regexp.MustCompile(`^CREATE (TABLE|(UNIQUE )?INDEX|VIEW|OR REPLACE VIEW|FUNCTION|OR REPLACE FUNCTION|TRIGGER)\b`),
	regexp.MustCompile(`^ALTER TABLE \w+ ADD COLUMN (IF NOT EXISTS )?\w+ [^,]*\bDEFAULT\b[^,]*$`),
	regexp.MustCompile(`^ALTER TABLE \w+ ADD COLUMN (IF NOT EXISTS )?\w+ \w+$`),
	regexp.MustCompile(`^(COMMENT ON|GRANT) `),
}

// contracts are the files with other statements, and why a node of an older version works with them all the same. One
// with which it does not is listed with the text "stop", and the changelog says that all nodes have to be stopped
// before it (docs/guides/upgrading.md).
var contracts = map[string]string{
	"0038_kinds_of_steps.sql": "it widens a CHECK constraint: all rows that an older node writes satisfy it",
	"0044_outbox.sql": "stop: an older node sends letters without a turn and a row of the outbox, and writes failures " +
		"of intakes to a table that is gone",
	"0045_group_news.sql": "it replaces an index: queries of an older node are slower without it",
	"0047_archives.sql": "it sets the search_path of a function; an older audit archive deletes once a node has sealed " +
		"its act",
	"0048_compensating.sql": "it sets the search_path of a function, which no node calls",
}

// TestMigrationsExpand: a migration of PostgreSQL can be applied under nodes of the version before it, or is known not
// to be.
func TestMigrationsExpand(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, f := range shipped(t, postgres.Migrations)[firstRolling-1:] {
		known[f.Name] = true
		for _, s := range statements(f) {
			if !expand(s) && contracts[f.Name] == "" {
				t.Errorf("%s: an older node may not survive %q: add only, or write into contracts why it does", f.Name, s)
			}
		}
	}
	for name := range contracts {
		if !known[name] {
			t.Errorf("%s is listed, and is no migration", name)
		}
	}
	for _, s := range []string{"DROP TABLE a", "ALTER TABLE a ADD COLUMN b text NOT NULL", "ALTER TABLE a DROP COLUMN b",
		"ALTER TABLE a RENAME COLUMN b TO c", "UPDATE a SET b = 1", "CREATE SOMETHING"} {
		if expand(s) {
			t.Errorf("%q passes", s)
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
