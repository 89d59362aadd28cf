package migration_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/taskerhq/tasker/internal/store/migration"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/store/sqlite"
)

// TestShippedMigrations holds the files to the rules: a list without a gap, that
// only goes up.
func TestShippedMigrations(t *testing.T) {
	t.Parallel()
	onServer, err := postgres.Migrations()
	if err != nil {
		t.Fatal(err)
	}
	inFile, err := sqlite.Migrations()
	if err != nil {
		t.Fatal(err)
	}
	a, err := migration.Files(onServer)
	if err != nil {
		t.Errorf("postgres: %v", err)
	}
	b, err := migration.Files(inFile)
	if err != nil {
		t.Errorf("sqlite: %v", err)
	}
	if len(a) == 0 || len(b) == 0 {
		t.Errorf("there are %d migrations for PostgreSQL and %d for SQLite", len(a), len(b))
	}
}

func TestFilesRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file, text, want string
	}{
		{"Down", "0001_a.sql", first + "-- +goose Down\nDROP TABLE fruit;\n", "a migration goes up"},
		{"DownInDisguise", "0001_a.sql", first + "--  +GOOSE   down  \nDROP TABLE fruit;\n", "a migration goes up"},
		{"NoTransaction", "0001_a.sql", "-- +goose NO TRANSACTION\n" + first, "in one transaction"},
		{"NoUp", "0001_a.sql", "CREATE TABLE a (b int);\n", "must have one line -- +goose Up"},
		{"UpTwice", "0001_a.sql", first + first, "must have one line -- +goose Up"},
		{"Gap", "0002_a.sql", first, "the number must be 0001"},
		{"OtherFile", "README.md", "hello", "the name must be NNNN_words.sql"},
		{"ShortNumber", "1_a.sql", first, "the name must be NNNN_words.sql"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := migration.Files(fstest.MapFS{tt.file: {Data: []byte(tt.text)}})
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.file) {
				t.Errorf("Files returned %v, want %q about %s", err, tt.want, tt.file)
			}
		})
	}
	if _, err := migration.Files(fstest.MapFS{}); err == nil {
		t.Error("an empty list was taken")
	}
}

func TestChecksumKnowsNoLineEndings(t *testing.T) {
	t.Parallel()
	unix, err := migration.Files(list(first))
	if err != nil {
		t.Fatal(err)
	}
	dos, err := migration.Files(list(strings.ReplaceAll(first, "\n", "\r\n")))
	if err != nil {
		t.Fatal(err)
	}
	if unix[0].SHA256 != dos[0].SHA256 || len(unix[0].SHA256) != 64 {
		t.Errorf("checksums are %q and %q", unix[0].SHA256, dos[0].SHA256)
	}
}

func TestSQL(t *testing.T) {
	t.Parallel()
	files, err := migration.Files(list(first, second))
	if err != nil {
		t.Fatal(err)
	}
	text := migration.SQL(files)
	for _, want := range []string{"-- 0001_first.sql (sha256 " + files[0].SHA256, "CREATE TABLE fruit",
		"-- 0002_second.sql", "UPDATE fruit"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "goose") {
		t.Errorf("it has words that psql does not know:\n%s", text)
	}
}
