package cli

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/internal/checks/reference"
)

var _ = flag.Bool("update", false, "rewrite the generated parts of docs/reference")

// common flags are explained once on the page.
var common = []string{"json", "server", "api-key"}

// TestCommandReference compares docs/reference/cli.md with the commands, their flags and defaults.
func TestCommandReference(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	root := newRoot(&session{name: "tasker"})
	var list func(cmd *cobra.Command)
	list = func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		if cmd != root {
			describe(&b, cmd)
		}
		for _, sub := range cmd.Commands() {
			list(sub)
		}
	}
	list(root)
	reference.Check(t, "cli.md", b.String())
}

func describe(b *strings.Builder, cmd *cobra.Command) {
	fmt.Fprintf(b, "%s %s\n\n", strings.Repeat("#", min(strings.Count(cmd.CommandPath(), " ")+1, 4)), cmd.CommandPath())
	short := strings.TrimSuffix(cmd.Short, ".") + "."
	if long := strings.TrimSpace(cmd.Long); long == "" || strings.HasPrefix(long, short) {
		short = ""
	}
	text := strings.TrimSpace(cmd.Long)
	if text == "" {
		text = strings.TrimSuffix(cmd.Short, ".") + "."
	}
	if cmd.Runnable() {
		text = cmd.UseLine() + "\n\n" + text
	}
	if short != "" {
		fmt.Fprintf(b, "%s\n\n", short)
	}
	fmt.Fprintf(b, "```text\n%s\n```\n\n", text)
	var rows [][]string
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || slices.Contains(common, f.Name) {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		name := strings.TrimSpace("--" + f.Name + " " + kind)
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		byDefault := f.DefValue
		if slices.Contains([]string{"", "0", "0s", "false", "[]"}, byDefault) {
			byDefault = ""
		}
		rows = append(rows, []string{reference.Code(name), reference.Code(byDefault), usage})
	})
	if len(rows) > 0 {
		fmt.Fprintf(b, "%s\n", reference.Table([]string{"Flag", "Default", "Meaning"}, rows))
	}
}

// TestErrorReference compares docs/reference/errors.md with the API's codes and the exit codes.
func TestErrorReference(t *testing.T) {
	t.Parallel()
	var rows [][]string
	s := &session{begun: true}
	for _, k := range web.ProblemKinds() {
		exit := s.exitCode(t.Context(), tasker.Errorf(k.Code, "an error"))
		rows = append(rows, []string{reference.Code(string(k.Code)), fmt.Sprint(k.Status), fmt.Sprint(exit), k.Meaning,
			k.Advice})
		if k.Advice == "" {
			t.Errorf("there is no advice for %s", k.Code)
		}
	}
	codes := strings.TrimPrefix(newExitCodes().Long, "Exit codes:\n\n")
	reference.Check(t, "errors.md", "## Codes\n\n"+
		reference.Table([]string{"Code", "HTTP status", "Exit code", "Meaning", "What to do"}, rows)+
		"\n## Exit codes\n\n```text\n"+codes+"\n```\n")
}

// TestFlagsOfSettings: docs/reference/configuration.md names each setting's flag. Package config compares keys and
// defaults.
func TestFlagsOfSettings(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reference/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(page), "## Settings")
	for flag, key := range new(session).configFlags(new(cobra.Command)).keys {
		_, row, _ := strings.Cut(list, "\n| `"+key+"` |")
		row, _, _ = strings.Cut(row, "\n")
		if !strings.Contains(row, "`--"+flag+"`") {
			t.Errorf("the row of %s does not name --%s", key, flag)
		}
	}
}
