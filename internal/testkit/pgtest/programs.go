package pgtest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

// Oldest is the oldest major version of PostgreSQL that Tasker works with.
const Oldest = 15

// places are where distributions put PostgreSQL's programs outside of the search path.
var places = []string{
	"/usr/lib/postgresql/*/bin", // Debian, Ubuntu
	"/usr/pgsql-*/bin",          // the packages of postgresql.org for Red Hat
	"/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin",
	"/usr/local/pgsql/bin",
}

var version = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// Programs returns the directory of PostgreSQL's programs: those in the search path, or else the newest installed ones.
func Programs() (string, error) {
	best, found := "", 0
	consider := func(dir string) {
		if _, err := exec.LookPath(filepath.Join(dir, "initdb")); err != nil {
			return
		}
		out, err := exec.Command(filepath.Join(dir, "postgres"), "--version").Output()
		if err != nil {
			return
		}
		m := version.FindSubmatch(out)
		if m == nil {
			return
		}
		if major, err := strconv.Atoi(string(m[1])); err == nil && major > found {
			best, found = dir, major
		}
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real // initdb is beside it there
		}
		consider(filepath.Dir(path))
	}
	if found < Oldest {
		for _, place := range places {
			dirs, _ := filepath.Glob(place) // an error is a bad pattern
			for _, dir := range dirs {
				consider(dir)
			}
		}
	}
	switch {
	case found == 0:
		return "", fmt.Errorf("PostgreSQL's server (postgres, initdb, pg_ctl) is %w", testserver.ErrMissing)
	case found < Oldest:
		return "", fmt.Errorf("PostgreSQL %d or newer is %w; %s has version %d", Oldest, testserver.ErrMissing, best, found)
	}
	return best, nil
}
