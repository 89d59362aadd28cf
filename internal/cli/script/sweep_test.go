//go:build unix

package script_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/taskerhq/tasker/internal/cli/script"
)

// TestSweep: directories of dead workers go; those of running programs, even of this process, and unknown ones
// stay.
func TestSweep(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	in := func(names ...string) string { return filepath.Join(append([]string{tmp}, names...)...) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"tasker-step-dead", "tasker-step-unknown", "other"} {
		must(os.Mkdir(in(dir), 0o700))
		must(os.WriteFile(in(dir, "checkpoint.json"), []byte("1"), 0o600))
	}
	for _, dir := range []string{"tasker-step-dead", "other"} {
		must(os.WriteFile(in(dir, ".owner"), nil, 0o600))
	}
	must(os.Symlink(in("other"), in("tasker-step-link")))
	must(syscall.Mkfifo(in("says"), 0o600))
	must(syscall.Mkfifo(in("hears"), 0o600))

	run := handler(t, `dirname "$TASKER_CHECKPOINT_FILE" > says; cat hears`, &script.Options{Dir: tmp})
	ended := make(chan error, 1)
	go func() {
		_, err := run(t.Context(), job())
		ended <- err
	}()
	said, err := os.ReadFile(in("says"))
	must(err)
	alive := filepath.Base(strings.TrimSpace(string(said)))

	script.Sweep()
	left := func() (names []string) {
		entries, err := os.ReadDir(tmp)
		must(err)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	if got := strings.Join(left(), " "); strings.Contains(got, "dead") || !strings.Contains(got, alive) ||
		!strings.Contains(got, "unknown") || !strings.Contains(got, "link") || !strings.Contains(got, "other") {
		t.Errorf("the program in %s runs; swept to %s", alive, got)
	}
	must(os.WriteFile(in("hears"), []byte("5"), 0o600))
	must(<-ended)
	if got := strings.Join(left(), " "); strings.Contains(got, alive) {
		t.Errorf("the program in %s is over, and left are %s", alive, got)
	}
}
