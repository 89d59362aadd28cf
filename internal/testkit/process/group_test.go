//go:build unix

package process

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestGroup: members of a group end with the process that made it.
func TestGroup(t *testing.T) {
	t.Parallel()
	t.Run("Closed", func(t *testing.T) {
		t.Parallel()
		g, err := NewGroup()
		if err != nil {
			t.Fatal(err)
		}
		member := g.Command("sleep", "600")
		if err := member.Start(); err != nil {
			t.Fatal(err)
		}
		g.Close()
		if err := member.Wait(); err == nil || err.Error() != "signal: killed" {
			t.Errorf("the member ended with %v", err)
		}
	})
	t.Run("OwnerKilled", func(t *testing.T) {
		t.Parallel()
		owner := exec.Command(os.Args[0], "-test.run", "^TestOwner$")
		owner.Env = append(os.Environ(), "TASKER_TEST_OWNER=1")
		owner.Stderr = os.Stderr
		said, err := owner.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := owner.Start(); err != nil {
			t.Fatal(err)
		}
		// The member writes into the same pipe, so this ends when both are gone.
		var out bytes.Buffer
		killed := false
		buffer := make([]byte, 1<<10)
		for {
			n, err := said.Read(buffer)
			out.Write(buffer[:n])
			if !killed && strings.Contains(out.String(), "here I am") {
				killed = true
				if err := owner.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			if err != nil {
				break
			}
		}
		if !killed {
			t.Errorf("the member did not come up: %s", out.String())
		}
		_ = owner.Wait() // it was killed
	})
}

func TestOwner(t *testing.T) {
	if os.Getenv("TASKER_TEST_OWNER") == "" {
		return // an ordinary test run does nothing
	}
	g, err := NewGroup()
	if err != nil {
		t.Fatal(err)
	}
	member := g.Command("sh", "-c", "echo here I am; exec sleep 600")
	member.Stdout = os.Stdout
	if err := member.Start(); err != nil {
		t.Fatal(err)
	}
	_ = member.Wait()
}
