package deploytest_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/host/config"
)

func text(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile("../../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func all(pattern, in string) []string {
	var found []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(in, -1) {
		found = append(found, m[1])
	}
	return found
}

// TestDockerfile: the image is built with the module's Go, runs as nobody, checks its health, and its variables are
// settings.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	file := strings.ReplaceAll(text(t, "deploy/docker/Dockerfile"), "\\\n", " ")
	want := all(`(?m)^go (\d+\.\d+)`, text(t, "go.mod"))
	if got := all(`golang:(\d+\.\d+)-alpine`, file); len(got) != 1 || got[0] != want[0] {
		t.Errorf("it builds with Go %v, the module with %v", got, want)
	}
	_, last, ok := strings.Cut(file, "\nFROM scratch\n")
	if !ok {
		t.Fatal("the last stage is not FROM scratch")
	}
	if user := all(`(?m)^USER (\d+):\d+$`, last); len(user) != 1 || user[0] == "0" {
		t.Errorf("it runs as %v", user)
	}
	for _, line := range []string{`HEALTHCHECK `, `CMD ["/usr/local/bin/tasker", "health"]`,
		`ENTRYPOINT ["/usr/local/bin/tasker"]`, `CMD ["serve"]`, "CGO_ENABLED=0", "-X main.version=$VERSION"} {
		if !strings.Contains(file, line) {
			t.Errorf("it lacks %s", line)
		}
	}
	if _, err := config.Load(config.Sources{Environ: append(all(`(TASKER_\w+=\S+)`, last),
		"TASKER_SERVER_ALLOW_OPEN=true")}); err != nil {
		t.Error(err)
	}
}

// TestDockerignore: all sources of the program reach the builder.
func TestDockerignore(t *testing.T) {
	t.Parallel()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=Dir,Module,EmbedFiles", "./cmd/tasker")
	list.Dir = "../../.."
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	ignored := map[string]bool{}
	for line := range strings.Lines(text(t, "deploy/docker/Dockerfile.dockerignore")) {
		ignored[strings.TrimSpace(line)] = true
	}
	files := 0
	for from := json.NewDecoder(strings.NewReader(string(out))); from.More(); {
		var p struct {
			Dir        string
			Module     *struct{ Path string }
			EmbedFiles []string
		}
		if err := from.Decode(&p); err != nil {
			t.Fatal(err)
		}
		if p.Module == nil || p.Module.Path != "github.com/taskerhq/tasker" {
			continue
		}
		for _, file := range append(p.EmbedFiles, "x.go") {
			path, err := filepath.Rel(root, filepath.Join(p.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			if top, _, _ := strings.Cut(filepath.ToSlash(path), "/"); ignored[top] || ignored["**/*"+filepath.Ext(path)] {
				t.Errorf("%s is not sent to the builder of the image", path)
			}
			files++
		}
	}
	if files < 100 {
		t.Errorf("%d files were looked at", files)
	}
}

// TestUnit: the systemd unit names settings, gives the server time to drain, and passes systemd's check where
// installed.
func TestUnit(t *testing.T) {
	t.Parallel()
	const name = "deploy/systemd/tasker.service"
	unit := text(t, name)
	if _, err := config.Load(config.Sources{Environ: all(`(?m)^Environment=(TASKER_DB=\S+)$`, unit)}); err != nil {
		t.Error(err)
	}
	for _, line := range []string{"DynamicUser=yes", "NoNewPrivileges=yes", "ProtectSystem=strict",
		"CapabilityBoundingSet=\n",
		"RestartPreventExitStatus=2\n", "TimeoutStopSec=45s"} {
		if !strings.Contains(unit, line) {
			t.Errorf("it lacks %s", strings.TrimSpace(line))
		}
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("NOT TESTED: what systemd says of the unit; there is no systemd-analyze here")
		return
	}
	program := filepath.Join(t.TempDir(), "tasker")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "tasker.service")
	unit = strings.ReplaceAll(unit, "/usr/local/bin/tasker", program)
	if err := os.WriteFile(file, []byte(unit), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"verify", file}, {"security", "--offline=true", "--threshold=15", file}} {
		if out, err := exec.CommandContext(t.Context(), analyze, args...).CombinedOutput(); err != nil {
			t.Errorf("systemd-analyze %s: %v\n%s", args[0], err, out)
		}
	}
}
