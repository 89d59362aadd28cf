package testserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Patience bounds the wait for a server. RabbitMQ and Kafka take seconds to start, and more than a minute on a busy
// machine.
const Patience = 3 * time.Minute

// errEnded means that a server ended instead of answering.
var errEnded = errors.New("the server ended")

// Server is a program that serves on 127.0.0.1. Fill in the exported fields and call Begin. Its methods are safe for
// concurrent use.
type Server struct {
	Name    string // for people
	Home    *Home
	Program func(port int) (*exec.Cmd, error)         // a command of Home's
	Greet   func(ctx context.Context, port int) error // nil: it lets clients in
	// Kill ends the server for good, leaving only files.
	Kill os.Signal

	mu      sync.Mutex
	log     *os.File
	port    int
	process *exec.Cmd // nil while it is down
}

// Begin starts the server on a free port and returns when it answers. After a failure the home is removed.
func (s *Server) Begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.begin()
	if err != nil {
		return errors.Join(err, s.Home.Close())
	}
	return nil
}

func (s *Server) begin() error {
	var err error
	if s.log, err = os.Create(filepath.Join(s.Home.Dir, "log")); err != nil {
		return fmt.Errorf("create the log of %s: %w", s.Name, err)
	}
	for range 10 {
		if s.port, err = FreePort(); err != nil {
			break
		}
		if err = s.up(); !errors.Is(err, errEnded) {
			break // else another process was faster on the port
		}
	}
	if err != nil {
		s.log.Close()
	}
	return err
}

// Port returns the TCP port on 127.0.0.1. It stays the same over a restart.
func (s *Server) Port() int { return s.port }

// Process returns the number of the process, 0 while the server is down.
func (s *Server) Process() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return 0
	}
	return s.process.Process.Pid
}

// Stop sends a signal that ends the server, and returns when it is down.
func (s *Server) Stop(signal os.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down(signal)
}

// Restart signals a running server first, and returns when it answers again.
func (s *Server) Restart(signal os.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.down(signal); err != nil {
		return err
	}
	// Children of a killed server may hold its memory for a moment.
	for deadline := time.Now().Add(Patience); ; time.Sleep(20 * time.Millisecond) {
		if err := s.up(); !errors.Is(err, errEnded) || time.Now().After(deadline) {
			return err
		}
	}
}

// Close ends the server and removes its home.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.down(s.Kill), s.log.Close(), s.Home.Close())
}

// CloseWith closes the server when t ends, and shows the end of its log when t has failed.
func (s *Server) CloseWith(t testing.TB) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of the log of %s:\n%s", s.Name, tail(s.log.Name(), 30))
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// up starts the process and returns when it answers.
func (s *Server) up() error {
	cmd, err := s.Program(s.port)
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = s.log, s.log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", s.Name, err)
	}
	s.process = cmd
	// For the guard, if this process ends.
	if _, err := s.Home.Write(pidFile, fmt.Sprint(cmd.Process.Pid)); err != nil {
		return errors.Join(err, s.down(s.Kill))
	}
	err = s.answers(cmd.Process)
	if errors.Is(err, errEnded) {
		s.process = nil
		return errors.Join(fmt.Errorf("%s: %w; its log says:\n%s", s.Name, err, tail(s.log.Name(), 10)), s.forget())
	}
	if err != nil {
		return errors.Join(err, s.down(s.Kill))
	}
	return nil
}

func (s *Server) answers(p *os.Process) error {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	for {
		err := s.Greet(ctx, s.port)
		switch {
		case err == nil:
			return nil
		case exited(p):
			return errEnded
		case ctx.Err() != nil:
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (s *Server) down(signal os.Signal) error {
	if s.process == nil {
		return nil
	}
	cmd := s.process
	if err := cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", s.Name, err)
	}
	s.process = nil
	late := time.AfterFunc(Patience, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait() // how it ended is in its log
	err := s.forget()
	if !late.Stop() {
		err = errors.Join(err, fmt.Errorf("%s did not stop within %v and was killed", s.Name, Patience))
	}
	return err
}

func (s *Server) forget() error { return os.Remove(filepath.Join(s.Home.Dir, pidFile)) }

func tail(path string, n int) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
