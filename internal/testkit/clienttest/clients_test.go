//go:build unix

package clienttest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

// TestClients: the clients in other languages reach schedules, pauses, limits, the inbox, signals and events alike.
func TestClients(t *testing.T) {
	t.Parallel()
	const want = `schedules hourly nightly
state nightly paused
left nightly
pauses charge
limits charge=2
nothing 0 0
letter orders open
groups 1
signals order-17
events stream.open pending
templates 0
result True
ended task.state
refused /cron True
`
	for _, l := range languages {
		if l.name == "Go" || l.threads {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			program, env, err := l.command()
			testserver.OrSkip(t, err)
			last := len(program) - 1
			program[last] = filepath.Join(filepath.Dir(program[last]),
				strings.Replace(filepath.Base(program[last]), "behaviour_worker", "behaviour_client", 1))
			s := serve(t)
			cmd := exec.CommandContext(t.Context(), program[0], program[1:]...)
			cmd.Env = append(append(os.Environ(), env...), "TASKER_SERVER="+s.URL(), "TASKER_API_KEY="+adminKey)
			var errors strings.Builder
			cmd.Stderr = &errors
			out, err := cmd.Output()
			if err != nil || string(out) != want || errors.Len() > 0 {
				t.Errorf("%v: it prints\n%s%s\nwant\n%s", err, out, &errors, want)
			}
		})
	}
}
