//go:build unix

package crashtest_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/taskerhq/tasker"
)

// settings make leases short, so that what a crash leaves behind is found soon.
var settings = []string{
	"TASKER_ENGINE_LEASES_HEARTBEAT_INTERVAL=500ms",
	"TASKER_ENGINE_LEASES_MISSED_HEARTBEATS=4",
	"TASKER_ENGINE_LEASES_START_TIMEOUT=1s",
	"TASKER_ENGINE_UPKEEP_INTERVAL=200ms",
	"TASKER_LOG_LEVEL=warn",
}

// server is `tasker serve` in a process of its own, on one file and one port.
type server struct {
	program string
	db      string
	addr    string
	log     *os.File
	probe   *tasker.Client

	mu      sync.Mutex
	process *exec.Cmd
	ended   chan struct{} // closed when process is gone
	expect  bool          // somebody ended process on purpose
	up      chan struct{} // closed while it answers
	crashes []string      // processes that ended by themselves
}

func newServer(program, db string, log *os.File) (*server, error) {
	addr, err := freeAddress()
	if err != nil {
		return nil, err
	}
	s := &server{program: program, db: db, addr: addr, log: log, up: make(chan struct{})}
	s.probe, err = tasker.Dial(s.url(), &tasker.DialOptions{RequestTimeout: 5 * time.Second})
	return s, err
}

func (s *server) url() string { return "http://" + s.addr }

// freeAddress finds a port below those that the kernel gives to clients: while
// the server is down, a client's own connection could take one of these.
func freeAddress() (string, error) {
	base := 20000 + os.Getpid()%9000
	for i := range 1000 {
		addr := fmt.Sprintf("127.0.0.1:%d", base+i)
		ln, err := net.Listen("tcp", addr)
		if err == nil {
			return addr, ln.Close()
		}
	}
	return "", fmt.Errorf("no free port from %d on", base)
}

// launch starts a process and returns what it writes to standard output.
func (s *server) launch() (*bufio.Scanner, error) {
	cmd := exec.Command(s.program, "serve", "--db", "sqlite:"+s.db, "--listen", s.addr)
	cmd.Env = append(os.Environ(), settings...)
	cmd.Stderr = s.log
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = in
	err = cmd.Start()
	in.Close()
	if err != nil {
		out.Close()
		return nil, fmt.Errorf("start the server: %w", err)
	}
	ended := make(chan struct{})
	s.mu.Lock()
	s.process, s.ended, s.expect = cmd, ended, false
	s.mu.Unlock()
	go func() {
		err := cmd.Wait()
		s.mu.Lock()
		if !s.expect {
			s.crashes = append(s.crashes, fmt.Sprint("the server ended by itself: ", err))
		}
		s.mu.Unlock()
		out.Close()
		close(ended)
	}()
	return bufio.NewScanner(out), nil
}

// start starts a process and returns how long it took to its first answer.
func (s *server) start(ctx context.Context) (time.Duration, error) {
	begun := time.Now()
	lines, err := s.launch()
	if err != nil {
		return 0, err
	}
	if !lines.Scan() || !strings.Contains(lines.Text(), s.url()) {
		return 0, fmt.Errorf("the server did not say that it listens on %s: %q", s.url(), lines.Text())
	}
	if _, err := s.probe.Tasks(ctx, tasker.TaskFilter{Limit: 1}); err != nil {
		return 0, fmt.Errorf("first request to the server: %w", err)
	}
	took := time.Since(begun)
	s.mu.Lock()
	close(s.up)
	s.mu.Unlock()
	return took, nil
}

// kill sends SIGKILL without waiting for the end.
func (s *server) kill() {
	s.signal(syscall.SIGKILL)
}

func (s *server) signal(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil || s.expect {
		return
	}
	s.expect = true
	select {
	case <-s.up:
		// Before the signal: who finds the server gone must find it down, too.
		s.up = make(chan struct{})
	default:
	}
	// The only error is that the process is gone, which Wait tells.
	_ = s.process.Process.Signal(sig)
}

// gone waits until the process has ended.
func (s *server) gone() {
	s.mu.Lock()
	ended := s.ended
	s.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

// stop ends the process in good order and returns its exit code.
func (s *server) stop() int {
	s.signal(syscall.SIGTERM)
	s.gone()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process.ProcessState.ExitCode()
}

// await blocks until the server answers.
func (s *server) await(ctx context.Context) error {
	s.mu.Lock()
	up := s.up
	s.mu.Unlock()
	select {
	case <-up:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ownCrashes returns the ends that nobody had asked for.
func (s *server) ownCrashes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.crashes
}
