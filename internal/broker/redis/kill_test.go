package redis_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/testkit/await"
)

// Variables that tell a child process what to capture: kind, URL, queue, file.
const victim = "TASKER_REDIS_VICTIM"

// TestKills kills capturing processes at any moment. Every message is captured, and a second capture has the same
// position.
func TestKills(t *testing.T) {
	if of := os.Getenv(victim); of != "" {
		capture(t, strings.Split(of, "\n"))
		return
	}
	if testing.Short() {
		t.Skip("it takes seconds to take over")
	}
	s := server(t)
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const total, kills = 3000, 12
			queue, file := kind.queue(t, s), filepath.Join(t.TempDir(), "captured")
			url := as(t, s, kind.user, "gone=1s")
			d := open(t, kind.open, url)
			start := func() *exec.Cmd {
				c := exec.Command(os.Args[0], "-test.run=^TestKills$")
				c.Env = append(os.Environ(), victim+"="+strings.Join([]string{name, url, queue, file}, "\n"))
				c.Stderr = os.Stderr
				if _, err := c.StdinPipe(); err != nil { // its end is the end of this process
					t.Fatal(err)
				}
				if err := c.Start(); err != nil {
					t.Fatal(err)
				}
				return c
			}
			running := []*exec.Cmd{start(), start()}
			end := func(c *exec.Cmd) {
				_ = c.Process.Kill()
				_ = c.Wait()
			}
			defer func() {
				for _, c := range running {
					end(c)
				}
			}()
			for n := range kills {
				var batch []driver.Message
				for i := range total / kills {
					batch = append(batch, driver.Message{Payload: fmt.Appendf(nil, "m%d", n*total/kills+i)})
				}
				before := len(captured(t, file))
				send(t, d, queue, batch...)
				await.Until(t, "some of them to be captured", func() bool { return len(captured(t, file)) > before })
				time.Sleep(rand.N(20 * time.Millisecond))
				end(running[n%2])
				running[n%2] = start()
			}
			await.Until(t, "all to be captured", func() bool { return len(captured(t, file)) >= total })
			again := 0
			for payload, positions := range captured(t, file) {
				first := positions[0]
				for _, p := range positions[1:] {
					again++
					if p != first {
						t.Errorf("message %s was captured at %s and at %s", payload, first, p)
					}
				}
			}
			t.Logf("%d of %d messages came again under their positions", again, total)
		})
	}
}

func captured(t *testing.T, file string) map[string][]string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for line := range strings.Lines(string(content)) {
		if payload, position, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok {
			out[payload] = append(out[payload], position)
		}
	}
	return out
}

// capture stores batches in a file and acknowledges them, until it is killed or its parent is gone.
func capture(t *testing.T, of []string) {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	d := open(t, kinds[of[0]].open, of[1])
	r := receiverOf(t, d, of[2])
	file, err := os.OpenFile(of[3], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for {
		batch, err := r.Receive(t.Context(), 40)
		if err != nil {
			t.Fatal(err)
		}
		var lines strings.Builder
		for _, m := range batch {
			fmt.Fprintf(&lines, "%s %s\n", m.Payload, m.Position)
		}
		if _, err := file.WriteString(lines.String()); err != nil { // in one piece, as a commit
			t.Fatal(err)
		}
		time.Sleep(4 * time.Millisecond) // many kills happen between this commit and its acknowledgement
		if err := r.Ack(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
}
