package rabbittest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

func vhosts(t *testing.T, url string) map[string]bool {
	t.Helper()
	var all []struct{ Name string }
	if err := json.Unmarshal(Manage(t, url, http.MethodGet, "/api/vhosts", nil), &all); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, v := range all {
		names[v.Name] = true
	}
	return names
}

func TestShared(t *testing.T) {
	t.Parallel()
	outer := Shared(t)
	var inner string
	t.Run("Apart", func(t *testing.T) {
		if inner = Shared(t); VhostOf(inner) == VhostOf(outer) {
			t.Fatal("two tests have one virtual host")
		}
		Manage(t, inner, http.MethodPut, "/api/queues/{vhost}/q", map[string]any{"durable": true})
		if all := vhosts(t, outer); !all[VhostOf(inner)] || !all[VhostOf(outer)] {
			t.Errorf("there are %v", all)
		}
	})
	t.Run("DeletedWithTheTest", func(t *testing.T) {
		if all := vhosts(t, outer); all[VhostOf(inner)] || !all[VhostOf(outer)] {
			t.Errorf("there are %v", all)
		}
	})
}

// TestServer tests everything with one server, because each start takes seconds.
func TestServer(t *testing.T) {
	t.Parallel()
	s, tls := StartTLS(t, true)
	t.Logf("it listens at %d, TLS is %s", s.Port(), tls.CA)
	url := s.URL()
	durable := map[string]any{"durable": true}
	Manage(t, url, http.MethodPut, "/api/queues/%2F/kept", durable)

	alarms := func(want string) {
		t.Helper()
		deadline := time.Now().Add(10 * time.Second)
		for {
			got, err := s.Eval("rabbit_alarm:get_alarms()")
			if err != nil {
				t.Fatal(err)
			}
			if want == "" && got == "[]" || want != "" && strings.Contains(got, want) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("the alarms are %s, want %s", got, want)
			}
		}
	}
	alarms("")
	for name, set := range map[string]func(bool) error{"memory": s.MemoryAlarm, "disk": s.DiskAlarm} {
		if err := set(true); err != nil {
			t.Fatal(err)
		}
		alarms("{resource_limit," + name)
		if err := set(false); err != nil {
			t.Fatal(err)
		}
		alarms("")
	}

	if err := s.Freeze(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	if err := s.greet(ctx, s.Port()); err == nil {
		t.Error("a frozen server answers")
	}
	cancel()
	if err := s.Thaw(); err != nil {
		t.Fatal(err)
	}

	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.greet(t.Context(), s.Port()); err == nil {
		t.Error("a killed server answers")
	}
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	if s.URL() != url {
		t.Error("the server is somewhere else")
	}
	Manage(t, url, http.MethodGet, "/api/queues/%2F/kept", nil)
}

func TestUser(t *testing.T) {
	t.Parallel()
	url := Shared(t)
	limited := NewUser(t, url, "^$", "^$", "^only$")
	if limited == url || VhostOf(limited) != VhostOf(url) {
		t.Errorf("the user has the URL %s", limited)
	}
	got := string(Manage(t, url, http.MethodGet, "/api/vhosts/{vhost}/permissions", nil))
	if !strings.Contains(got, "^only$") {
		t.Errorf("the permissions are %s", got)
	}
}

// TestNothingIsLeft kills a process that has started a server: the server and its directory go, too.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	if os.Getenv("RABBITTEST_ORPHAN") != "" {
		s := Start(t)
		fmt.Printf("\nSERVER %d %s\n", s.Port(), s.server.Home.Dir)
		select {} // until we are killed
	}
	_, err := Program()
	testserver.OrSkip(t, err)
	cmd := exec.Command(os.Args[0], "-test.run=^TestNothingIsLeft$")
	cmd.Env = append(os.Environ(), "RABBITTEST_ORPHAN=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var port int
	var dir string
	for lines := bufio.NewScanner(out); dir == "" && lines.Scan(); {
		_, _ = fmt.Sscanf(lines.Text(), "SERVER %d %s", &port, &dir) // else it is another line
	}
	if _, err := os.Stat(dir); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	deadline := time.Now().Add(time.Minute)
	for tick := time.NewTicker(10 * time.Millisecond); ; <-tick.C {
		if _, err := os.Stat(dir); os.IsNotExist(err) {
			tick.Stop()
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("a minute later %s is still there", dir)
		}
	}
	if err := (&Server{}).greet(t.Context(), port); err == nil {
		t.Error("the server is still there")
	}
}
