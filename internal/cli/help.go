package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taskerhq/tasker/internal/cli/terminal"
)

// helpWidth is 80 columns, or a narrower terminal's width.
func (s *session) helpWidth() int {
	if n := s.columns(); n > 0 {
		return min(n, usualWidth)
	}
	return usualWidth
}

// wrapHelp replaces cobra's help, which does not wrap.
func (s *session) wrapHelp(root *cobra.Command) {
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { _ = s.page([]byte(s.helpOf(cmd))) })
	root.SetUsageFunc(func(cmd *cobra.Command) error { return s.write([]byte(s.usageOf(cmd))) })
}

func (s *session) helpOf(cmd *cobra.Command) string {
	text := cmd.Long
	text = cmp.Or(text, cmd.Short)
	text = terminal.Reflow(strings.TrimSpace(text), s.helpWidth()) + "\n"
	if cmd.Runnable() || cmd.HasSubCommands() {
		text += "\n" + s.usageOf(cmd)
	}
	return text
}

func (s *session) usageOf(cmd *cobra.Command) string {
	width := s.helpWidth()
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.Runnable() {
		b.WriteString(terminal.Hang("  "+cmd.CommandPath(), strings.TrimPrefix(cmd.UseLine(), cmd.CommandPath()+" "),
			len(cmd.CommandPath())+3, width) + "\n")
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s [command]\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		example := terminal.WrapCommands(strings.TrimRight(cmd.Example, "\n "), width)
		fmt.Fprintf(&b, "\nExamples:\n%s\n", example)
	}
	s.listCommands(&b, "Available Commands", cmd, func(sub *cobra.Command) (string, bool) {
		return sub.Name(), sub.IsAvailableCommand() || sub.Name() == "help"
	})
	if cmd.HasAvailableLocalFlags() {
		b.WriteString("\nFlags:\n" + s.flagUsages(cmd.LocalFlags()))
	}
	if cmd.HasAvailableInheritedFlags() {
		b.WriteString("\nGlobal Flags:\n" + s.flagUsages(cmd.InheritedFlags()))
	}
	s.listCommands(&b, "Additional help topics", cmd, func(sub *cobra.Command) (string, bool) {
		return sub.CommandPath(), sub.IsAdditionalHelpTopicCommand()
	})
	if cmd.HasAvailableSubCommands() {
		more := fmt.Sprintf("Use \"%s [command] --help\" for more information about a command.", cmd.CommandPath())
		b.WriteString("\n" + terminal.Reflow(more, width) + "\n")
	}
	return b.String()
}

func (s *session) listCommands(
	b *strings.Builder, title string, cmd *cobra.Command, pick func(*cobra.Command) (string, bool),
) {
	var names, texts []string
	indent := 0
	for _, sub := range cmd.Commands() {
		if name, ok := pick(sub); ok {
			names, texts = append(names, name), append(texts, sub.Short)
			indent = max(indent, len(name)+5)
		}
	}
	if len(names) > 0 {
		fmt.Fprintf(b, "\n%s:\n", title)
	}
	for i, name := range names {
		b.WriteString(terminal.Hang("  "+name, texts[i], indent, s.helpWidth()) + "\n")
	}
}

// flagUsages wraps by itself: pflag breaks lines up to a fifth too early.
func (s *session) flagUsages(flags *pflag.FlagSet) string {
	var b strings.Builder
	for line := range strings.Lines(terminal.Reflow(strings.TrimRight(flags.FlagUsages(), "\n"), s.helpWidth())) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}
