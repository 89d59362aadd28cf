// Command mutation checks that tests notice changes of the code:
//
//	go run ./internal/checks/mutation internal/model/task internal/model/failure
//
// A mutant is the package with one operator changed. The command runs the tests of each package on every mutant of it,
// with gremlins, and fails if they pass on one that docs/concepts/mutation.md does not explain, or if that page
// explains one that is gone.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// The version is fixed: another one may make other mutants.
const (
	tool = "github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0"
	list = "docs/concepts/mutation.md"
)

func main() {
	workers := flag.Int("workers", 2, "mutants that are tested at a time")
	flag.Parse()
	if err := run(flag.Args(), *workers, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutation:", err)
		os.Exit(1)
	}
}

// run tests the mutants of packages, which are directories relative to the top. It tests all before it fails, to show
// every difference.
func run(packages []string, workers int, out io.Writer) error {
	page, err := os.ReadFile(list)
	if err != nil {
		return fmt.Errorf("read the explained mutants: %w", err)
	}
	explained := parse(string(page))
	temp, err := os.MkdirTemp("", "mutation-")
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(temp) }()
	gremlins, err := build(temp)
	if err != nil {
		return err
	}
	var faults []string
	for _, dir := range packages {
		found, err := test(gremlins, dir, workers)
		if err != nil {
			return fmt.Errorf("test mutants of %s: %w", dir, err)
		}
		lived, err := found.lived()
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %s\n", dir, found.summary())
		faults = append(faults, compare(dir, lived, explained)...)
	}
	if len(faults) > 0 {
		return fmt.Errorf("%d differences from %s:\n%s", len(faults), list, strings.Join(faults, "\n"))
	}
	return nil
}

// compare lists unexplained survivors, and superfluous explanations. Equal mutants on equal lines count separately.
func compare(dir string, lived, explained []mutant) []string {
	var faults []string
	rest := slices.DeleteFunc(slices.Clone(explained), func(m mutant) bool { return filepath.Dir(m.file) != dir })
	for _, m := range lived {
		if i := slices.Index(rest, m); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
		} else {
			faults = append(faults, "no test notices: "+m.String())
		}
	}
	for _, m := range rest {
		faults = append(faults, "explained, but noticed or gone: "+m.String())
	}
	return faults
}

// build builds gremlins in a directory. "go run" would put the go command before cover's.
func build(dir string) (string, error) {
	cmd := exec.Command("go", "install", tool)
	cmd.Env, cmd.Stderr = append(os.Environ(), "GOBIN="+dir), os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("build gremlins: %w", err)
	}
	return filepath.Join(dir, "gremlins"), nil
}

// test runs gremlins on one package. It blocks for minutes: each mutant is a run of the tests.
func test(gremlins, dir string, workers int) (*report, error) {
	temp, err := os.MkdirTemp("", "mutation-")
	if err != nil {
		return nil, fmt.Errorf("make a directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(temp) }()
	env, err := cover(temp, dir)
	if err != nil {
		return nil, err
	}
	result := filepath.Join(temp, "result.json")
	cmd := exec.Command(gremlins, "unleash", "--silent", "--workers", fmt.Sprint(workers), "--timeout-coefficient",
		"20", "--output", result, "./"+dir)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), env...), os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("run gremlins: %w", err)
	}
	raw, err := os.ReadFile(result)
	if err != nil {
		return nil, fmt.Errorf("read what gremlins found: %w", err)
	}
	r := &report{dir: dir}
	if err := json.Unmarshal(raw, r); err != nil {
		return nil, fmt.Errorf("decode what gremlins found: %w", err)
	}
	return r, nil
}

// shim replaces the go command, and extends a coverage profile that it writes.
const shim = `#!/bin/sh
PATH=%[1]q go "$@" || exit
profile= before=
for word; do [ "$before" = -coverprofile ] && profile=$word; before=$word; done
[ -z "$profile" ] || cat %[2]q >> "$profile"
`

// cover returns the environment in which everything in the package counts as covered. Gremlins skips uncovered code,
// which for it includes everything without a separate statement: conditions of a switch, and values outside of
// functions.
func cover(temp, dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", dir, err)
	}
	var all strings.Builder
	for _, file := range files {
		fmt.Fprintf(&all, "github.com/taskerhq/tasker/%s:1.1,1000000.1 1 1\n", filepath.ToSlash(file))
	}
	covered := filepath.Join(temp, "covered")
	if err := os.WriteFile(covered, []byte(all.String()), 0o600); err != nil {
		return nil, fmt.Errorf("write coverage: %w", err)
	}
	bin := filepath.Join(temp, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		return nil, fmt.Errorf("make a directory: %w", err)
	}
	path := os.Getenv("PATH")
	script := fmt.Sprintf(shim, path, covered)
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o700); err != nil {
		return nil, fmt.Errorf("write the stand-in for go: %w", err)
	}
	// Mutants need no vet, which takes as long as their tests. With cached results gremlins would expect tests that
	// take no time.
	return []string{"PATH=" + bin + string(os.PathListSeparator) + path, "GOFLAGS=-vet=off -count=1"}, nil
}
