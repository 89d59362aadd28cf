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

// ShortLeases are variables of the environment that make leases short, so that
// what a crash leaves behind is found soon. Answers get lost all the time there, and
// workers seem never to begin; neither they nor the steps pay for it.
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

// Server is `tasker serve`, in one process after the other, on one address. Set the fields before it is launched. Its
// methods can be called from several goroutines, but only one process runs at a time: wait with Gone before the next
// launch.
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

// Launch starts a process and does not wait for it. One that ends without being
// told to is a crash.
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

// Start starts a process and returns when it listens, which it says on its standard output. One that ends before is an
// error, no crash. When ctx ends it is killed.
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
	// Somebody has to hold the pipe: who writes into one that nobody reads dies.
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

// Freeze sends SIGSTOP: the process stands still, with its connections open, until Thaw or until it is killed. It
// counts as down.
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw ends Freeze. The process must have listened before.
func (s *Server) Thaw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expect = false
	s.lives++
	close(s.up)
	_ = s.process.Process.Signal(syscall.SIGCONT) // the only error is that the process is gone, which Wait tells
}

// signal sends a signal to the process, if there is one; its end is expected from then on.
func (s *Server) signal(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return
	}
	s.expect = true
	s.down() // before the signal: who finds the server gone must find it down, too
	// The only error is that the process is gone, which Wait tells.
	_ = s.process.Process.Signal(sig)
}

// down says that it does not listen any more. The caller holds s.mu.
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

// Stop ends the process in good order and returns its exit code. It blocks until the process is gone.
func (s *Server) Stop() int {
	s.signal(syscall.SIGTERM)
	s.Gone()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process.ProcessState.ExitCode()
}

// Up reports whether it listens.
func (s *Server) Up() bool { return s.Life() != 0 }

// Life is a number that each process which listens has for its own; 0 while none
// does.
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

// Crashes returns the ends that nobody had asked for.
func (s *Server) Crashes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.crashes...)
}
