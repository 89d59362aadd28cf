package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/cli"
)

// watcher is an output that calls back once at a match.
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

// TestDemoStays: on a terminal, or with --stay, the demo runs until it is interrupted, and its proposed repair
// completes the task.
func TestDemoStays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args     []string
		terminal bool
	}{
		"Terminal": {[]string{"/usr/local/bin/tasker", "demo", "--records", "60"}, true},
		"Stay":     {[]string{"/usr/local/bin/tasker", "demo", "--records", "60", "--stay"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			var out *watcher
			repaired := make(chan string, 1)
			out = &watcher{re: regexp.MustCompile(`run until you press Ctrl-C`), then: func([]string) {
				repaired <- repairAsSuggested(ctx, out.String())
				cancel()
			}}
			code := cli.Run(ctx, cli.Process{
				Args: c.args, Version: "test",
				In: strings.NewReader(""), Out: out, Err: io.Discard, Terminal: c.terminal, Now: time.Now,
			})
			if code != 0 {
				t.Errorf("the demo ended with %d", code)
			}
			select {
			case said := <-repaired:
				if !strings.Contains(said, "State: complete\n") || !strings.Contains(said, "Steps: 6 of 6 done") {
					t.Errorf("after the repair that is suggested:\n%s", said)
				}
			default:
				t.Fatalf("the demo did not stay up:\n%s", out)
			}
		})
	}
}

// repairAsSuggested runs the last two commands of a demo's output.
func repairAsSuggested(ctx context.Context, text string) string {
	var said bytes.Buffer
	text = strings.ReplaceAll(text[strings.Index(text, "Repair it"):], "\\\n", "")
	for _, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "  /usr/local/bin/tasker ") {
			continue
		}
		var args []string
		for _, word := range regexp.MustCompile(`'[^']*'|\S+`).FindAllString(line, -1) {
			args = append(args, strings.Trim(word, "'"))
		}
		if code := cli.Run(ctx, cli.Process{
			Args: args, Version: "test", In: strings.NewReader(""), Out: &said, Err: &said, Now: time.Now,
		}); code != 0 {
			fmt.Fprintf(&said, "exit code %d of %q\n", code, args)
		}
	}
	return said.String()
}

func TestDemoOpensTheDashboard(t *testing.T) {
	t.Parallel()
	browser := filepath.Join(t.TempDir(), "browser")
	if err := os.WriteFile(browser, []byte("#!/bin/sh\necho \"$1\" >> \"$0.called\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args     []string
		terminal bool
		want     int
	}{
		{[]string{"--exit"}, false, 0},
		{[]string{"--exit", "--no-browser"}, true, 0},
		{[]string{"--exit"}, true, 0}, // the server is gone before anybody could look
	} {
		if n := opened(t, browser, c.terminal, c.args...); n != c.want {
			t.Errorf("%v on a terminal (%v): the browser was called %d times, want %d", c.args, c.terminal, n, c.want)
		}
	}
	if n := opened(t, browser, true); n != 1 {
		t.Errorf("the browser was called %d times", n)
	}
	if n := opened(t, browser, true, "--no-browser"); n != 0 {
		t.Errorf("--no-browser: the browser was called %d times", n)
	}
}

// opened runs a small demo, and returns the number of browser calls.
func opened(t *testing.T, browser string, terminal bool, args ...string) int {
	t.Helper()
	_ = os.Remove(browser + ".called")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	calls := func() int {
		text, err := os.ReadFile(browser + ".called")
		if err != nil {
			return 0
		}
		return strings.Count(string(text), "http://127.0.0.1:")
	}
	out := &watcher{re: regexp.MustCompile(`run until you press Ctrl-C`), then: func([]string) {
		cancel()
	}}
	cli.Run(ctx, cli.Process{
		Args: append([]string{"tasker", "demo", "--records", "60"}, args...), Version: "test",
		Environ: []string{"BROWSER=" + browser}, In: strings.NewReader(""), Out: out, Err: io.Discard,
		Terminal: terminal, Now: time.Now,
	})
	if strings.Contains(out.String(), "opens in your browser") {
		for range 100 { // the program is asynchronous
			if calls() > 0 {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return calls()
}

func TestIncidentWaitsForItsReader(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	in, keyboard := io.Pipe()
	out := &watcher{re: regexp.MustCompile(`Press Enter`), then: func([]string) {
		_, _ = io.WriteString(keyboard, "\n")
		_ = keyboard.Close() // the end of the input continues immediately
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
