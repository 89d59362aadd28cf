package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// server is a tasker server in another process.
type server struct {
	cmd *exec.Cmd
	url string
}

// serve starts a server, which ends with ctx, and waits until it answers.
func serve(ctx context.Context, opts Options) (*server, error) {
	cmd := exec.CommandContext(ctx, opts.Executable, "serve", "--listen", "127.0.0.1:0")
	cmd.Env = append([]string{"TASKER_LOG_LEVEL=warn"}, os.Environ()...)
	cmd.Env = append(cmd.Env, "TASKER_DB="+opts.DB) // the command line would show a password to everybody
	if opts.Dispatch != "" {
		cmd.Env = append(cmd.Env, "TASKER_DISPATCH="+opts.Dispatch)
	}
	if opts.Transport != "" {
		cmd.Env = append(cmd.Env, "TASKER_MESSAGE_QUEUE_RABBITMQ_URL="+opts.Transport)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stderr = os.Stderr //nolint:forbidigo // what the server complains about belongs here
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	s := &server{cmd: cmd}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, rest, ok := strings.Cut(lines.Text(), "http://"); ok {
			url, _, _ := strings.Cut(rest, " ")
			s.url = "http://" + url
			return s, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("the server ended without saying where it listens"), s.stop())
}

// stop shuts the server down and waits. A bad exit code is an error, as it may hide a fault.
func (s *server) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the server: %w", err)
	}
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("the server ended badly: %w", err)
	}
	return nil
}
