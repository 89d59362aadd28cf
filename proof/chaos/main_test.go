package main_test

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestInterrupted: an interrupted run leaves nothing behind, even if killed.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "chaos")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	t.Run("SIGTERM", func(t *testing.T) {
		t.Parallel()
		r := begin(t, program)
		r.signal(t, syscall.SIGTERM)
		if code := r.cmd.ProcessState.ExitCode(); code != 2 {
			t.Errorf("it ended with exit code %d; 2 is a run that could not be carried out", code)
		}
		r.gone(t, time.Second)
		if entries, err := os.ReadDir(r.dir); err != nil || len(entries) > 0 {
			t.Errorf("its temporary directory holds %v, %v", entries, err)
		}
	})
	t.Run("SIGKILL", func(t *testing.T) {
		t.Parallel()
		r := begin(t, program)
		r.signal(t, syscall.SIGKILL)
		r.gone(t, time.Minute)
	})
}

type running struct {
	cmd       *exec.Cmd
	out       io.Reader
	dir       string // for temporary files
	addresses []string
}

var address = regexp.MustCompile(`127\.0\.0\.1:\d+`)

func begin(t *testing.T, program string) *running {
	t.Helper()
	// PostgreSQL may run under another account, without access to t.TempDir.
	dir, err := os.MkdirTemp("", "tasker-chaos-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r := &running{cmd: exec.Command(program, "-minutes", "10"), dir: dir}
	r.cmd.Env = append(os.Environ(), "TMPDIR="+r.dir)
	r.cmd.Stderr = os.Stderr
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.cmd.Process.Kill() }) // an error means that it has ended
	lines := bufio.NewScanner(out)
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
		r.addresses = append(r.addresses, address.FindAllString(lines.Text(), -1)...)
		if strings.HasPrefix(lines.Text(), "  1. ") {
			r.out = out
			return r
		}
	}
	if os.Getenv("CI") != "true" && strings.Contains(strings.Join(said, "\n"), "not installed") {
		t.Skip("SKIPPED, NOT TESTED: PostgreSQL's programs are not installed")
	}
	t.Fatalf("no fault ever struck:\n%s", strings.Join(said, "\n"))
	return nil
}

func (r *running) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if len(r.addresses) < 4 {
		t.Fatalf("it names %v; three nodes and PostgreSQL listen", r.addresses)
	}
	if err := r.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, r.out); err != nil {
		t.Error(err)
	}
	_ = r.cmd.Wait() // the test looks at how it ended
}

func (r *running) gone(t *testing.T, patience time.Duration) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for _, addr := range r.addresses {
		for {
			c, err := net.DialTimeout("tcp", addr, time.Second)
			if err != nil {
				break
			}
			c.Close()
			if time.Now().After(deadline) {
				t.Errorf("%s still listens", addr)
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}
