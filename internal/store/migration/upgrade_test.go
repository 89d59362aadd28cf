package migration_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/store/migration"
)

// givenUp are the columns ("table.column") and tables that a migration takes
// away, and those whose values it changes, on purpose, by the migration's version.
var givenUp = map[int64][]string{
	41: {"tasker_intake_failures"}, // SQLite: its rows go to tasker_sends
	44: {"tasker_intake_failures"}, // PostgreSQL
}

// TestUpgrade upgrades a filled database from every schema that there ever was:
// nothing is lost on the way, and the store works on what comes out. A new
// migration is tested without a change here.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, p place) {
		files := shipped(t, p.shipped)
		for from := 1; from <= len(files); from++ { // the last one proves that it can be filled
			t.Run(files[from-1].Name, func(t *testing.T) {
				p := p.fresh(t)
				for _, loss := range upgrade(t, p, files, from) {
					t.Error(loss)
				}
				works(t, p.dsn)
			})
		}
	})
}

func shipped(t *testing.T, list func() (fs.FS, error)) []migration.File {
	t.Helper()
	dir, err := list()
	if err != nil {
		t.Fatal(err)
	}
	files, err := migration.Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// upgrade makes a database of the schema that it had after the first files, fills
// every table, migrates it by the rest, and says what is not there any more.
func upgrade(t *testing.T, p place, files []migration.File, from int) []string {
	t.Helper()
	up(t, p.migrator(t, dirOf(files[:from])))
	db := p.open(t)
	before, err := p.catalog(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	if len(before) == 0 {
		t.Fatal("the schema has no tables; nothing would be tested")
	}
	fill(t, db, before)
	had := map[string][]row{}
	for table, columns := range before {
		if had[table] = rowsOf(t, db, table, columns); len(had[table]) < filled {
			t.Fatalf("%s has %d rows after filling", table, len(had[table]))
		}
	}
	up(t, p.migrator(t, dirOf(files)))
	after, err := p.catalog(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	var losses []string
	for table, columns := range before {
		var kept []column
		for _, c := range columns {
			switch {
			case accepted(files[from:], table, c.name):
			case !slices.ContainsFunc(after[table], func(a column) bool { return a.name == c.name }):
				losses = append(losses, fmt.Sprintf("%s.%s is gone", table, c.name))
			default:
				kept = append(kept, c)
			}
		}
		if len(kept) == 0 {
			continue
		}
		var has []string
		for _, r := range rowsOf(t, db, table, kept) {
			has = append(has, r.only(kept))
		}
		for _, r := range had[table] {
			if want := r.only(kept); !slices.Contains(has, want) {
				losses = append(losses, fmt.Sprintf("%s lost the row %s", table, want))
			}
		}
	}
	slices.Sort(losses)
	return losses
}

// accepted reports whether one of the migrations takes the column away, or
// rewrites it, on purpose.
func accepted(files []migration.File, table, column string) bool {
	return slices.ContainsFunc(files, func(f migration.File) bool {
		return slices.Contains(givenUp[f.Version], table) || slices.Contains(givenUp[f.Version], table+"."+column)
	})
}

// dirOf is the directory of these files.
func dirOf(files []migration.File) fs.FS {
	dir := fstest.MapFS{}
	for _, f := range files {
		dir[f.Name] = &fstest.MapFile{Data: []byte(f.SQL)}
	}
	return dir
}

// TestUpgradeNotices proves the test of upgrades with lists that are made up: it
// is content with migrations that keep everything, and says what others lose.
func TestUpgradeNotices(t *testing.T) {
	t.Parallel()
	const begin = "-- +goose Up\n"
	tests := []struct {
		name, second string
		want         []string
	}{
		{"Nothing", second, nil},
		{"DeletedRow", begin + `DELETE FROM fruit WHERE name LIKE '%2%';`,
			[]string{`fruit lost the row name={"n": "2"} ripe=2`}},
		{"ChangedValue", begin + `UPDATE fruit SET ripe = 7 WHERE ripe = 1;`,
			[]string{`fruit lost the row name={"n": "1"} ripe=1`}},
		{"DroppedColumn", begin + `ALTER TABLE fruit DROP COLUMN ripe;`, []string{"fruit.ripe is gone"}},
		{"DroppedTable", begin + `DROP TABLE fruit;`, []string{"fruit.name is gone", "fruit.ripe is gone"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			engines(t, func(t *testing.T, p place) {
				files, err := migration.Files(list(begin+
					`CREATE TABLE fruit (name text PRIMARY KEY, ripe int NOT NULL CHECK (ripe > 0));`, tt.second))
				if err != nil {
					t.Fatal(err)
				}
				same(t, "what was noticed", upgrade(t, p, files, 1), tt.want)
			})
		})
	}
}

// TestTasksKnowSinceWhen: a task that is older than the column is in its state since
// it finished, or else since it was created.
func TestTasksKnowSinceWhen(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, p place) {
		files := shipped(t, p.shipped)
		up(t, p.migrator(t, dirOf(files[:1])))
		db := p.open(t)
		tables, err := p.catalog(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		fill(t, db, tables)
		if _, err := db.ExecContext(t.Context(),
			`UPDATE tasker_tasks SET created_at = created_at + 10, finished_at = CASE WHEN created_at = 1 THEN 0 ELSE 20 END`); err != nil {
			t.Fatal(err)
		}
		up(t, p.migrator(t, dirOf(files)))
		columns := []column{{name: "created_at"}, {name: "finished_at"}, {name: "state_at"}}
		var got []string
		for _, r := range rowsOf(t, db, "tasker_tasks", columns) {
			got = append(got, r.only(columns))
		}
		slices.Sort(got)
		same(t, "tasks", got, []string{"created_at=11 finished_at=0 state_at=11", "created_at=12 finished_at=20 state_at=20",
			"created_at=13 finished_at=20 state_at=20"})
	})
}

// works takes a task through the store.
func works(t *testing.T, dsn string) {
	t.Helper()
	ctx := t.Context()
	b, err := node.Open(ctx, dsn, node.Options{Migrate: migration.Never})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	c := tasker.NewClient(b)
	receipt, err := c.Submit(ctx, tasker.NewHandlerTask("after_upgrade", map[string]int{"a": 1}))
	if err != nil {
		t.Fatal(err)
	}
	worker, err := c.RegisterWorker(ctx, tasker.WorkerRegistration{Name: "w", Handlers: []string{"after_upgrade"}})
	if err != nil {
		t.Fatal(err)
	}
	polled, err := c.Poll(ctx, tasker.PollRequest{WorkerID: worker.WorkerID, WaitMS: 30_000, Start: true})
	if err != nil || len(polled.Steps) != 1 {
		t.Fatalf("poll: %v, %v", polled, err)
	}
	step := polled.Steps[0]
	answers, err := c.Settle(ctx, tasker.SettleRequest{WorkerID: worker.WorkerID, Results: []tasker.StepResult{
		{StepUUID: step.StepUUID, Token: step.Token, Status: tasker.ResultCompleted, Result: json.RawMessage(`{"b": 2}`)}}})
	if err != nil || answers[0].Error != nil {
		t.Fatalf("settle: %v, %v", answers, err)
	}
	done, err := c.Task(ctx, receipt.TaskUUID, time.Minute)
	if err != nil || done.State != tasker.TaskComplete {
		t.Errorf("the task is %v: %v", done, err)
	}
}
