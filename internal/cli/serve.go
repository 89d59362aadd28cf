package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/app"
	"github.com/taskerhq/tasker/internal/host/config"
)

// newServe prints the URL on standard output once the server accepts requests, for scripts, or writes
// --address-file. Logs go to standard error.
func newServe(s *session) *cobra.Command {
	var addressFile string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the server",
		Long: `Run the server until SIGINT or SIGTERM. On shutdown it answers open requests and
long polls; workers keep their leases.

SIGHUP reads the configuration file again and takes over API keys and the level of
the log; it names the other changes, which need a restart. On a terminal it ends
the server, as closing the terminal should.

Every configuration key is also an environment variable: server.listen is
TASKER_SERVER_LISTEN. See ` + s.name + ` config print.`,
		Example: `  tasker serve
  tasker serve --db /var/lib/tasker/tasker.db --listen 127.0.0.1:9000
  tasker serve --db postgres://tasker@db/tasker --migrate=never
  tasker serve --config tasker.yaml`,
		Args: cobra.NoArgs,
	}
	flags := s.configFlags(cmd)
	cmd.Flags().StringVar(&addressFile, "address-file", "",
		"file to write the server's URL to when it is ready; useful with port 0")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := flags.load(cmd)
		if err != nil {
			return err
		}
		if err := cfg.CheckOpen(); err != nil {
			return usageError{err}
		}
		reloads, stop := s.reloads()
		defer stop()
		return startError(app.Run(cmd.Context(), cfg, app.Options{
			Reload: app.Reload{Now: reloads, Load: func() (*config.Config, error) { return flags.load(cmd) }},
			Log:    s.Err, Version: s.Version, Drivers: s.Drivers,
			Ready: func(n app.Node) error {
				// Requests are accepted by now.
				if addressFile != "" {
					if err := writeWhole(addressFile, n.URL+"\n"); err != nil {
						return fmt.Errorf("write address file: %w", err)
					}
				}
				if s.json {
					return s.printJSONLine(map[string]string{"url": n.URL, "db": n.DSN})
				}
				return s.printf("tasker listening on %s (%s)\n", n.URL, n.DSN)
			},
		}))
	}
	return cmd
}

// reloads receives SIGHUPs until stop. On a terminal a hangup ends the process, as usual.
func (s *session) reloads() (now <-chan os.Signal, stop func()) {
	if s.Hangups == nil || s.Terminal {
		return nil, func() {}
	}
	return s.Hangups()
}

// startError makes an invalid DSN or a wrong schema a usage error. Other errors keep their codes, because a restart
// may help.
func startError(err error) error {
	switch tasker.ErrorCode(err) {
	case tasker.CodeInvalid, tasker.CodeConflict:
		return usageError{err}
	}
	return err
}

// writeWhole replaces a file atomically by renaming.
func writeWhole(path, text string) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".tasker-*")
	if err != nil {
		return err
	}
	_, err = tmp.WriteString(text)
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name()) // the first error matters
	}
	return err
}
