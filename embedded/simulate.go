package embedded

import (
	"context"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/host/simulate"
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
// script is YAML: the context of the task and the results of its steps; docs/guides/workflows.md has its keys. A
// missing step completes without a result. The error is a *tasker.Error: CodeInvalid, with places, for an invalid
// template or script, and for a context that does not match the input schema. A failed task is no error.
func Simulate(ctx context.Context, templateYAML, script string, o SimulateOptions) (*tasker.Simulation, error) {
	cfg, err := config.Load(config.Sources{Text: o.Config, TextName: "SimulateOptions.Config"})
	if err != nil {
		return nil, err
	}
	return simulate.Sources(ctx, append([]string{templateYAML}, o.Others...), script,
		simulate.Options{Config: cfg.Engine})
}
