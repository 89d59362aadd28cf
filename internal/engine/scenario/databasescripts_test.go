package scenario_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/cli/transfer"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/kit/vault"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/store/sealed"
	"github.com/taskerhq/tasker/internal/store/sqlite"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
	"github.com/taskerhq/tasker/internal/testkit/sqlitetest"
)

// TestDatabaseScripts runs scripts about copies, backups, schedules and encryption keys, starting on SQLite and on
// PostgreSQL.
func TestDatabaseScripts(t *testing.T) {
	t.Parallel()
	for _, script := range scripts(t, "databases") {
		for _, first := range []string{"sqlite", "postgres"} {
			t.Run(script.name+"/"+first, func(t *testing.T) {
				t.Parallel()
				script.check(t, runOnDatabase(t, script.text, first == "postgres"), first == "sqlite")
			})
		}
	}
}

type onDatabase struct {
	*interpreter

	at     string       // DSN; a path for SQLite
	ids    *task.Source // of PostgreSQL, see sameIDs
	backup string
	keys   map[string]string
}

func runOnDatabase(t *testing.T, src string, onPostgres bool) string {
	list, tail, err := parse(src)
	if err != nil {
		t.Fatal(err)
	}
	d := &onDatabase{ids: task.NewSource(seedOfIDs, 0), keys: map[string]string{}}
	d.at = d.fresh(t, onPostgres)
	d.interpreter = newInterpreter(t, d.open(t), func() engine.Database { return d.open(t) })
	t.Cleanup(func() { closeStore(t, d.database()) })
	return carryOut(t, list, d.do) + tail
}

func (*onDatabase) fresh(t *testing.T, onPostgres bool) string {
	if onPostgres {
		return postgrestest.DSN(t)
	}
	return sqlitetest.File(t)
}

func isPostgres(at string) bool { return strings.HasPrefix(at, "postgres") }

func (d *onDatabase) database() engine.Database {
	if d.world != nil {
		return d.world.store
	}
	return d.interpreter.store
}

func (d *onDatabase) open(t *testing.T) engine.Database {
	t.Helper()
	if d.interpreter != nil {
		closeStore(t, d.database())
	}
	var s engine.Database
	var err error
	if isPostgres(d.at) {
		var p *postgres.Store
		if p, err = postgres.Open(t.Context(), d.at, nil); err == nil {
			s = sameIDs{p, d.ids}
		}
	} else {
		s, err = sqlite.Open(t.Context(), d.at, &sqlite.Options{Seed: seedOfIDs, Readers: 1})
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (d *onDatabase) do(s statement) ([]string, error) {
	commands := map[string]func(*args) ([]string, error){
		"copy": d.copy, "backup": d.takeBackup, "restore": d.restoreBackup, "keys": d.setKeys,
		"schedule": d.saveSchedule, "fire": d.fire, "firings": d.showFirings, "backfill": d.backfill,
	}
	command, ok := commands[s.words[0]]
	if !ok {
		return d.interpreter.do(s)
	}
	if err := d.begun(); err != nil {
		return nil, err
	}
	a := newArgs(s.words[1:])
	out, err := command(a)
	return out, firstError(err, a.unknown(), d.giveTurns(), d.moveOn(), d.admit())
}

// copyTo copies the database while no server runs on it, as tasker copy does.
func (d *onDatabase) copyTo(to string) error {
	closeStore(d.t, d.database())
	from, err := config.ParseDSN(d.at)
	if err != nil {
		return scriptError{err}
	}
	target, err := config.ParseDSN(to)
	if err != nil {
		return scriptError{err}
	}
	r, err := transfer.Copy(d.ctx, from, target, transfer.Options{})
	if err == nil && !r.Same {
		err = fmt.Errorf("after the copy the databases differ: %+v", r.Tables)
	}
	if err != nil {
		return scriptError{err}
	}
	return nil
}

func (d *onDatabase) target(onPostgres bool) string {
	if onPostgres {
		return pgtest.DSN(d.t)
	}
	return filepath.Join(d.t.TempDir(), "copy.db")
}

func (d *onDatabase) copy(*args) ([]string, error) {
	last := d.database().IDs().Take(d.now, 1)
	to := d.target(!isPostgres(d.at))
	if err := d.copyTo(to); err != nil {
		return nil, err
	}
	d.at, d.ids = to, task.NewSource(seedOfIDs, last.Seq())
	return nil, d.restart()
}

func (d *onDatabase) takeBackup(*args) ([]string, error) {
	d.backup = d.target(isPostgres(d.at))
	if err := d.copyTo(d.backup); err != nil {
		return nil, err
	}
	return nil, d.restart()
}

func (d *onDatabase) restoreBackup(*args) ([]string, error) {
	if d.backup == "" {
		return nil, badScript("there is no backup")
	}
	d.at, d.backup = d.backup, ""
	return nil, d.restart()
}

// setKeys restarts the server with the named encryption keys, the first of which encrypts.
func (d *onDatabase) setKeys(a *args) ([]string, error) {
	var lines []string
	for _, id := range a.places {
		if d.keys[id] == "" {
			d.keys[id] = vault.Generate(id)
		}
		lines = append(lines, d.keys[id])
	}
	var ring *vault.Ring
	if len(lines) > 0 {
		var err error
		if ring, err = vault.Parse(strings.Join(lines, "\n")); err != nil {
			return nil, scriptError{err}
		}
	}
	d.seals = sealed.New(ring, sealed.Options{})
	return nil, d.restart()
}
