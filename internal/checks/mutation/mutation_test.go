package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Entries of the page are parsed, wrapped or not, and nothing else.
func TestParse(t *testing.T) {
	t.Parallel()
	page := "# Title\n\n- another list of `a < b`\n" +
		"- `internal/a/b.go` CONDITIONALS_BOUNDARY of `<` in `if a < b {`: equal.\n" +
		"- `internal/a/b.go` ARITHMETIC_BASE of `-` in\n  `c := a - b`: no matter.\n"
	want := []mutant{
		{"internal/a/b.go", "CONDITIONALS_BOUNDARY", "<", "if a < b {"},
		{"internal/a/b.go", "ARITHMETIC_BASE", "-", "c := a - b"},
	}
	got := parse(page)
	if !slices.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
	if again := parse(got[0].String() + "\n" + got[1].String()); !slices.Equal(again, want) {
		t.Errorf("what is printed is read as %v", again)
	}
}

// Each survivor needs its own entry, and each entry a survivor.
func TestCompare(t *testing.T) {
	t.Parallel()
	one, two := mutant{"internal/a/b.go", "X", "<", "a < b"}, mutant{"internal/a/b.go", "X", ">", "a > b"}
	elsewhere := mutant{"internal/c/d.go", "X", "<", "a < b"}
	for name, c := range map[string]struct {
		lived, explained []mutant
		want             []string
	}{
		"Explained":  {[]mutant{one, two}, []mutant{two, one, elsewhere}, nil},
		"Nothing":    {nil, []mutant{elsewhere}, nil},
		"Unknown":    {[]mutant{one}, nil, []string{"no test notices: " + one.String()}},
		"Twice":      {[]mutant{one, one}, []mutant{one}, []string{"no test notices: " + one.String()}},
		"NotNeeded":  {nil, []mutant{two}, []string{"explained, but noticed or gone: " + two.String()}},
		"OneOfThree": {[]mutant{one}, []mutant{one, two}, []string{"explained, but noticed or gone: " + two.String()}},
	} {
		if got := compare("internal/a", c.lived, c.explained); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A survivor is identified by the text at its place; a missing place is an error.
func TestLived(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n\n\tif a <= b {\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(status string, line, column int) *report {
		r := &report{dir: dir}
		r.Files = slices.Grow(r.Files, 1)[:1]
		f := &r.Files[0]
		f.Name, f.Mutations = "a.go", slices.Grow(f.Mutations, 1)[:1]
		m := &f.Mutations[0]
		m.Type, m.Status, m.Line, m.Column = "X", status, line, column
		return r
	}
	want := mutant{filepath.ToSlash(filepath.Join(dir, "a.go")), "X", "<=", "if a <= b {"}
	for _, status := range []string{"LIVED", "NOT COVERED", "SKIPPED"} {
		if got, err := at(status, 3, 7).lived(); err != nil || !slices.Equal(got, []mutant{want}) {
			t.Errorf("%s: %v, %v", status, got, err)
		}
	}
	for _, status := range []string{"KILLED", "TIMED OUT", "NOT VIABLE"} {
		if got, err := at(status, 3, 7).lived(); err != nil || len(got) > 0 {
			t.Errorf("%s: %v, %v", status, got, err)
		}
	}
	for _, place := range [][2]int{{0, 1}, {9, 1}, {3, 0}, {3, 99}} {
		if got, err := at("LIVED", place[0], place[1]).lived(); err == nil {
			t.Errorf("at %v there is %v", place, got)
		}
	}
}

// The shim completes a requested coverage profile, passes on go's output, and changes nothing else.
func TestShim(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	env, err := cover(temp, ".")
	if err != nil {
		t.Fatal(err)
	}
	profile := filepath.Join(temp, "profile")
	run := func(args ...string) (string, error) {
		cmd := exec.Command(filepath.Join(temp, "bin", "go"), args...)
		cmd.Env = append(os.Environ(), env...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("env", "-coverprofile", profile); err == nil {
		t.Errorf("a failure of go is none of the stand-in: %s", out)
	}
	if _, err := os.Stat(profile); err == nil {
		t.Error("there is a profile of a run that failed")
	}
	if out, err := run("version"); err != nil || !strings.HasPrefix(out, "go version") {
		t.Errorf("go version: %s, %v", out, err)
	}
	if out, err := run("test", "-run", "^TestParse$", "-coverprofile", profile, "."); err != nil {
		t.Fatalf("go test: %s, %v", out, err)
	}
	got, err := os.ReadFile(profile)
	if err != nil || !strings.Contains(string(got), "/main.go:1.1,1000000.1 1 1\n") {
		t.Errorf("the profile is %s, %v", got, err)
	}
}
