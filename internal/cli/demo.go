package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/cli/demo"
	"github.com/taskerhq/tasker/internal/host/app"
	"github.com/taskerhq/tasker/internal/host/config"
)

type demoCommand struct {
	s       *session
	db      string
	listen  string
	records int
	stay    bool
	exit    bool
	quiet   bool // no browser
}

// newDemo needs neither a database nor a configuration file: it is the first command to try.
func newDemo(s *session) *cobra.Command {
	c := &demoCommand{s: s}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run real, dirty data through a workflow and show what failed and why",
		Long: `Start a server with an embedded database and workers in one process, and run FAA
bird-strike reports through a workflow of six steps. Reports fail because their
data is dirty.

On a terminal the demo opens the dashboard, and keeps its server and its workers
running until Ctrl-C, so that you can inspect and repair failed reports.
Elsewhere it ends after the summary; --stay keeps it running there, too. The
database is temporary unless --db names one.`,
		Example: `  tasker demo
  tasker demo --stay --no-browser --listen 127.0.0.1:8080
  tasker demo --json --records 1000`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&c.db, "db", "", "database to use and keep, such as sqlite:demo.db (default: a temporary one)")
	f.StringVar(&c.listen, "listen", "127.0.0.1:0", "HOST:PORT of the server; port 0 picks a free one")
	f.IntVar(&c.records, "records", 0, "reports to process (default all)")
	f.BoolVar(&c.stay, "stay", false, "keep running after the summary, even without a terminal")
	f.BoolVar(&c.exit, "exit", false, "exit after the summary, even on a terminal")
	f.BoolVar(&c.quiet, "no-browser", false, "do not open the dashboard in a browser")
	cmd.MarkFlagsMutuallyExclusive("stay", "exit")
	cmd.AddCommand(newDemoIncident(s))
	return cmd
}

// stays reports whether the demo keeps running after the summary. Without a terminal it ends unless --stay is set,
// so that scripts do not hang.
func (c *demoCommand) stays() bool { return c.stay || c.s.Terminal && !c.exit && !c.s.json }

// run ignores environment and configuration file, because the demo must never run on a production database.
func (c *demoCommand) run(ctx context.Context) (err error) {
	if c.records < 0 {
		return usagef("--records must not be negative")
	}
	dsn := c.db
	if dsn == "" {
		var remove func()
		if dsn, remove, err = temporaryDSN(); err != nil {
			return err
		}
		defer remove()
	}
	cfg, err := demoConfig(dsn, c.listen)
	if err != nil {
		return err
	}
	return c.s.withServer(ctx, cfg, nil, c.play)
}

func temporaryDSN() (dsn string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "tasker-demo-")
	if err != nil {
		return "", nil, fmt.Errorf("make directory of the demo: %w", err)
	}
	// The system empties its temporary directory, too.
	return "sqlite:" + filepath.Join(dir, "tasker.db"), func() { _ = os.RemoveAll(dir) }, nil
}

// demoConfig takes nothing from the environment.
func demoConfig(dsn, listen string) (*config.Config, error) {
	cfg, err := config.Load(config.Sources{Flags: []config.Flag{
		{Name: "--db", Key: "db.dsn", Text: dsn},
		{Name: "--listen", Key: "server.listen", Text: listen},
		// The demo's failures must not drown its output in the log.
		{Name: "demo", Key: "log.level", Text: "warn"},
		{Name: "demo", Key: "engine.outage_breaker.enabled", Text: "true"},
	}})
	if err != nil {
		return nil, usageError{err}
	}
	return cfg, nil
}

// withServer runs a server during body. The server has its own context, because workers that stop after Ctrl-C
// still report to it. If the server fails first, body's context ends and the server's error is returned.
func (s *session) withServer(ctx context.Context, cfg *config.Config, drivers driver.Registry,
	body func(context.Context, app.Node) error,
) error {
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServing()
	ctx, stopBody := context.WithCancel(ctx)
	defer stopBody()
	ready := make(chan app.Node, 1)
	ended := make(chan error, 1)
	go func() {
		defer stopBody()
		ended <- app.Run(serving, cfg, app.Options{
			Log: s.Err, Version: s.Version, Drivers: drivers, Ready: func(n app.Node) error { ready <- n; return nil },
		})
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		stopServing()
		if err := <-ended; err != nil {
			return err
		}
		return ctx.Err()
	case node := <-ready:
		err := body(ctx, node)
		stopServing()
		serr := <-ended
		if serr != nil && errors.Is(err, context.Canceled) {
			return serr // the server ended body
		}
		return errors.Join(err, serr)
	}
}

// play runs the demo and prints the summary. It also checks the guarantees: a lost or doubly settled task is an
// error. On a terminal it then runs workers until ctx ends.
func (c *demoCommand) play(ctx context.Context, node app.Node) error {
	opts := demo.Options{
		Records: c.records, Progress: c.s.Err, IsTerminal: c.s.ErrTerminal, Command: spelling(c.s.Args),
	}
	if c.stays() {
		opts.ServerURL = node.URL
		if err := c.s.welcome(node.URL, !c.quiet); err != nil {
			return err
		}
	}
	sum, err := demo.Run(ctx, node.Client, opts)
	if err != nil {
		return err
	}
	if err := c.show(sum, opts.Command, node); err != nil {
		return err
	}
	// A lost or doubly settled task is a bug of the engine, not of the data.
	if !sum.Sound() {
		return fmt.Errorf("the engine broke its guarantees: %d tasks lost, %d steps settled twice", sum.Lost,
			sum.SettledTwice)
	}
	if !c.stays() {
		return nil
	}
	// Until Ctrl-C, the intended end.
	if err := demo.Work(ctx, node.Client, opts); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// welcome opens the dashboard before the first report runs.
func (s *session) welcome(url string, open bool) error {
	if s.json {
		return nil
	}
	if open && s.openBrowser(url+"/") {
		return s.printf("The dashboard opens in your browser: %s/\n\n", url)
	}
	return s.printf("The dashboard shows what happens: %s/\n\n", url)
}

func (c *demoCommand) show(sum demo.Summary, command string, node app.Node) error {
	if c.s.json {
		line, err := sum.JSON()
		if err != nil {
			return err
		}
		return c.s.write(append(line, '\n'))
	}
	if err := sum.WriteText(c.s.Out); err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	again := command + " demo --stay"
	switch {
	case c.stays():
		return c.s.printf("\nServer and workers run until you press Ctrl-C. Dashboard: %s/, API: %s/docs\n",
			node.URL, node.URL)
	case c.db != "":
		return c.s.printf("\nThe tasks are kept. To work with them, start server and workers: %s --db %s\n",
			again, node.DSN)
	case sum.Failed == 0:
		return nil
	}
	return c.s.printf("\nServer, workers and the temporary database are gone. To inspect and repair reports: %s\n",
		again)
}

// spelling returns how to type the program again: its path, or `go run` for a temporary executable.
func spelling(args []string) string {
	switch {
	case len(args) == 0:
		return "tasker"
	case strings.Contains(filepath.ToSlash(args[0]), "/go-build"):
		return "go run ./cmd/tasker"
	}
	return args[0]
}
