package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker/internal/host/config"
)

// newConfigExample derives a file with all settings from the code that reads them.
func newConfigExample(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "example",
		Short: "Print a configuration file with every setting, its default and its meaning",
		Long: `Print a configuration file with every setting, its default and its meaning. All
settings are comments: remove the # before those that you change, and before the
names of their sections.`,
		Example: `  tasker config example > tasker.yaml
  tasker config check --config tasker.yaml`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg := config.Default()
			if s.json {
				return s.printList("settings", cfg.Settings())
			}
			return s.printExample(cfg.Settings())
		},
	}
}

const exampleHead = `# The configuration of Tasker: every setting with its default. Remove the # before the settings
# that you change, and before the names of their sections. Each setting can also come from the
# environment: server.listen is TASKER_SERVER_LISTEN.
`

const exampleWidth = 98

// printExample writes settings as comments below their meanings, which stay comments without the first #.
func (s *session) printExample(settings []config.Setting) error {
	lines, err := settingLines(settings)
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(exampleHead)
	for _, line := range lines {
		indent := line.text[:len(line.text)-len(strings.TrimLeft(line.text, " "))]
		if line.of == nil && indent == "" {
			b.WriteString("\n")
		}
		if line.of != nil {
			if indent == "" {
				b.WriteString("\n")
			}
			prefix := "#" + indent + "# "
			if indent == "" {
				prefix = "# "
			}
			writeComment(&b, prefix, strings.ReplaceAll(config.Meaning(line.of.Key), "`", ""))
		}
		b.WriteString("#" + line.text + "\n")
	}
	return s.write([]byte(b.String()))
}

func writeComment(b *strings.Builder, prefix, text string) {
	line := prefix
	for _, word := range strings.Fields(text) {
		if len(line)+len(word) > exampleWidth && line != prefix {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = prefix
		}
		line += word + " "
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}
