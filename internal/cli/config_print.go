package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/kit/document"
)

// newConfigPrint accepts the flags of serve, to show the effect of a serve command line. It opens nothing.
func newConfigPrint(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "print",
		Short: "Print the effective configuration and the source of each setting",
		Long: `Print the effective configuration as YAML with the source of each setting: a
default, a line of the file, an environment variable or a flag. Later sources
override earlier ones. Passwords and key hashes are not printed.`,
		Args: cobra.NoArgs,
	}
	flags := s.configFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := flags.load(cmd)
		if err != nil {
			return err
		}
		if s.json {
			return s.printList("settings", cfg.Settings())
		}
		return s.printSettings(cfg.Settings())
	}
	return cmd
}

// printSettings writes a valid configuration file, except for redacted secrets, with the sources as aligned
// comments, so it builds all lines first.
func (s *session) printSettings(settings []config.Setting) error {
	lines, err := settingLines(settings)
	if err != nil {
		return err
	}
	width := 0
	for _, line := range lines {
		if line.of != nil {
			width = max(width, len(line.text))
		}
	}
	for _, line := range lines {
		text := line.text
		if line.of != nil {
			text = fmt.Sprintf("%-*s  # %s", width, text, line.of.Source)
		}
		if err := s.printf("%s\n", text); err != nil {
			return err
		}
	}
	return nil
}

type settingLine struct {
	text string
	of   *config.Setting // first line of this setting; nil for a section or an item
}

func settingLines(settings []config.Setting) ([]settingLine, error) {
	var (
		lines []settingLine
		open  []string // the previous line's sections
	)
	for i := range settings {
		set := &settings[i]
		path := strings.Split(set.Key, ".")
		sections := path[:len(path)-1]
		// Settings of one section are adjacent, so only a changed path needs section lines.
		for i, name := range sections {
			if i < len(open) && open[i] == name {
				continue
			}
			open = append(open[:i:i], name)
			lines = append(lines, settingLine{strings.Repeat("  ", i) + name + ":", nil})
		}
		open = open[:len(sections)]
		line := strings.Repeat("  ", len(sections)) + path[len(path)-1] + ":"
		// Lists of keys or priorities are too long for one line.
		if items, ok := set.Value.([]any); ok && len(items) > 0 {
			lines = append(lines, settingLine{line, set})
			for _, item := range items {
				value, err := document.Flow(item)
				if err != nil {
					return nil, fmt.Errorf("print %s: %w", set.Key, err)
				}
				lines = append(lines, settingLine{strings.Repeat("  ", len(sections)+1) + "- " + value, nil})
			}
			continue
		}
		value, err := document.Flow(set.Value)
		if err != nil {
			return nil, fmt.Errorf("print %s: %w", set.Key, err)
		}
		lines = append(lines, settingLine{line + " " + value, set})
	}
	return lines, nil
}
