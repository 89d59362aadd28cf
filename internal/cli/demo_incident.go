package cli

import (
	"bufio"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/cli/demo/incident"
	"github.com/taskerhq/tasker/internal/host/app"
)

// incidentCommand has the flags of `demo incident` and its input lines.
type incidentCommand struct {
	s       *session
	listen  string
	letters int
	exit    bool
	quiet   bool            // no browser
	lines   <-chan struct{} // one per input line; nil before reading
}

// newDemoIncident, like `demo`, ignores databases and configuration, so that it never runs on a production
// database.
func newDemoIncident(s *session) *cobra.Command {
	c := &incidentCommand{s: s}
	cmd := &cobra.Command{
		Use:   "incident",
		Short: "Show how a night of dead letters is sorted, fixed and sent back",
		Long: `Start a server, a broker and a program in one process. The program fails all night:
10,000 bird-strike reports become dead letters, for eight causes. The demo shows the
inbox, sends the letters back in waves, is stopped because one fix is wrong, corrects
it and finishes. It compares what the program received with the inbox, letter by
letter.

On a terminal the demo opens the dashboard, waits for Enter after each step, and
shows commands that you can type in a second terminal meanwhile. The database is
temporary.`,
		Example: `  tasker demo incident
  tasker demo incident --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&c.listen, "listen", "127.0.0.1:0", "HOST:PORT of the server; port 0 picks a free one")
	f.IntVar(&c.letters, "letters", 10_000, fmt.Sprintf("reports that arrive, %d to 10000", incident.MinLetters))
	f.BoolVar(&c.exit, "exit", false, "do not wait for Enter, and exit at the end, even on a terminal")
	f.BoolVar(&c.quiet, "no-browser", false, "do not open the dashboard in a browser")
	return cmd
}

// Without a terminal it does not wait, so that scripts do not hang.
func (c *incidentCommand) stays() bool { return c.s.Terminal && !c.exit && !c.s.json }

func (c *incidentCommand) run(ctx context.Context) error {
	if c.letters < incident.MinLetters || c.letters > 10_000 {
		return usagef("--letters must be %d to 10000", incident.MinLetters)
	}
	dsn, remove, err := temporaryDSN()
	if err != nil {
		return err
	}
	defer remove()
	cfg, err := demoConfig(dsn, c.listen)
	if err != nil {
		return err
	}
	played := incident.New()
	return c.s.withServer(ctx, cfg, played.Drivers(), func(ctx context.Context, node app.Node) error {
		return c.play(ctx, played, node)
	})
}

// play tells the story, or prints the summary with --json. A letter lost or sent twice is an error, because the
// demo is a test, too.
func (c *incidentCommand) play(ctx context.Context, played *incident.Incident, node app.Node) error {
	opts := incident.Options{Letters: c.letters, Command: spelling(c.s.Args)}
	if !c.s.json {
		opts.Out = c.s.Out
	}
	// Only then is there time to type commands, so only then do they name the server.
	if c.stays() {
		opts.ServerURL, opts.Next = node.URL, c.enter
		if err := c.s.welcome(node.URL, !c.quiet); err != nil {
			return err
		}
	}
	sum, err := played.Run(ctx, deadletters.Of(node.Client), opts)
	if err != nil {
		return err
	}
	if c.s.json {
		line, err := sum.JSON()
		if err != nil {
			return err
		}
		if err := c.s.write(append(line, '\n')); err != nil {
			return err
		}
	}
	if !sum.Sound() {
		return fmt.Errorf("dead letters broke their guarantees: %d lost, %d sent twice", sum.Lost, sum.Twice)
	}
	return nil
}

// enter waits for Enter or the end of ctx. The end of the input continues immediately.
func (c *incidentCommand) enter(ctx context.Context) error {
	if c.lines == nil {
		lines := make(chan struct{})
		go func() { // ends with the process: reading a terminal cannot be interrupted
			in := bufio.NewScanner(c.s.In)
			for in.Scan() {
				lines <- struct{}{}
			}
			close(lines)
		}()
		c.lines = lines
	}
	if err := c.s.printf("Press Enter to go on.\n"); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-c.lines:
		return nil
	}
}
