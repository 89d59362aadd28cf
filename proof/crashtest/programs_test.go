//go:build unix

package crashtest_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/testkit/process"
)

// TestProgramsEndWithTheirWorker: a program does not continue beside the next worker of its step.
func TestProgramsEndWithTheirWorker(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), runLimit)
	defer cancel()
	nodes, client := scheduleServers(t, "sqlite:"+filepath.Join(t.TempDir(), "tasker.db"), 1)
	if err := nodes[0].Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Run("SecondSignal", func(t *testing.T) {
		w := startPrograms(ctx, t, nodes[0], t.TempDir(),
			"deaf=trap '' TERM; exec 3> life; echo begun >&3; sleep 60 & sleep 60")
		task := w.begin(ctx, t, client, "deaf")
		w.signal(t, syscall.SIGTERM)
		w.says(ctx, t, "a second signal kills them")
		w.signal(t, syscall.SIGTERM)
		w.programsEnd(ctx, t)
		if err := w.cmd.Wait(); err != nil {
			t.Errorf("the worker ended with %v", err)
		}
		h, err := client.TaskHistory(ctx, task)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(h.Attempts); n != 1 || h.Attempts[0].Outcome != "released" {
			t.Errorf("the attempts are %+v; want one that was released", h.Attempts)
		}
	})
	t.Run("Killed", func(t *testing.T) {
		tmp := t.TempDir()
		w := startPrograms(ctx, t, nodes[0], tmp, "simple=exec 3> life; echo begun >&3; exec sleep 60")
		w.begin(ctx, t, client, "simple")
		w.signal(t, syscall.SIGKILL)
		_ = w.cmd.Wait() // it was killed
		if runtime.GOOS == "linux" {
			w.programsEnd(ctx, t)
		}
		if n := len(stepDirs(t, tmp)); n != 1 {
			t.Errorf("the killed worker left %d directories, want one", n)
		}
		next := startPrograms(ctx, t, nodes[0], tmp, "other=true")
		next.says(ctx, t, "worker serves")
		if left := stepDirs(t, tmp); len(left) > 0 {
			t.Errorf("the next worker left %v", left)
		}
		next.signal(t, syscall.SIGTERM)
		if err := next.cmd.Wait(); err != nil {
			t.Errorf("the next worker ended with %v", err)
		}
	})
}

// programs is `tasker worker` with a handler that holds the pipe "life" in its directory open.
type programs struct {
	cmd  *exec.Cmd
	dir  string
	said chan string // lines of standard error
	over chan error  // the pipe has no writer left
}

func startPrograms(ctx context.Context, t *testing.T, s *process.Server, tmp, handler string) *programs {
	t.Helper()
	w := &programs{dir: t.TempDir(), said: make(chan string, 100), over: make(chan error, 1)}
	if err := syscall.Mkfifo(filepath.Join(w.dir, "life"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.cmd = s.Group.Command(s.Program, "worker", "--server", s.URL(), "--handler", handler)
	w.cmd.Dir, w.cmd.Env = w.dir, append(os.Environ(), "TMPDIR="+tmp)
	log, err := w.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(w.said)
		for lines := bufio.NewScanner(log); lines.Scan(); {
			select {
			case w.said <- lines.Text():
			case <-ctx.Done():
			}
		}
	}()
	return w
}

// begin submits a task and returns when its program runs.
func (w *programs) begin(ctx context.Context, t *testing.T, client *tasker.Client, handler string) uuid.UUID {
	t.Helper()
	receipt, err := client.Submit(ctx, tasker.TaskRequest{TaskType: handler})
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan error, 1)
	go func() {
		life, err := os.Open(filepath.Join(w.dir, "life")) // waits for the program
		if err == nil {
			_, err = io.ReadFull(life, make([]byte, len("begun\n")))
		}
		begun <- err
		_, err = io.Copy(io.Discard, life)
		w.over <- err
	}()
	select {
	case err := <-begun:
		if err != nil {
			t.Fatal(err)
		}
	case <-ctx.Done():
		t.Fatal("the program did not begin")
	}
	return receipt.TaskUUID
}

// programsEnd returns when no process of the program is left.
func (w *programs) programsEnd(ctx context.Context, t *testing.T) {
	t.Helper()
	select {
	case err := <-w.over:
		if err != nil {
			t.Error(err)
		}
	case <-ctx.Done():
		t.Fatal("the program runs without its worker")
	}
}

func (w *programs) says(ctx context.Context, t *testing.T, want string) {
	t.Helper()
	for {
		select {
		case line, ok := <-w.said:
			if !ok {
				t.Fatalf("the worker ended and did not say %q", want)
			}
			if strings.Contains(line, want) {
				return
			}
		case <-ctx.Done():
			t.Fatalf("the worker did not say %q", want)
		}
	}
}

func (w *programs) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := w.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

func stepDirs(t *testing.T, tmp string) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(tmp, "tasker-step-*"))
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}
