//go:build unix

package pagetest

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/cli"
	"github.com/taskerhq/tasker/internal/testkit/process"
)

// patience bounds how long a broken page takes to fail.
const patience = 2 * time.Minute

// Main runs the tests of an example, or makes the test binary one of its programs: tasker, and those of programs by
// name. So nothing is built beside the test, and a cached result is never out of date.
func Main(m *testing.M, programs map[string]func()) {
	name := filepath.Base(os.Args[0])
	if program, ok := programs[name]; ok {
		program()
		os.Exit(0)
	}
	if name == "tasker" {
		os.Exit(cli.Main("v0.0.0-test"))
	}
	os.Exit(m.Run())
}

// Example is the README of an example. Its blocks are of three kinds:
//
//	sh    a program in a separate terminal, which runs until the end. A server is awaited. "go
//	      build -o bin/ PACKAGES" must name what the page uses, and is not run; nor are lines that begin with export
//	bash  commands that run in sequence, in one session of bash with "set -euo pipefail"
//	text  the output of the block before
//
// Blocks of other languages are for the reader. The session is in an empty directory with links to examples and
// clients, so that a path is what it is in a clone.
type Example struct {
	Programs []string          // beside tasker; names of those given to Main
	Replace  map[string]string // names on the page, and in the test
	Before   string            // bash that goes before the first block
	Env      []string
	Servers  []string // beside "tasker serve"; the page continues once they listen
}

// endOfBlock separates the output of two blocks.
const endOfBlock = "<<<<< end of block"

// Run runs the README of the working directory.
func (e Example) Run(t *testing.T) {
	t.Helper()
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	depend(t, ".", "../../clients")
	listen, dir := e.arrange(t)
	list := e.blocks(t, string(page), listen)
	var script strings.Builder
	fmt.Fprintf(&script, "unset ${!TASKER_TEST_@}\n%s%s\n", EndJobs, e.Before)
	for _, b := range list {
		fmt.Fprintf(&script, "%s\necho '%s'\n", b.commands, endOfBlock)
	}
	out, err := e.bash(t, dir, script.String(), "TASKER_SERVER=http://"+listen, "TASKER_SERVER_LISTEN="+listen)
	printed := strings.Split(out, endOfBlock+"\n")
	for i, b := range list[:min(len(printed), len(list))] {
		t.Logf("%s\n%s", b.commands, printed[i])
		if i == len(printed)-1 && err != nil {
			break
		}
		if b.text == "" {
			continue
		}
		if err := Compare(b.text, printed[i]); err != nil {
			t.Errorf("after\n%s\n%v\n%s", b.commands, err, logs(dir))
		}
	}
	if err != nil {
		t.Fatalf("the session: %v\n%s", err, logs(dir))
	}
}

// depend reads the directories of the page's programs: a change runs the test again, not from the cache.
func depend(t *testing.T, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() {
				_, err = os.ReadFile(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (e Example) arrange(t *testing.T) (listen, dir string) {
	t.Helper()
	addresses, err := process.Addresses(1)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	links := map[string]string{"examples": root + "/examples", "clients": root + "/clients"}
	for _, program := range append(e.Programs, "tasker") {
		links["bin/"+program] = self
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return addresses[0], dir
}

type ran struct{ commands, text string }

func (e Example) blocks(t *testing.T, page, listen string) []ran {
	t.Helper()
	replace := []string{"127.0.0.1:8080", listen}
	for name, is := range e.Replace {
		replace = append(replace, name, is)
	}
	replacer := strings.NewReplacer(replace...)
	var list []ran
	for _, b := range Blocks(page) {
		switch text := replacer.Replace(b.Text); b.Language {
		case "bash":
			list = append(list, ran{commands: text})
		case "sh":
			list = append(list, ran{commands: e.terminals(t, text, len(list))})
		case "text":
			if len(list) == 0 {
				t.Fatal("the page shows what is printed before anything is run")
			}
			list[len(list)-1].text = text
		}
	}
	if len(list) < 3 {
		t.Errorf("the page has only %d blocks that are run", len(list))
	}
	return list
}

// terminals starts programs as if in separate terminals.
func (e Example) terminals(t *testing.T, text string, block int) string {
	t.Helper()
	var script strings.Builder
	lines := strings.Split(strings.ReplaceAll(text, "\\\n", " "), "\n")
	for i, line := range lines {
		line, _, _ = strings.Cut(line, " # ")
		packages, build := strings.CutPrefix(line, "go build -o bin/ ")
		switch {
		case line == "" || strings.HasPrefix(line, "export "):
		case build:
			built := map[string]bool{}
			for _, p := range strings.Fields(packages) {
				built[filepath.Base(p)] = true
				if _, err := os.Stat(filepath.Join("../..", p)); err != nil {
					t.Errorf("the page builds %s: %v", p, err)
				}
			}
			for _, p := range append(e.Programs, "tasker") {
				if !built[p] {
					t.Errorf("the page does not build %s", p)
				}
			}
		default:
			log := fmt.Sprintf("terminal-%d-%d.log", block, i)
			fmt.Fprintf(&script, "%s > %s 2>&1 &\n", line, log)
			if serves(line, e.Servers) {
				fmt.Fprintf(&script, "until grep -q 'http://' %s; do kill -0 $! && sleep 0.05; done\n", log)
			}
		}
	}
	return script.String()
}

// serves reports whether a command line starts a server that says where it listens.
func serves(line string, servers []string) bool {
	started := func(server string) bool { return strings.Contains(line, server) }
	return started("tasker serve") || slices.ContainsFunc(servers, started)
}

// bash runs a script, in processes that end with the test.
func (e Example) bash(t *testing.T, dir, script string, env ...string) (string, error) {
	t.Helper()
	group, err := process.NewGroup()
	if err != nil {
		t.Fatal(err)
	}
	defer group.Close()
	var out bytes.Buffer
	cmd := group.Command("bash", "-euo", "pipefail", "-c", script)
	// A program built for the race detector sleeps for a second before it ends.
	cmd.Env = append(append(os.Environ(), "GORACE=atexit_sleep_ms=10", "PATH="+dir+"/bin:"+os.Getenv("PATH")), env...)
	cmd.Env = append(cmd.Env, e.Env...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = dir, &out, &out, time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })()
	err = Ended(cmd.Wait())
	return out.String(), err
}

// logs is the output of the programs in terminals, and other logs.
func logs(dir string) string {
	files, _ := filepath.Glob(filepath.Join(dir, "*.log")) // the pattern is good
	var all strings.Builder
	for _, file := range files {
		content, _ := os.ReadFile(file) // an unreadable one is skipped
		fmt.Fprintf(&all, "%s:\n%s\n", filepath.Base(file), content)
	}
	return all.String()
}
