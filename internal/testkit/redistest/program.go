package redistest

import (
	"fmt"
	"os/exec"
	"regexp"
	"strconv"

	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

// Oldest is the oldest major version of Redis that Tasker works with.
const Oldest = 7

var version = regexp.MustCompile(`\bv=(\d+)\.`)

// Program returns the path of the server: Redis, or Valkey, a compatible fork.
func Program() (string, error) {
	tooOld := ""
	for _, name := range []string{"redis-server", "valkey-server"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		out, err := exec.Command(path, "--version").Output()
		if err != nil {
			continue
		}
		m := version.FindSubmatch(out)
		if m == nil {
			continue
		}
		if major, err := strconv.Atoi(string(m[1])); err == nil && major >= Oldest {
			return path, nil
		}
		tooOld = fmt.Sprintf("; %s has version %s", path, m[1])
	}
	return "", fmt.Errorf("redis-server, version %d or newer, is %w%s", Oldest, testserver.ErrMissing, tooOld)
}
