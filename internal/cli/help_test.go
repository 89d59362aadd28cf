package cli_test

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/taskerhq/tasker/internal/cli"
)

func help(t *testing.T, environ []string, args ...string) string {
	t.Helper()
	var out, errOut bytes.Buffer
	code := cli.Run(t.Context(), cli.Process{
		Args: append([]string{"tasker"}, args...), Environ: environ, Version: "test",
		In: strings.NewReader(""), Out: &out, Err: &errOut, Now: func() time.Time { return fixedNow },
	})
	if code != 0 {
		t.Fatalf("tasker %s: exit code %d: %s", strings.Join(args, " "), code, errOut.String())
	}
	return out.String()
}

func subcommands(text, heading string) []string {
	_, list, _ := strings.Cut(text, "\n"+heading+":\n")
	list, _, _ = strings.Cut(list, "\n\n")
	var names []string
	for line := range strings.Lines(list) {
		if name := strings.TrimPrefix(line, "  "); name != line && !strings.HasPrefix(name, " ") {
			names = append(names, strings.Fields(name)[0])
		}
	}
	return names
}

func TestHelpFits80Columns(t *testing.T) {
	t.Parallel()
	seen := 0
	var walk func(path []string)
	walk = func(path []string) {
		seen++
		text := help(t, nil, append(path, "--help")...)
		for line := range strings.SplitSeq(text, "\n") {
			if n := utf8.RuneCountInString(line); n > 80 {
				t.Errorf("tasker %s --help: %d columns: %s", strings.Join(path, " "), n, line)
			}
			if strings.TrimRight(line, " ") != line {
				t.Errorf("tasker %s --help: spaces at the end of %q", strings.Join(path, " "), line)
			}
		}
		for _, name := range subcommands(text, "Available Commands") {
			walk(append(append([]string{}, path...), name))
		}
	}
	walk(nil)
	for line := range strings.SplitSeq(help(t, nil, "help", "exit-codes"), "\n") {
		if utf8.RuneCountInString(line) > 80 {
			t.Errorf("tasker help exit-codes: %s", line)
		}
	}
	if seen < 100 {
		t.Errorf("%d commands were seen; the help is not read as it should be", seen)
	}
}

func TestHelpFitsNarrowTerminals(t *testing.T) {
	t.Parallel()
	text := help(t, []string{"COLUMNS=60"}, "task", "list", "--help")
	for line := range strings.SplitSeq(text, "\n") {
		if !strings.HasPrefix(line, "  tasker ") && utf8.RuneCountInString(line) > 60 {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
}
