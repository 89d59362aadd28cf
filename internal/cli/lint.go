package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/template"
)

type linting struct {
	s      *session
	config string
	strict bool
}

// linted is the JSON of `lint`.
type linted struct {
	Templates int       `json:"templates"`
	Findings  []finding `json:"findings"`
}

type finding struct {
	Severity string `json:"severity"` // error or warning
	Location string `json:"location"`
	Message  string `json:"message"`
}

func newLint(s *session) *cobra.Command {
	c := &linting{s: s}
	cmd := &cobra.Command{
		Use:   "lint FILE|DIRECTORY...",
		Short: "Check templates, and warn of what is probably not meant",
		Long: `Check templates without a server, as "template validate" does, and warn of what is
allowed but probably not meant: settings of retries without a second attempt, waits
for people or signals without a timeout, handlers whose names differ by a character,
timeouts longer than the whole task may take, templates without an input_schema.

A directory stands for the files below it that end with .yaml or .yml and have steps.
The exit code is 1 if there are errors, with --strict also for warnings.`,
		Example: `  tasker lint invoice.yaml
  tasker lint --strict workflows/`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return c.run(args) },
	}
	cmd.Flags().StringVar(&c.config, "config", "",
		"configuration of the server, if it defines its own priorities (default $TASKER_CONFIG, else none)")
	cmd.Flags().BoolVar(&c.strict, "strict", false, "end with code 1 for warnings, too")
	return cmd
}

func (c *linting) run(args []string) error {
	cfg, err := c.s.templateConfig(c.config)
	if err != nil {
		return err
	}
	out := linted{Findings: []finding{}}
	for _, arg := range args {
		names, err := templateFiles(arg)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := c.file(&out, name, name != arg, cfg.Engine.Priorities); err != nil {
				return err
			}
		}
	}
	failed := slices.ContainsFunc(out.Findings, func(f finding) bool { return c.strict || f.Severity == "error" })
	if err := c.print(&out); err != nil {
		return err
	}
	if failed {
		return exitError(exitFailure)
	}
	return nil
}

// templateConfig reads a server's configuration for the names of its priorities.
func (s *session) templateConfig(file string) (*config.Config, error) {
	if file == "" {
		file = s.getenv("TASKER_CONFIG")
	}
	cfg, err := config.Load(config.Sources{File: file, Environ: s.Environ})
	if err != nil {
		return nil, usageError{err}
	}
	return cfg, nil
}

// A file found in a directory without steps is no template.
func (c *linting) file(out *linted, name string, found bool, priorities []settings.PriorityLevel) error {
	src, err := c.s.templateSource(name)
	if err != nil {
		return err
	}
	if found && !hasSteps(src.YAML) {
		return nil
	}
	out.Templates++
	_, refused, err := parseTemplate(src, levelsOf(priorities))
	if err != nil {
		return err
	}
	if refused != nil {
		for _, p := range refused.Details {
			out.Findings = append(out.Findings, finding{"error", p.Location, p.Message})
		}
		return nil
	}
	for _, p := range template.Warnings(src.Filename, []byte(src.YAML)) {
		out.Findings = append(out.Findings, finding{"warning", p.Location, p.Message})
	}
	return nil
}

// hasSteps also accepts invalid YAML.
func hasSteps(text string) bool {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "steps:") {
			return true
		}
	}
	return false
}

func (c *linting) print(out *linted) error {
	if c.s.json {
		return c.s.printJSON(out)
	}
	for _, f := range out.Findings {
		if err := c.s.printf("%s: %s: %s\n", f.Location, f.Severity, f.Message); err != nil {
			return err
		}
	}
	if out.Templates == 0 {
		return c.s.printf("No templates.\n")
	}
	if len(out.Findings) == 0 {
		return c.s.printf("✓ %s\n", wording.Count(out.Templates, "template"))
	}
	return nil
}

// templateFiles skips hidden directories.
func templateFiles(arg string) ([]string, error) {
	if info, err := os.Stat(arg); arg == "-" || err != nil || !info.IsDir() {
		return []string{arg}, nil // its reader reports the error
	}
	var out []string
	err := filepath.WalkDir(arg, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != arg && strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		case entry.Type().IsRegular() && slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)):
			out = append(out, path)
		}
		return nil
	})
	if err != nil {
		return nil, tasker.Errorf(tasker.CodeInvalid, "read %s: %v", arg, err)
	}
	return out, nil
}
