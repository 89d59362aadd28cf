package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/script"
)

// workerCommand holds the flags of `worker`.
type workerCommand struct {
	s           *session
	handlers    []string
	env         []string
	concurrency int
	drain       time.Duration
	health      tasker.WorkerHealth
	opts        tasker.WorkerOptions
}

func newWorker(s *session) *cobra.Command {
	c := &workerCommand{s: s}
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Carry out steps by running programs",
		Long: `Take steps from a server and run a program for each. The program reads one JSON
document on standard input, with "parameters", "parent_results" and "step", and
writes the step's result, in JSON, on standard output; nothing means no result.

Exit code 0 completes the step and 75 fails the attempt, to be retried. Any other
code fails the step for good, as does output that is not JSON. Standard error
goes into the failure.

A program gets PATH, HOME, USER, the locale, TZ and TMPDIR from the environment of
the worker, and what --env adds. It does not get the worker's API key: variables
that begin with TASKER_ are never passed on.

A server that probes workers asks at --health-addr how the worker is: whether the
machine, or the control group, has memory left, and whether the worker reaches
its server. It gives nothing more to one that is not well.

SIGINT or SIGTERM stops the intake; programs that run may end in --drain-timeout,
and what is left then is given back with no attempt charged.`,
		Example: `  tasker worker --handler send_email=./send_email.py
  tasker worker --handler thumbnail='python3 thumbnail.py --size 200' --capability gpu --concurrency 2`,
		Args: cobra.NoArgs,
	}
	s.connectFlags(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&c.handlers, "handler", nil, "NAME=COMMAND: run this command line for the steps of a handler; repeatable")
	f.StringArrayVar(&c.env, "env", nil, "NAME or NAME=VALUE: pass this variable to the programs too; repeatable")
	f.StringVar(&c.opts.Name, "name", "", "name shown to operators (default host and process id)")
	f.IntVar(&c.concurrency, "concurrency", 10, "programs that run at once")
	f.StringSliceVar(&c.opts.Namespaces, "namespace", nil, "serve this namespace only; repeatable (default all)")
	f.StringSliceVar(&c.opts.Capabilities, "capability", nil, "what the worker can do; repeatable")
	f.DurationVar(&c.drain, "drain-timeout", 30*time.Second, "how long programs may go on once the worker is told to stop")
	f.StringVar(&c.health.Addr, "health-addr", "", "tell at this address, such as :8090, how the worker is: GET /health")
	f.StringVar(&c.health.URL, "health-url", "", "where servers reach --health-addr, such as http://10.0.0.7:8090 (default what this machine can tell)")
	cmd.RunE = s.onServer(func(ctx context.Context, client *tasker.Client, _ []string) error { return c.run(ctx, client) })
	cmd.AddCommand(newWorkerList(s), newWorkerShow(s), newWorkerDrain(s), newWorkerResume(s))
	return cmd
}

func (c *workerCommand) run(ctx context.Context, client *tasker.Client) error {
	if c.concurrency < 1 {
		return usagef("--concurrency must be positive")
	}
	if c.drain < 0 {
		return usagef("--drain-timeout must not be negative")
	}
	c.opts.Concurrency, c.opts.DrainTimeout = c.concurrency, c.drain
	if c.drain == 0 {
		c.opts.DrainTimeout = -1 // at once; 0 would be the default
	}
	switch {
	case c.health.Addr != "":
		c.opts.Health = &c.health
	case c.health.URL != "":
		return usagef("--health-url says where --health-addr is reached: give that too")
	}
	c.opts.Logger = slog.New(slog.NewTextHandler(c.s.Err, nil))
	worker := tasker.NewWorker(client, &c.opts)
	names, err := c.handle(worker)
	if err != nil {
		return err
	}
	// To standard error: standard output is for results, and a worker has none.
	fmt.Fprintf(c.s.Err, "worker serves %s at %s; Ctrl-C ends it\n", cleanLines(strings.Join(names, ", ")), cleanLines(c.s.serverURL()))
	if err := worker.Run(ctx); err != nil && !(ctx.Err() != nil && errors.Is(err, context.Canceled)) {
		return err
	}
	return nil
}

// handle registers the commands and returns the handlers' names.
func (c *workerCommand) handle(worker *tasker.Worker) ([]string, error) {
	if len(c.handlers) == 0 {
		return nil, usagef("name at least one --handler NAME=COMMAND")
	}
	var names []string
	for _, h := range c.handlers {
		name, command, ok := strings.Cut(h, "=")
		if !ok || name == "" || strings.TrimSpace(command) == "" {
			return nil, usagef("--handler must be NAME=COMMAND, not %q", h)
		}
		if slices.Contains(names, name) {
			return nil, usagef("--handler %s is given twice", name)
		}
		program, err := script.New(script.Shell(command), &script.Options{Env: c.env})
		if err != nil {
			return nil, usagef("--handler %s: %w", name, err)
		}
		worker.Handle(name, program)
		names = append(names, name)
	}
	return names, nil
}
