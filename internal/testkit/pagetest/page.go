// Package pagetest runs the commands of pages of documentation, and compares their output with the page.
// internal/checks/doctest does so with docs/, the examples with their READMEs; tests only.
package pagetest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// Block is a fenced block of a page.
type Block struct{ Language, Text string }

var fence = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// Blocks returns the fenced blocks of a page.
func Blocks(page string) []Block {
	var found []Block
	for _, m := range fence.FindAllStringSubmatch(page, -1) {
		found = append(found, Block{m[1], m[2]})
	}
	return found
}

// EndJobs is bash that ends the programs of a session with it. They may take their time for what they have begun.
const EndJobs = "trap 'kill $(jobs -p) 2> /dev/null || true; wait' EXIT\n"

// Ended is what a session's Wait has returned, without the complaint that a program that bash left behind, such as the
// child of one that was ended, still holds the pipe: all output of bash is there.
func Ended(err error) error {
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return err
}

// Prose is a page without its blocks.
func Prose(page string) string { return fence.ReplaceAllString(page, "") }

// Compare requires the lines of shown in printed, in order and adjacent unless the page has a line of dots. It ignores
// what varies between runs.
func Compare(shown, printed string) error {
	rest := "\n" + even(printed)
	for part := range strings.SplitSeq("\n"+even(shown), "\n...\n") {
		if part = strings.Trim(part, "\n"); part == "" {
			continue // before leading dots
		}
		part = "\n" + part + "\n"
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			return fmt.Errorf("the page shows\n%s\nbut this is what is printed:\n%s", shown, printed)
		}
		rest = "\n" + after
	}
	return nil
}

var (
	anUUID   = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	unsteady = regexp.MustCompile(
		`\b\d+\.\d+\b|\b\d+ %|\b(\d+h)?(\d+m)?\d+(h|m|ms|s)( ago)?\b|\bnow\b|-{2,}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| UTC|\+00)`)
)

// even replaces varying parts, and the width of columns.
func even(s string) string {
	s = unsteady.ReplaceAllString(anUUID.ReplaceAllString(s, "UUID"), "X")
	var lines []string
	for line := range strings.Lines(s) {
		lines = append(lines, Squeeze(line))
	}
	return strings.Join(lines, "\n") + "\n"
}

// Squeeze makes the width of columns not matter.
func Squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// Need skips the test where a program is missing, and fails it in CI.
func Need(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err == nil {
			continue
		}
		if os.Getenv("CI") != "" {
			t.Fatalf("there is no %s; CI has to run this test", program)
		}
		t.Skipf("there is no %s, so THE PAGE IS NOT TESTED", program)
	}
}

// NeedPython is Need for a Python that is recent enough for the client.
func NeedPython(t *testing.T) {
	t.Helper()
	Need(t, "python3")
	if err := exec.Command("python3", "-c", "import sys; sys.exit(sys.version_info < (3, 11))").Run(); err == nil {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatal("python3 is older than 3.11; CI has to run this test")
	}
	t.Skip("python3 is older than 3.11, so THE PAGE IS NOT TESTED")
}
