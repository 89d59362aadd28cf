package migration_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/store/migration"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/store/sqlite"
)

// released are the checksums of the versions that databases have been made by, in their order. They only ever grow in
// number: a line is added here with each release that has a new version.
var released = map[string][]string{
	"postgres": {},
	"sqlite":   {},
}

// TestReleasedMigrations: what databases have been made by never changes, down to a comment. A binary in which it has
// refuses all of them.
func TestReleasedMigrations(t *testing.T) {
	t.Parallel()
	for name, files := range map[string][]migration.File{"postgres": shipped(t, postgres.Migrations),
		"sqlite": shipped(t, sqlite.Migrations)} {
		for _, fault := range unreleased(files, released[name]) {
			t.Errorf("%s: %s", name, fault)
		}
	}
}

// unreleased says what is wrong with a list of versions, given the checksums of those that were released.
func unreleased(files []migration.File, sums []string) []string {
	var faults []string
	if len(files) < len(sums) {
		return []string{fmt.Sprintf("%d versions were released, and there are %d", len(sums), len(files))}
	}
	for i, sum := range sums {
		if f := files[i]; f.SHA256 != sum {
			faults = append(faults, fmt.Sprintf("%s was released and has changed (its checksum is %s): undo that, and write a "+
				"migration that follows it", f.Name, f.SHA256))
		}
	}
	// only the newest may still be in the making
	for _, f := range files[len(sums):max(len(files)-1, len(sums))] {
		faults = append(faults, fmt.Sprintf("%s has a follower, but its checksum %s is not in the list of what was released",
			f.Name, f.SHA256))
	}
	if sorted := slices.Compact(slices.Sorted(slices.Values(sums))); len(sorted) != len(sums) {
		faults = append(faults, "a checksum is listed twice")
	}
	return faults
}

// TestUnreleased proves the test of released versions with lists that are made up.
func TestUnreleased(t *testing.T) {
	t.Parallel()
	files := list(t, first, second)
	one, two := files[0].SHA256, files[1].SHA256
	tests := []struct {
		name  string
		files []migration.File
		sums  []string
		want  string // what the only fault contains; "" is none
	}{
		{"SchemaInTheMaking", files[:1], nil, ""},
		{"NextInTheMaking", files, []string{one}, ""},
		{"Released", files, []string{one, two}, ""},
		{"Gone", files[:1], []string{one, two}, "2 versions were released, and there are 1"},
		{"Changed", list(t, first+"-- a typing error less\n", second), []string{one},
			"0001_schema.sql was released and has changed"},
		{"Unlisted", files, nil, "0001_schema.sql has a follower"},
		{"Twice", files, []string{one, one}, "0002_second.sql was released and has changed"},
	}
	for _, tt := range tests {
		got := strings.Join(unreleased(tt.files, tt.sums), "; ")
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
