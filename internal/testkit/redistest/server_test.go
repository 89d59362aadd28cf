package redistest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func ask(url string, command ...string) (got any, err error) {
	err = withConn(url, func(c *conn) error {
		got, err = c.do(command...)
		return err
	})
	return got, err
}

func want(t *testing.T, url string, answer any, command ...string) {
	t.Helper()
	got, err := ask(url, command...)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(answer) {
		t.Errorf("%s: %v, %v; want %v", strings.Join(command, " "), got, err, answer)
	}
}

func TestServerComesBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings []string
		end      func(*Server) error
		kept     any
	}{
		"Stop":     {nil, (*Server).Stop, 0},
		"Kill":     {nil, (*Server).Kill, 0},
		"KillKept": {[]string{"appendonly=yes", "appendfsync=always"}, (*Server).Kill, 1},
		"StopKept": {[]string{"appendonly=yes"}, (*Server).Stop, 1},
		"Up":       {[]string{"appendonly=yes"}, func(*Server) error { return nil }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Start(t, c.settings...)
			url, port := s.URL(), s.Port()
			want(t, url, "OK", "SET", "a key", "with\r\na value")
			want(t, url, "with\r\na value", "GET", "a key")
			if err := c.end(s); err != nil {
				t.Fatal(err)
			}
			if _, err := ask(url, "PING"); name != "Up" && err == nil {
				t.Error("the server still answers")
			}
			if err := s.Restart(); err != nil {
				t.Fatal(err)
			}
			if s.URL() != url || s.Port() != port {
				t.Error("the server is somewhere else")
			}
			want(t, url, c.kept, "EXISTS", "a key")
		})
	}
}

func TestPassword(t *testing.T) {
	t.Parallel()
	url := Start(t).URL()
	_, at, _ := strings.Cut(url, "@")
	if _, err := ask("redis://"+at, "PING"); err == nil || !strings.Contains(err.Error(), "NOAUTH") {
		t.Errorf("without the password: %v, want to be refused", err)
	}
}

func TestShared(t *testing.T) {
	t.Parallel()
	url, outer := Shared(t)
	want(t, url, "OK", "SET", outer+"x", "1")
	var inner string
	t.Run("Apart", func(t *testing.T) {
		var again string
		if again, inner = Shared(t); again != url || inner == outer {
			t.Fatalf("prefix %s on %s; want another than %s, on the same server", inner, again, outer)
		}
		for i := range 2500 {
			if i%500 == 0 {
				want(t, url, 500, mset(inner, i, 500)...)
			}
		}
	})
	t.Run("DeletedWithTheTest", func(t *testing.T) {
		want(t, url, 0, "EXISTS", inner+"0", inner+"1234", inner+"2499")
		want(t, url, 1, "EXISTS", outer+"x")
	})
}

// mset is a command that sets n keys and answers n.
func mset(prefix string, from, n int) []string {
	script := "for i = 1, #KEYS do redis.call('SET', KEYS[i], 'x') end return #KEYS"
	command := []string{"EVAL", script, fmt.Sprint(n)}
	for i := range n {
		command = append(command, prefix+fmt.Sprint(from+i))
	}
	return command
}

// TestNothingIsLeft kills a process that has started a server: the server and its directory go, too.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	if os.Getenv("REDISTEST_ORPHAN") != "" {
		s := Start(t)
		fmt.Println("\nURL " + s.URL())
		select {} // until we are killed
	}
	Start(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestNothingIsLeft$")
	cmd.Env = append(os.Environ(), "REDISTEST_ORPHAN=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	url, found := "", false
	for lines := bufio.NewScanner(out); !found && lines.Scan(); {
		url, found = strings.CutPrefix(lines.Text(), "URL ")
	}
	dir, err := ask(url, "CONFIG", "GET", "dir")
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	path := fmt.Sprint(dir.([]any)[1])
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("a minute later %s is still there", path)
		}
		if _, err := os.Stat(path); os.IsNotExist(err) {
			tick.Stop()
			break
		}
	}
	if _, err := ask(url, "PING"); err == nil {
		t.Error("the server is still there")
	}
}
