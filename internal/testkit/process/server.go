//go:build unix

package process

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// ShortLeases are environment variables for short leases, so that the effects of a crash are found soon. Lost answers
// are frequent then, so neither workers nor steps are charged for them.
func ShortLeases() []string {
	return []string{
		"TASKER_ENGINE_LEASES_HEARTBEAT_INTERVAL=500ms",
		"TASKER_ENGINE_LEASES_MISSED_HEARTBEATS=4",
		"TASKER_ENGINE_LEASES_START_TIMEOUT=1s",
		"TASKER_ENGINE_LEASES_FREE_RETURNS=-1",
		"TASKER_ENGINE_WORKER_BREAKER_FAILURES=-1",
		"TASKER_ENGINE_UPKEEP_INTERVAL=200ms",
		"TASKER_LOG_LEVEL=warn",
	}
}

// Server is `tasker serve`, in successive processes on one address. Set the fields before the launch. Its methods are
// safe for concurrent use, but only one process runs at a time: call Gone before the next launch.
type Server struct {
	Program string // path of the binary
	DSN     string
	Address string // HOST:PORT
	Env     []string
	Log     *os.File
	Group   *Group

	mu      sync.Mutex
	process *exec.Cmd
	ended   chan struct{} // closed when process is gone
	expect  bool          // that process ends is no news
	up      chan struct{} // closed while it listens
	lives   int           // how often it came up
	crashes []string      // processes that ended by themselves
}

// URL is where it listens when it does.
func (s *Server) URL() string { return "http://" + s.Address }

// Launch starts a process without waiting for it. An unexpected end is a crash.
func (s *Server) Launch() error { return s.launch(nil, false) }

// launch starts a process that writes to out; nil is nowhere.
func (s *Server) launch(out *os.File, expect bool) error {
	cmd := s.Group.Command(s.Program, "serve", "--db", s.DSN, "--listen", s.Address)
	cmd.Env = append(os.Environ(), s.Env...)
	cmd.Stderr = s.Log
	if out != nil {
		cmd.Stdout = out
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	ended := make(chan struct{})
	s.mu.Lock()
	s.process, s.ended, s.expect = cmd, ended, expect
	if s.up == nil {
		s.up = make(chan struct{})
	}
	s.mu.Unlock()
	go func() {
		err := cmd.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.expect {
			s.crashes = append(s.crashes, fmt.Sprintf("the server on %s ended by itself: %v", s.Address, err))
		}
		s.down()
		close(ended)
	}()
	return nil
}

// Start starts a process and returns when it prints that it listens. An earlier end is an error, not a
// crash. When ctx ends it is killed.
func (s *Server) Start(ctx context.Context) error {
	said, out, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a pipe for the server: %w", err)
	}
	err = s.launch(out, true)
	out.Close()
	if err != nil {
		said.Close()
		return err
	}
	s.mu.Lock()
	ended := s.ended
	s.mu.Unlock()
	// Keep reading: writing into a pipe without a reader kills the writer.
	go func() {
		<-ended
		said.Close()
	}()
	stop := context.AfterFunc(ctx, s.Kill)
	defer stop()
	lines := bufio.NewScanner(said)
	if !lines.Scan() || !strings.Contains(lines.Text(), s.URL()) {
		s.Kill()
		<-ended
		return fmt.Errorf("the server did not say that it listens on %s: %q", s.URL(), lines.Text())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-ended:
		return fmt.Errorf("the server on %s ended as soon as it listened", s.Address)
	default:
	}
	s.expect = false
	// Only now: a process that ends before it listens was never up.
	s.lives++
	close(s.up)
	return ctx.Err()
}

// Kill sends SIGKILL and does not wait for the end.
func (s *Server) Kill() { s.signal(syscall.SIGKILL) }

// Freeze sends SIGSTOP: the process stands still, with open connections, until Thaw or a kill. It counts as down.
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw ends Freeze. The process must have listened before.
func (s *Server) Thaw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expect = false
	s.lives++
	close(s.up)
	_ = s.process.Process.Signal(syscall.SIGCONT) // the only error is that the process is gone, which Wait reports
}

// signal sends a signal to the process, if there is one; its end is expected from then on.
func (s *Server) signal(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return
	}
	s.expect = true
	s.down() // before the signal: once the server is gone it must be down
	// The only error is that the process is gone, which Wait reports.
	_ = s.process.Process.Signal(sig)
}

func (s *Server) down() {
	select {
	case <-s.up:
		s.up = make(chan struct{})
	default:
	}
}

// Gone waits until the process has ended.
func (s *Server) Gone() {
	s.mu.Lock()
	ended := s.ended
	s.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

// Stop ends the process gracefully and returns its exit code. It blocks until the process is gone.
func (s *Server) Stop() int {
	s.signal(syscall.SIGTERM)
	s.Gone()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process.ProcessState.ExitCode()
}

// Up reports whether it listens.
func (s *Server) Up() bool { return s.Life() != 0 }

// Life is a number of each listening process; 0 for none.
func (s *Server) Life() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.up:
		return s.lives
	default:
		return 0
	}
}

// Await blocks until it listens.
func (s *Server) Await(ctx context.Context) error {
	s.mu.Lock()
	if s.up == nil {
		s.up = make(chan struct{})
	}
	up := s.up
	s.mu.Unlock()
	select {
	case <-up:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Crashes returns the unexpected ends.
func (s *Server) Crashes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.crashes...)
}
