package doctor_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/host/doctor"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/model/task"
)

func newFile(t *testing.T) string {
	t.Helper()
	dsn := "sqlite:" + filepath.Join(t.TempDir(), "tasker.db")
	fill(t, dsn)
	return dsn
}

func path(dsn string) string { return strings.TrimPrefix(dsn, "sqlite:") }

func TestHealthyFile(t *testing.T) {
	t.Parallel()
	dsn := newFile(t)
	before, err := os.ReadFile(path(dsn))
	if err != nil {
		t.Fatal(err)
	}
	r := examine(t, dsn, doctor.Options{})
	if r.Status != doctor.OK || len(r.Checks) < 9 {
		t.Errorf("a healthy file is %s:\n%s", r.Status, show(r))
	}
	after, err := os.ReadFile(path(dsn))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Error("the examination has changed the file")
	}
	files, err := filepath.Glob(path(dsn) + "*")
	if err != nil || len(files) != 2 { // the file and its lock
		t.Errorf("the examination has left %v (%v)", files, err)
	}
}

// TestFileInUse: a server has the file open, and its last writes are in the log.
func TestFileInUse(t *testing.T) {
	t.Parallel()
	dsn := newFile(t)
	b, err := node.Open(t.Context(), dsn, node.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	r := examine(t, dsn, doctor.Options{})
	if r.Status != doctor.OK {
		t.Errorf("a file in use is %s:\n%s", r.Status, show(r))
	}
	wantCheck(t, r, "log", doctor.OK, "holds")
	if _, err := b.RegisterWorker(t.Context(), registration); err != nil {
		t.Errorf("after the examination the server cannot write: %v", err)
	}
}

func TestReadOnlyDirectory(t *testing.T) {
	t.Parallel()
	dsn := newFile(t)
	if err := os.Chmod(filepath.Dir(path(dsn)), 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Dir(path(dsn)), 0o700) })
	if r := examine(t, dsn, doctor.Options{}); r.Status != doctor.OK {
		t.Errorf("a file that may only be read is %s:\n%s", r.Status, show(r))
	}
}

func TestBrokenFile(t *testing.T) {
	t.Parallel()
	cases := append([]broken{
		{name: "OtherJournal", statements: []string{`PRAGMA journal_mode = delete`}, check: "journal", status: doctor.Warn,
			says: "journal_mode is not wal"},
		{name: "FreePages", statements: []string{`CREATE TABLE t (v)`, `INSERT INTO t SELECT zeroblob(2000000)`,
			`DROP TABLE t`},
			check: "free_pages", status: doctor.Warn, says: "are free", limits: doctor.Limits{WasteBytes: 1 << 20}},
		{name: "NoRecord", statements: []string{`DROP TABLE tasker_migrations`},
			check: "schema", status: doctor.Fail, says: "no record of their version"},
	}, theWork...)
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dsn := newFile(t)
			execute(t, dsn, tc.statements...)
			r := examine(t, dsn, doctor.Options{Limits: tc.limits})
			wantCheck(t, r, tc.check, tc.status, tc.says)
		})
	}
}

func TestDamagedFile(t *testing.T) {
	t.Parallel()
	dsn := newFile(t)
	execute(t, dsn, `CREATE TABLE t (v)`,
		`INSERT INTO t SELECT zeroblob(2000) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) SELECT i FROM n)`)
	f, err := os.OpenFile(path(dsn), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xff}, 64<<10), info.Size()/2); err != nil {
		t.Fatal(err)
	}
	r := examine(t, dsn, doctor.Options{})
	wantCheck(t, r, "integrity", doctor.Fail, "damaged")
}

func TestLongLog(t *testing.T) {
	t.Parallel()
	dsn := newFile(t)
	db := connect(t, dsn) // keeps the log
	for _, s := range []string{`PRAGMA wal_autocheckpoint = 0`, `CREATE TABLE t (v)`,
		`INSERT INTO t SELECT zeroblob(3000000)`} {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	r := examine(t, dsn, doctor.Options{Limits: doctor.Limits{WasteBytes: 1000}})
	wantCheck(t, r, "log", doctor.Warn, "has grown to")
}

func TestNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	wantRefusal(t, "sqlite:"+filepath.Join(dir, "none.db"), task.NotFound, "there is no file")
	if _, err := os.Stat(filepath.Join(dir, "none.db")); err == nil {
		t.Error("the examination has made the file")
	}
	wantRefusal(t, "sqlite:"+dir, task.Invalid, "is not a file")
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, bytes.Repeat([]byte("no database\n"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, "sqlite:"+text, task.Invalid, "cannot be read as a SQLite file")
}
