package cli_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/cli"
)

// watcher is an output that calls back, once, when it holds a match.
type watcher struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	re   *regexp.Regexp
	then func(match []string)
}

func (w *watcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.buf.Write(p)
	if m := w.re.FindStringSubmatch(w.buf.String()); m != nil && w.then != nil {
		go w.then(m)
		w.then = nil
	}
	return n, err
}

func (w *watcher) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

func TestDemoStaysUpOnATerminalUntilInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ready := make(chan int, 1)
	out := &watcher{re: regexp.MustCompile(`dashboard shows it: (http://\S+)/`), then: func(m []string) {
		resp, err := http.Get(m[1] + "/health/ready") //nolint:noctx // the server ends with the test
		if err != nil {
			ready <- 0
		} else {
			_ = resp.Body.Close()
			ready <- resp.StatusCode
		}
		cancel() // as Ctrl-C does
	}}
	code := cli.Run(ctx, cli.Process{
		Args: []string{"/usr/local/bin/tasker", "demo", "--records", "60"}, Version: "test",
		In: strings.NewReader(""), Out: out, Err: io.Discard, Terminal: true, Now: time.Now,
	})
	if code != 0 {
		t.Errorf("the demo ended with %d", code)
	}
	select {
	case status := <-ready:
		if status != http.StatusOK {
			t.Errorf("the server answered %d while the demo was up", status)
		}
	default:
		t.Fatalf("the demo did not stay up:\n%s", out)
	}
	if !strings.Contains(out.String(), "--server http://") {
		t.Errorf("what to type next does not name the server:\n%s", out)
	}
}

// TestIncidentWaitsForItsReader: on a terminal the story waits for Enter after each step, and its commands name the
// server.
func TestIncidentWaitsForItsReader(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	in, keyboard := io.Pipe()
	out := &watcher{re: regexp.MustCompile(`Press Enter`), then: func([]string) {
		_, _ = io.WriteString(keyboard, "\n")
		_ = keyboard.Close() // the end of the input goes on at once
	}}
	code := cli.Run(ctx, cli.Process{
		Args: []string{"tasker", "demo", "incident", "--letters", "200"}, Version: "test",
		In: in, Out: out, Err: io.Discard, Terminal: true, Now: time.Now,
	})
	if code != 0 {
		t.Errorf("the demo ended with %d:\n%s", code, out)
	}
	if n := strings.Count(out.String(), "Press Enter"); n != 6 {
		t.Errorf("the story waited %d times, want 6", n)
	}
	if !strings.Contains(out.String(), "$ tasker inbox --order open --server http://") {
		t.Errorf("what to type does not name the server:\n%s", out)
	}
}
