package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

// StartStandby starts a standby of s that ends with t. Call it after the start of s, so that it ends first.
func (s *Server) StartStandby(t testing.TB, settings ...string) *Server {
	t.Helper()
	standby, err := s.LaunchStandby(settings...)
	testserver.OrSkip(t, err)
	standby.closeWith(t)
	return standby
}

// LaunchStandby copies a running server, and starts the copy as its standby, with the same password. Its name for s is
// "standby" (synchronous_standby_names). The caller closes it.
func (s *Server) LaunchStandby(settings ...string) (*Server, error) {
	program := filepath.Join(s.programs, "pg_basebackup")
	if _, err := exec.LookPath(program); err != nil {
		return nil, fmt.Errorf("pg_basebackup, of PostgreSQL's client programs, is %w", testserver.ErrMissing)
	}
	home, err := testserver.NewHome("standby", lastAct)
	if err != nil {
		return nil, err
	}
	copied := &Server{password: s.password, programs: s.programs}
	source := fmt.Sprintf("host=127.0.0.1 port=%d user=postgres password=%s application_name=standby", s.Port(),
		s.password)
	cmd := home.Command(program, "-d", source, "-D", "data", "-R", "-X", "stream", "-c", "fast", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("copy a server: %w\n%s", err, out), home.Close())
	}
	return copied, copied.begin(home, settings)
}

// Promote makes a standby a primary, and returns once it accepts writes. No statement waits for that: the replay
// cancels those whose snapshot is in the way ("conflict with recovery").
func (s *Server) Promote() error {
	asked := s.Execute("SELECT pg_promote(false)")
	for end := time.Now().Add(testserver.Patience); ; time.Sleep(5 * time.Millisecond) {
		recovering, err := s.Ask("SELECT pg_is_in_recovery()::text")
		switch {
		case err == nil && recovering == "false":
			return nil
		case time.Now().After(end):
			return fmt.Errorf("promote a standby: it still is one: %w", errors.Join(asked, err))
		case asked != nil:
			asked = s.Execute("SELECT pg_promote(false)")
		}
	}
}

// Execute runs a statement on the server, as its superuser.
func (s *Server) Execute(statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), testserver.Patience)
	defer cancel()
	conn, err := connect(ctx, s.DSN())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("execute %q: %w", statement, err)
	}
	return nil
}

// Ask returns the one text that a question is answered with.
func (s *Server) Ask(question string) (answer string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), testserver.Patience)
	defer cancel()
	conn, err := connect(ctx, s.DSN())
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	if err := conn.QueryRow(ctx, question).Scan(&answer); err != nil {
		return "", fmt.Errorf("ask %q: %w", question, err)
	}
	return answer, nil
}

// Freeze stops all processes of the server, like a machine that hangs: its connections stay open, without answers.
func (s *Server) Freeze() error { return s.signalAll("STOP") }

// Thaw continues a frozen server. It leaves any other alone.
func (s *Server) Thaw() error { return s.signalAll("CONT") }

// signalAll reaches the children, too: each has its own process group. The postmaster comes first, so that it starts no
// others.
func (s *Server) signalAll(signal string) error {
	pid := s.server.Process()
	if pid == 0 {
		return nil
	}
	const script = `kill -%[1]s %[2]d; for child in $(ps -A -o pid=,ppid= | awk '$2 == %[2]d {print $1}'); ` +
		`do kill -%[1]s "$child" 2>/dev/null; done; true`
	if out, err := exec.Command("/bin/sh", "-c", fmt.Sprintf(script, signal, pid)).CombinedOutput(); err != nil {
		return fmt.Errorf("send SIG%s to all processes of a server: %w\n%s", signal, err, out)
	}
	return nil
}
