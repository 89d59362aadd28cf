package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/cli/script"
	"github.com/taskerhq/tasker/rabbitmq"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

type workerCommand struct {
	s           *session
	handlers    []string
	env         []string
	concurrency int
	drain       time.Duration
	transport   string
	health      worker.Health
	opts        worker.Options
	abort       chan struct{} // closed when the programs must end at once
}

// newWorker runs a worker and groups the commands about workers; package script defines the programs' protocol.
// After an interrupt it drains: it takes no more steps and finishes the current ones.
func newWorker(s *session) *cobra.Command {
	c := &workerCommand{s: s}
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Execute steps by running programs",
		Long: `Claim steps from a server and run a program for each. The program reads one JSON
document from standard input, with "parameters", "parent_results" and "step", and
writes the step's result as JSON to standard output. Empty output means no result.

Exit code 0 completes the step. Exit codes 64 (usage), 65 (bad data), 66 (no input),
77 (no permission) and 78 (configuration), and output that is not JSON, fail the
step permanently. Any other exit code fails the attempt, and the template decides
how often the step is attempted. The failure contains the program's standard error.

The document has the last "checkpoint" of an earlier attempt, if there is one. To
store one, the program writes JSON to the file $TASKER_CHECKPOINT_FILE, under another
name first, and renames it.

A program inherits PATH, HOME, USER, the locale, TZ and TMPDIR from the worker, and
the variables that --env adds. It never inherits variables that begin with TASKER_,
such as the API key of the worker.

The worker polls its server for steps. With --transport and the URL of RabbitMQ, the
server sends them to a queue of the worker instead; programs and results are the same.
The server must be configured with message_queue.rabbitmq.url.

A server that probes workers sends its health checks to --health-addr. The worker
answers whether the machine or the control group has memory left and whether the
worker reaches its server. An unhealthy worker gets no more steps.

On SIGINT or SIGTERM the worker claims no more steps. Running programs may finish
within --drain-timeout; the worker then releases the rest without charging an attempt.
A second signal kills the running programs and releases their steps at once; a third
one ends the worker where it is.`,
		Example: `  tasker worker --handler send_email=./send_email.py
  tasker worker --handler thumbnail='python3 thumbnail.py --size 200' --capability gpu --concurrency 2`,
		Args: cobra.NoArgs,
	}
	s.connectFlags(cmd)
	f := cmd.Flags()
	// StringArray, because a command line may contain commas.
	f.StringArrayVar(&c.handlers, "handler", nil, "NAME=COMMAND: command line for the steps of a handler; repeatable")
	f.StringArrayVar(&c.env, "env", nil, "NAME or NAME=VALUE: variable to pass to the programs; repeatable")
	f.StringVar(&c.opts.Name, "name", "", "name of the worker (default: host and process ID)")
	f.IntVar(&c.concurrency, "concurrency", 10, "maximum number of concurrent programs")
	// The server assigns only steps of these namespaces, and with capabilities that the worker has.
	f.StringSliceVar(&c.opts.Namespaces, "namespace", nil,
		"namespace to serve, * for all; repeatable (default those of the key, else default)")
	f.StringSliceVar(&c.opts.Capabilities, "capability", nil, "capability of the worker; repeatable")
	// The URL has a password, so it may come from the environment, which other users cannot see.
	f.StringVar(&c.transport, "transport", "",
		"http, or the URL of RabbitMQ: amqp://USER:PASSWORD@HOST/VHOST (default $TASKER_TRANSPORT, else http)")
	f.DurationVar(&c.drain, "drain-timeout", 30*time.Second,
		"time limit for running programs after the worker receives a stop signal")
	f.DurationVar(&c.opts.HeartbeatInterval, "heartbeat-interval", 0,
		"interval of heartbeats, at most a third of the lease (default: set by the server)")
	f.StringVar(&c.health.Addr, "health-addr", "", "address to serve GET /health on, such as :8090")
	f.StringVar(&c.health.URL, "health-url", "",
		"URL at which servers reach --health-addr, such as http://10.0.0.7:8090 (default: derived from the host)")
	cmd.RunE = s.onServer(func(ctx context.Context, client *tasker.Client, _ []string) error { return c.run(ctx, client) })
	cmd.AddCommand(newWorkerList(s), newWorkerShow(s), newWorkerDrain(s), newWorkerResume(s),
		newWorkerCordon(s), newWorkerUncordon(s))
	return textOnly(cmd)
}

// run ends after ctx when its programs have finished, or after the drain time-out. An end by a signal is a success.
func (c *workerCommand) run(ctx context.Context, client *tasker.Client) error {
	if c.concurrency < 1 {
		return usagef("--concurrency must be positive")
	}
	if c.drain < 0 {
		return usagef("--drain-timeout must not be negative")
	}
	c.opts.Concurrency, c.opts.DrainTimeout = c.concurrency, c.drain
	if c.drain == 0 {
		c.opts.DrainTimeout = -1 // immediately; 0 is the default
	}
	switch {
	// Without an address the URL would lead nowhere.
	case c.health.Addr != "":
		c.opts.Health = &c.health
	case c.health.URL != "":
		return usagef("--health-url requires --health-addr")
	}
	if c.opts.HeartbeatInterval < 0 {
		return usagef("--heartbeat-interval must not be negative")
	}
	if err := c.setTransport(); err != nil {
		return err
	}
	c.abort = make(chan struct{})
	c.opts.Abort = c.abort
	c.opts.Logger = slog.New(slog.NewTextHandler(c.s.Err, nil))
	worker := worker.New(client, &c.opts)
	names, err := c.handle(worker)
	if err != nil {
		return err
	}
	script.Sweep()
	defer c.watchSignals(ctx)()
	// Standard output is for results.
	fmt.Fprintf(c.s.Err, "worker serves %s at %s; press Ctrl-C to stop it\n", cleanLines(strings.Join(names, ", ")),
		cleanLines(c.s.serverURL()))
	// After a signal only the context's error is expected.
	if err := worker.Run(ctx); err != nil && !(ctx.Err() != nil && errors.Is(err, context.Canceled)) {
		return err
	}
	return nil
}

// setTransport reads --transport or the environment; by default the worker polls. No message contains the URL,
// which has a password.
func (c *workerCommand) setTransport() error {
	text := cmp.Or(c.transport, c.s.getenv("TASKER_TRANSPORT"))
	switch {
	case text == "" || text == protocol.TransportHTTP:
		return nil
	case strings.HasPrefix(text, "amqp://") || strings.HasPrefix(text, "amqps://"):
		c.opts.Transport = rabbitmq.NewTransport(text, rabbitmq.Options{})
		return nil
	}
	return usagef("--transport must be http or a URL that begins with amqp:// or amqps://")
}

// handle registers a program for each --handler and returns the names of the handlers. It
// starts no program.
func (c *workerCommand) handle(worker *worker.Worker) ([]string, error) {
	if len(c.handlers) == 0 {
		return nil, usagef("at least one --handler NAME=COMMAND is required")
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
		program, err := script.New(script.Shell(command), &script.Options{Env: c.env, Abort: c.opts.Abort})
		if err != nil {
			return nil, usagef("--handler %s: %w", name, err)
		}
		worker.Handle(name, program)
		names = append(names, name)
	}
	return names, nil
}
