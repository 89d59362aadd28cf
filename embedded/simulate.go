package embedded

import (
	"context"

	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/host/simulate"
	"github.com/taskerhq/tasker/operate"
)

// SimulateOptions configures Simulate. Zero fields take defaults.
type SimulateOptions struct {
	// Others are the YAML of templates that steps name.
	Others []string
	// Config is as in Options.
	Config string
}

// Simulate runs a task of a template without workers, in memory, with the semantics of a server, on a clock that
// jumps to the next due time, so templates can be tested like code, in milliseconds.
//
// script is YAML: the context of the task, and what its steps do; docs/guides/workflows.md has its keys. A step that
// it does not mention completes without a result. The error is a *tasker.Error: CodeInvalid, with the places of the
// problems, for a template or a script that is not valid, and for a context that does not match the input schema. A
// task that fails is no error.
func Simulate(ctx context.Context, templateYAML, script string, o SimulateOptions) (*operate.Simulation, error) {
	cfg, err := config.Load(config.Sources{Text: o.Config, TextName: "SimulateOptions.Config"})
	if err != nil {
		return nil, err
	}
	return simulate.Sources(ctx, append([]string{templateYAML}, o.Others...), script,
		simulate.Options{Config: cfg.Engine})
}
