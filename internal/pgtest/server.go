package pgtest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Server is a PostgreSQL that belongs to one test or process. Its methods can
// be called from several goroutines.
type Server struct {
	home     *home
	programs string // directory
	port     int
	password string
	args     []string
	log      *os.File

	mu      sync.Mutex
	process *exec.Cmd // nil while it is down
}

// Start starts a server that ends with t. What it has committed is on the disk,
// as in production; settings like "max_connections=20" change that, or anything
// else.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := Launch(settings...)
	orSkip(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of PostgreSQL's log:\n%s", tail(s.log.Name(), 30))
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// LaunchShared launches a server as many tests share it: what would be lost when
// the machine fails is of no interest there, and is not written to the disk.
func LaunchShared() (*Server, error) { return Launch("fsync=off", "full_page_writes=off") }

// lastAct stops a server for good (Immediate), when its owner is gone. The file
// disappears with the postmaster; it is not waited for forever.
const lastAct = `kill -QUIT "$(head -n 1 data/postmaster.pid)"
n=0
while [ -e data/postmaster.pid ] && [ $n -lt 600 ]; do sleep 0.1; n=$((n + 1)); done`

// Launch is Start without a test: the caller closes the server. It ends with
// the process at the latest.
func Launch(settings ...string) (*Server, error) {
	programs, err := Programs()
	if err != nil {
		return nil, err
	}
	h, err := newHome("postgres", lastAct)
	if err != nil {
		return nil, err
	}
	s := &Server{home: h, programs: programs, password: rand.Text()}
	if err := s.create(settings); err != nil {
		return nil, errors.Join(err, h.close())
	}
	return s, nil
}

// create makes the cluster and brings it up on a free port.
func (s *Server) create(settings []string) error {
	var err error
	if s.log, err = os.Create(filepath.Join(s.home.dir, "log")); err != nil {
		return fmt.Errorf("create PostgreSQL's log: %w", err)
	}
	secret := filepath.Join(s.home.dir, "password")
	if err := s.home.write(secret, s.password); err != nil {
		return err
	}
	// The order of words is that of a language, as it usually is in production,
	// and not that of bytes: what relies on an order has to say on which.
	initdb := s.home.command(filepath.Join(s.programs, "initdb"), "-D", "data", "-U", "postgres", "-A", "scram-sha-256", "--pwfile", secret,
		"-E", "UTF8", "--locale=C", "--locale-provider=icu", "--icu-locale=en-US", "--no-sync", "--no-instructions")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("create a cluster: %w\n%s", err, out)
	}
	for _, setting := range append([]string{
		"listen_addresses=127.0.0.1",
		"unix_socket_directories=" + s.home.dir,
		"max_connections=200",
		"dynamic_shared_memory_type=mmap", // a killed server leaves nothing behind but files
	}, settings...) {
		s.args = append(s.args, "-c", setting)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for range 10 {
		if s.port, err = freePort(); err != nil {
			return err
		}
		if err = s.up(); !errors.Is(err, errEnded) {
			return err
		}
	}
	return err
}

// DSN returns a DSN of the database postgres, as its superuser. It stays the
// same over a restart.
func (s *Server) DSN() string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword("postgres", s.password), Host: fmt.Sprintf("127.0.0.1:%d", s.port),
		Path: "/postgres", RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Port returns the TCP port on 127.0.0.1. It stays the same over a restart.
func (s *Server) Port() int { return s.port }

// Mode is how a server is stopped.
type Mode struct{ signal os.Signal }

var (
	// Fast rolls back what is under way, closes connections and writes a checkpoint.
	Fast = Mode{os.Interrupt}
	// Immediate ends all processes at once; the next start recovers from the log.
	Immediate = Mode{syscall.SIGQUIT}
	// crash is no mode of PostgreSQL's: the postmaster is shot, and its children notice.
	crash = Mode{os.Kill}
)

// Stop stops the server and returns when it is down.
func (s *Server) Stop(mode Mode) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down(mode)
}

// Kill kills the postmaster with SIGKILL and returns when it is gone. Its
// children end a moment later.
func (s *Server) Kill() error { return s.Stop(crash) }

// Restart brings the server up again and returns when it answers. One that is
// up is stopped before (Fast).
func (s *Server) Restart() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.down(Fast); err != nil {
		return err
	}
	// Children of one that was killed may hold its memory for a moment.
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if err := s.up(); !errors.Is(err, errEnded) || time.Now().After(deadline) {
			return err
		}
	}
}

// Close stops the server and removes it.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.down(Immediate)
	// Nobody is to mistake another process for the server, which has ended.
	_ = os.Remove(filepath.Join(s.home.dir, "data", "postmaster.pid"))
	return errors.Join(err, s.log.Close(), s.home.close())
}

// up starts the process and returns when it answers.
func (s *Server) up() error {
	cmd := s.home.command(filepath.Join(s.programs, "postgres"), append(s.args, "-D", "data", "-p", fmt.Sprint(s.port))...)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	s.process = cmd
	err := answers(s.DSN(), cmd.Process)
	if errors.Is(err, errEnded) {
		s.process = nil
		return fmt.Errorf("PostgreSQL: %w; its log says:\n%s", err, tail(s.log.Name(), 10))
	}
	if err != nil {
		return errors.Join(err, s.down(crash))
	}
	return nil
}

// down ends the process, if there is one, and waits for it.
func (s *Server) down(mode Mode) error {
	if s.process == nil {
		return nil
	}
	cmd := s.process
	if err := cmd.Process.Signal(mode.signal); err != nil {
		return fmt.Errorf("stop PostgreSQL: %w", err)
	}
	s.process = nil
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait() // how it ended is in its log
	if !late.Stop() {
		return fmt.Errorf("PostgreSQL did not stop within %v and was killed", patience)
	}
	return nil
}

// tail returns the last lines of a file.
func tail(path string, n int) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
