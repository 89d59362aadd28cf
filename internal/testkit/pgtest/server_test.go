package pgtest_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

func TestServerComesBack(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t, "max_connections=21")
	dsn, port := s.DSN(), s.Port()
	conn := open(t, dsn)
	ask(t, conn, "SHOW max_connections", "21")
	ask(t, conn, "SHOW fsync", "on")
	run(t, conn, "CREATE TABLE kept (n int)")
	for i, end := range []struct {
		name string
		do   func() error
	}{
		{"Fast", func() error { return s.Stop(pgtest.Fast) }},
		{"Immediate", func() error { return s.Stop(pgtest.Immediate) }},
		{"Kill", s.Kill},
		{"Up", func() error { return nil }},
	} {
		run(t, conn, fmt.Sprintf("INSERT INTO kept VALUES (%d)", i))
		if err := end.do(); err != nil {
			t.Fatalf("%s: %v", end.name, err)
		}
		if end.name != "Up" {
			if _, err := pgx.Connect(t.Context(), dsn); err == nil {
				t.Fatalf("%s: the server still answers", end.name)
			}
		}
		if err := s.Restart(); err != nil {
			t.Fatalf("restart after %s: %v", end.name, err)
		}
		if s.DSN() != dsn || s.Port() != port {
			t.Errorf("after %s the server is somewhere else", end.name)
		}
		conn = open(t, dsn)
		ask(t, conn, "SELECT count(*) FROM kept", i+1)
	}
}

// TestNothingIsLeft kills a process that has started a server: the server and its directory go, too.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	if os.Getenv("PGTEST_ORPHAN") != "" {
		s := pgtest.Start(t)
		fmt.Println("\nDSN " + s.DSN())
		select {} // until we are killed
	}
	pgtest.DSN(t) // skips without a server
	_, err := pgtest.Programs()
	testserver.OrSkip(t, err)
	cmd := exec.Command(os.Args[0], "-test.run=^TestNothingIsLeft$")
	cmd.Env = append(os.Environ(), "PGTEST_ORPHAN=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dsn, found := "", false
	for lines := bufio.NewScanner(out); !found && lines.Scan(); {
		dsn, found = strings.CutPrefix(lines.Text(), "DSN ")
	}
	var dir string
	if err := open(t, dsn).QueryRow(t.Context(), "SHOW unix_socket_directories").Scan(&dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("a minute later %s is still there", dir)
		}
	}
	if _, err := pgx.Connect(t.Context(), dsn); err == nil {
		t.Error("the server is still there")
	}
}
