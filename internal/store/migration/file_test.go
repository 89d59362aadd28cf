package migration_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/taskerhq/tasker/internal/store/migration"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/store/sqlite"
)

// TestShippedMigrations holds the files of both stores to the rules.
func TestShippedMigrations(t *testing.T) {
	t.Parallel()
	for name, list := range map[string]func() ([]migration.File, error){"postgres": postgres.Migrations,
		"sqlite": sqlite.Migrations} {
		if files, err := list(); err != nil || len(files) == 0 {
			t.Errorf("%s: %d versions, %v", name, len(files), err)
		}
	}
}

func TestFilesRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file, text, want string
	}{
		{"Commit", "0002_a.sql", second + "commit;\n", "a version is one transaction"},
		{"Begin", "0002_a.sql", "BEGIN;\n" + second, "a version is one transaction"},
		{"CommitInSchema", "fruit.sql", first + "  COMMIT AND CHAIN;\n", "a version is one transaction"},
		{"First", "0001_a.sql", second, "the number must be 0002"},
		{"Gap", "0003_a.sql", second, "the number must be 0002"},
		{"Undeclared", "trees.sql", first, "it is no part of the schema"},
		{"OtherFile", "README.md", "hello", "it is no part of the schema"},
		{"ShortNumber", "2_a.sql", second, "would be named NNNN_words.sql"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := fstest.MapFS{"fruit.sql": {Data: []byte(first)}}
			dir[tt.file] = &fstest.MapFile{Data: []byte(tt.text)}
			_, err := migration.Files(dir, "fruit")
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.file) {
				t.Errorf("Files returned %v, want %q about %s", err, tt.want, tt.file)
			}
		})
	}
	dir := fstest.MapFS{"fruit.sql": {Data: []byte(first)}}
	for _, parts := range [][]string{nil, {"fruit", "trees"}, {"fruit", "fruit"}} {
		if _, err := migration.Files(dir, parts...); err == nil {
			t.Errorf("a schema of the parts %q was taken", parts)
		}
	}
}

// TestSchemaIsJoined: the parts of version 1 follow each other in the declared order, whatever their names are, and a
// function that contains statements does not end the version.
func TestSchemaIsJoined(t *testing.T) {
	t.Parallel()
	const body = "CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$\nBEGIN\n    RETURN 1;\nEND $$;\n"
	files, err := migration.Files(fstest.MapFS{"b.sql": {Data: []byte("-- of b\n")}, "a.sql": {Data: []byte(body)},
		"0002_words.sql": {Data: []byte("-- of 2\n")}}, "b", "a")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, f.Name+": "+f.SQL)
	}
	same(t, "versions", got, []string{"0001_schema.sql: -- b.sql\n\n-- of b\n\n-- a.sql\n\n" + body + "\n",
		"0002_words.sql: -- of 2\n"})
}

func TestChecksumKnowsNoLineEndings(t *testing.T) {
	t.Parallel()
	unix, dos := list(t, first), list(t, strings.ReplaceAll(first, "\n", "\r\n"))
	if unix[0].SHA256 != dos[0].SHA256 || len(unix[0].SHA256) != 64 {
		t.Errorf("checksums are %q and %q", unix[0].SHA256, dos[0].SHA256)
	}
}

func TestSQL(t *testing.T) {
	t.Parallel()
	files := list(t, first, second)
	text := migration.SQL(files)
	for _, want := range []string{"-- 0001_schema.sql (sha256 " + files[0].SHA256, "CREATE TABLE fruit",
		"-- 0002_second.sql", "UPDATE fruit"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}
