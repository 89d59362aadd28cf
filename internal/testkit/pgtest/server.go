package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

// Server is a PostgreSQL of one test or process. Its methods are safe for concurrent use.
type Server struct {
	server   *testserver.Server
	password string
	programs string
}

// Start starts a server that ends with t. Commits are on the disk, as in production; settings like "max_connections=20"
// override anything.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := Launch(settings...)
	testserver.OrSkip(t, err)
	s.closeWith(t)
	return s
}

func (s *Server) closeWith(t testing.TB) {
	s.server.CloseWith(t)
	t.Cleanup(func() {
		if err := s.Thaw(); err != nil {
			t.Error(err)
		}
	})
}

// LaunchShared launches a server for many tests, without durability: a failed machine does not matter.
func LaunchShared() (*Server, error) { return Launch("fsync=off", "full_page_writes=off") }

// lastAct stops an orphaned server for good (Immediate). The file disappears with the postmaster; the wait is bounded.
const lastAct = `kill -QUIT "$(cat pid)"
kill -CONT "$(cat pid)"
n=0
while [ -e data/postmaster.pid ] && [ $n -lt 600 ]; do sleep 0.1; n=$((n + 1)); done`

// Launch is Start without a test: the caller closes the server. It ends with the process at the latest.
func Launch(settings ...string) (*Server, error) {
	programs, err := Programs()
	if err != nil {
		return nil, err
	}
	home, err := testserver.NewHome("postgres", lastAct)
	if err != nil {
		return nil, err
	}
	s := &Server{password: rand.Text(), programs: programs}
	if err := initdb(home, programs, s.password); err != nil {
		return nil, errors.Join(err, home.Close())
	}
	return s, s.begin(home, settings)
}

func (s *Server) begin(home *testserver.Home, settings []string) error {
	var args []string
	for _, setting := range append([]string{
		"listen_addresses=127.0.0.1",
		"unix_socket_directories=" + home.Dir,
		"max_connections=200",
		"dynamic_shared_memory_type=mmap", // a killed server leaves only files
	}, settings...) {
		args = append(args, "-c", setting)
	}
	s.server = &testserver.Server{
		Name: "PostgreSQL", Home: home, Kill: Immediate.signal,
		Program: func(port int) (*exec.Cmd, error) {
			return home.Command(filepath.Join(s.programs, "postgres"), append(args, "-D", "data", "-p", fmt.Sprint(port))...),
				nil
		},
		Greet: func(ctx context.Context, port int) error { return greet(ctx, s.dsn(port)) },
	}
	return s.server.Begin()
}

func initdb(home *testserver.Home, programs, password string) error {
	secret, err := home.Write("password", password)
	if err != nil {
		return err
	}
	// A language's order of words, as usual in production, not that of bytes: code that relies on an order must name
	// it.
	cmd := home.Command(filepath.Join(programs, "initdb"), "-D", "data", "-U", "postgres", "-A", "scram-sha-256",
		"--pwfile", secret,
		"-E", "UTF8", "--locale=C", "--locale-provider=icu", "--icu-locale=en-US", "--no-sync", "--no-instructions")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("create a cluster: %w\n%s", err, out)
	}
	return nil
}

func greet(ctx context.Context, dsn string) error {
	conn, err := connect(ctx, dsn)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// DSN returns a DSN of the database postgres, as its superuser. It is stable over restarts.
func (s *Server) DSN() string { return s.dsn(s.Port()) }

func (s *Server) dsn(port int) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword("postgres", s.password), Host: fmt.Sprintf("127.0.0.1:%d", port),
		Path: "/postgres", RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Port returns the TCP port on 127.0.0.1. It stays the same over a restart.
func (s *Server) Port() int { return s.server.Port() }

// Mode is how a server is stopped.
type Mode struct{ signal os.Signal }

var (
	// Fast rolls back open transactions, closes connections and writes a checkpoint.
	Fast = Mode{os.Interrupt}
	// Immediate ends all processes; the next start recovers from the log.
	Immediate = Mode{syscall.SIGQUIT}
	// crash is not a mode of PostgreSQL: the postmaster is killed, and its children notice.
	crash = Mode{os.Kill}
)

// Stop stops the server and returns when it is down.
func (s *Server) Stop(mode Mode) error { return s.server.Stop(mode.signal) }

// Kill kills the postmaster with SIGKILL and returns when it is gone. Its children end a moment later.
func (s *Server) Kill() error { return s.Stop(crash) }

// Restart stops the server if it is up (Fast), and returns when it answers again.
func (s *Server) Restart() error { return s.server.Restart(Fast.signal) }

// Save copies the data of a server that is down, for SwapIn.
func (s *Server) Save() error {
	return s.shell("rm -rf saved && cp -a data saved")
}

// SwapIn replaces the data of a stopped server by Save's copy, like the restore of a backup.
func (s *Server) SwapIn() error {
	return s.shell("rm -rf data && cp -a saved data")
}

func (s *Server) shell(script string) error {
	if out, err := s.server.Home.Command("/bin/sh", "-c", script).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", script, err, out)
	}
	return nil
}

// Close thaws, stops and removes the server.
func (s *Server) Close() error { return errors.Join(s.Thaw(), s.server.Close()) }
