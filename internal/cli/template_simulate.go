package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/host/simulate"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/model/template"
	"github.com/taskerhq/tasker/operate"
)

// newTemplateSimulate needs no server for a template in a file.
func newTemplateSimulate(s *session) *cobra.Command {
	var script, input, file string
	cmd := &cobra.Command{
		Use:   "simulate FILE|[NAMESPACE/]NAME[@VERSION] [OTHERS...]",
		Short: "Run a task of a template without workers",
		Long: `Run a task of a template without workers, in memory: from a file, or as registered on a
server. A script (YAML) says what its steps do and what is decided; other steps complete
without a result. Time jumps to the next back-off or wait. OTHERS are further templates.

  context: {amount: 1200}
  steps:
    charge:  {result: {id: 7}}
    check:   {fail: {message: busy, times: 2}, result: {ok: true}}
    approve: {reject: too much}

The command exits with 1 unless the task is complete.`,
		Example: `  tasker template simulate order.yaml --context '{"amount": 5}' --script order.script.yaml`,
		Args:    cobra.MinimumNArgs(1),
	}
	cmd.Flags().StringVar(&script, "script", "", "file that says what the steps do")
	cmd.Flags().StringVar(&input, "context", "", "context of the task: JSON, @FILE or - (default: that of the script)")
	cmd.Flags().StringVar(&file, "config", "", "configuration of the server (default $TASKER_CONFIG, else none)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := config.Load(config.Sources{File: cmp.Or(file, s.getenv("TASKER_CONFIG")), Environ: s.Environ})
		if err != nil {
			return usageError{err}
		}
		play, err := s.scriptOf(script, input)
		if err != nil {
			return err
		}
		templates := make([]*task.Template, len(args))
		for i, arg := range args {
			if templates[i], err = s.templateToSimulate(cmd.Context(), arg, cfg.Engine.Priorities); err != nil {
				return err
			}
		}
		out, err := simulate.Run(cmd.Context(), templates[0], templates[1:], play, simulate.Options{Config: cfg.Engine})
		if err != nil {
			return err
		}
		return s.printOutcome(out)
	}
	return cmd
}

// scriptOf replaces the script's context by a given one.
func (s *session) scriptOf(file, input string) (*simulate.Script, error) {
	script := &simulate.Script{}
	if file != "" {
		src, err := s.readFile(file)
		if err != nil {
			return nil, err
		}
		if script, err = simulate.ReadScript(file, src); err != nil {
			return nil, err
		}
	}
	given, err := s.jsonFlag("context", input)
	if err != nil {
		return nil, err
	}
	if given != nil {
		script.Context = given
	}
	return script, nil
}

// templateToSimulate reads a file, else the server's template.
func (s *session) templateToSimulate(ctx context.Context, arg string, levels []settings.PriorityLevel,
) (*task.Template, error) {
	_, missing := os.Stat(arg)
	src, name := "", arg
	isFile := arg == "-" || missing == nil || strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".yml")
	if isFile {
		read, err := s.templateSource(arg)
		if err != nil {
			return nil, err
		}
		src, name = read.YAML, read.Filename
	} else {
		client, err := s.connect()
		if err != nil {
			return nil, err
		}
		defer func() { _ = client.Close() }() // only drops idle connections
		namespace, named, version := templateName(arg)
		found, err := client.Template(ctx, namespace, named, version)
		if err != nil {
			return nil, err
		}
		src = found.YAML
	}
	t, err := template.Parse(name, []byte(src), levelsOf(levels))
	var refused *task.Error
	if errors.As(err, &refused) {
		return nil, publicError(name, refused)
	}
	return t, err
}

// printOutcome prints what became of a simulated task. It exits with an error unless the task is complete.
func (s *session) printOutcome(out *operate.Simulation) error {
	var end error
	if out.State != tasker.TaskComplete {
		end = exitError(exitFailure)
	}
	if s.json {
		return cmp.Or(s.printJSON(out), end)
	}
	mark := "✓"
	if end != nil {
		mark = "✗"
	}
	fmt.Fprintf(s.Out, "%s %s version %s: %s after %s\n", mark, out.Template, out.Version, out.State, after(out.TookMS))
	if out.Stuck != "" {
		fmt.Fprintf(s.Out, "It does not end: %s.\n", out.Stuck)
	}
	t := s.newTable("STEP", "STATE", "ATTEMPTS", "BEGAN", "ENDED", "RESULT")
	for i := range out.Steps {
		one := &out.Steps[i]
		told := headline(string(one.Result))
		switch {
		case one.When != "":
			told = "if " + strings.Join(strings.Fields(one.When), " ")
		case one.Failure != "":
			told = strings.TrimSpace(told + " (failed: " + headline(one.Failure) + ")")
		}
		t.row(one.Name, string(one.State), strconv.Itoa(one.Attempts), afterOrNone(one.BeganMS),
			afterOrNone(one.EndedMS), told)
	}
	return cmp.Or(t.flush(), end)
}

func after(ms int64) string { return "+" + (time.Duration(ms) * time.Millisecond).String() }

func afterOrNone(ms *int64) string {
	if ms == nil {
		return ""
	}
	return after(*ms)
}
