package migration_test

import (
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/store/migration"
	"github.com/taskerhq/tasker/worker/protocol"
)

// givenUp are the columns ("table.column") and tables that a migration takes away, and those whose values it changes,
// on purpose, by the name of its file.
var givenUp = map[string][]string{}

// rolling is a migration such as the next one may be. Package crashtest/upgrade applies it under load.
//
//go:embed testdata/rolling.sql
var rolling string

// follow is a list of versions and one more.
func follow(files []migration.File, text string) []migration.File {
	version := int64(len(files) + 1)
	return append(slices.Clone(files), migration.File{Version: version, Name: fmt.Sprintf("%04d_synthetic.sql", version),
		SQL: text, SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(text)))})
}

// TestUpgrade upgrades a filled database from every version of the schema to the last one, and to one that may follow
// it: nothing is lost on the way, and the store works on what comes out. A new migration is tested without a change
// here.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, p place) {
		files := shipped(t, p.shipped)
		for from := 1; from <= len(files); from++ {
			t.Run(files[from-1].Name, func(t *testing.T) {
				p := p.fresh(t)
				for _, loss := range upgrade(t, p, files, from) {
					t.Error(loss)
				}
				work(t, start(t, p))
			})
		}
		t.Run("Next", func(t *testing.T) {
			for _, loss := range upgrade(t, p, follow(files, rolling), len(files)) {
				t.Error(loss)
			}
		})
	})
}

// TestNodeOutlivesMigration migrates a database under a node: it continues to work, and one that starts later says
// why it does not. TestRollingUpgrade shows the same of processes under load.
func TestNodeOutlivesMigration(t *testing.T) {
	t.Parallel()
	p := onPostgres(t)
	files := shipped(t, p.shipped)
	up(t, p.migrator(t, files))
	node := start(t, p)
	work(t, node)
	next := follow(files, rolling)
	same(t, "what was applied", up(t, p.migrator(t, next)), []string{next[len(files)].Name})
	work(t, node)
	if _, err := openNode(t, p); err == nil || !strings.Contains(err.Error(), "migrated by a newer tasker") {
		t.Errorf("a node that does not know the schema started: %v", err)
	}
}

// upgrade makes a database of the schema that it had after the first files, fills
// every table, migrates it by the rest, and says what is not there any more.
func upgrade(t *testing.T, p place, files []migration.File, from int) []string {
	t.Helper()
	up(t, p.migrator(t, files[:from]))
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
	up(t, p.migrator(t, files))
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
		return slices.Contains(givenUp[f.Name], table) || slices.Contains(givenUp[f.Name], table+"."+column)
	})
}

// TestUpgradeNotices proves the test of upgrades with lists that are made up: it
// is content with migrations that keep everything, and says what others lose.
func TestUpgradeNotices(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, second string
		want         []string
	}{
		{"Nothing", second, nil},
		{"DeletedRow", `DELETE FROM fruit WHERE name LIKE '%2%';`,
			[]string{`fruit lost the row name={"n": "2"} ripe=2`}},
		{"ChangedValue", `UPDATE fruit SET ripe = 7 WHERE ripe = 1;`,
			[]string{`fruit lost the row name={"n": "1"} ripe=1`}},
		{"DroppedColumn", `ALTER TABLE fruit DROP COLUMN ripe;`, []string{"fruit.ripe is gone"}},
		{"DroppedTable", `DROP TABLE fruit;`, []string{"fruit.name is gone", "fruit.ripe is gone"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			engines(t, func(t *testing.T, p place) {
				files := list(t, `CREATE TABLE fruit (name text PRIMARY KEY, ripe int NOT NULL CHECK (ripe > 0));`, tt.second)
				same(t, "what was noticed", upgrade(t, p, files, 1), tt.want)
			})
		})
	}
}

// start opens a node that does not migrate.
func start(t *testing.T, p place) *node.Node {
	t.Helper()
	b, err := openNode(t, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func openNode(t *testing.T, p place) (*node.Node, error) {
	return node.Open(t.Context(), p.dsn, node.Options{Migrate: migration.Never})
}

// work takes a task through a node.
func work(t *testing.T, b *node.Node) {
	t.Helper()
	ctx := t.Context()
	c := tasker.NewClient(b)
	receipt, err := c.Submit(ctx, tasker.NewHandlerTask("after_upgrade", map[string]int{"a": 1}))
	if err != nil {
		t.Fatal(err)
	}
	worker, err := protocol.Of(c).RegisterWorker(ctx,
		protocol.WorkerRegistration{Name: "w", Handlers: []string{"after_upgrade"}})
	if err != nil {
		t.Fatal(err)
	}
	polled, err := protocol.Of(c).Poll(ctx, protocol.PollRequest{WorkerID: worker.WorkerID, WaitMS: 30_000, Start: true})
	if err != nil || len(polled.Steps) != 1 {
		t.Fatalf("poll: %v, %v", polled, err)
	}
	step := polled.Steps[0]
	answers, err := protocol.Of(c).Settle(ctx,
		protocol.SettleRequest{WorkerID: worker.WorkerID, Results: []protocol.StepResult{
			{StepUUID: step.StepUUID, Token: step.Token, Status: protocol.ResultCompleted, Result: json.RawMessage(`{"b": 2}`)}}})
	if err != nil || answers[0].Error != nil {
		t.Fatalf("settle: %v, %v", answers, err)
	}
	done, err := c.Task(ctx, receipt.TaskUUID, time.Minute)
	if err != nil || done.State != tasker.TaskComplete {
		t.Errorf("the task is %v: %v", done, err)
	}
}
