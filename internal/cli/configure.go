package cli

import (
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker/internal/host/config"
)

// configFlags set keys of the configuration. They have no defaults: an omitted flag must not override the file or
// the environment.
type configFlags struct {
	s    *session
	file string
	keys map[string]string // key by flag
}

func (s *session) configFlags(cmd *cobra.Command) *configFlags {
	c := &configFlags{s: s, keys: map[string]string{
		"db": "db.dsn", "dispatch": "dispatch", "listen": "server.listen", "allow-open": "server.allow_open",
		"migrate": "db.migrate", "log-level": "log.level", "log-format": "log.format",
	}}
	c.databaseFlags(cmd)
	f := cmd.Flags()
	f.String("dispatch", "", "dispatcher of ready steps: native, or redis://HOST:PORT (default native)")
	f.String("migrate", "", "action on an older schema: auto migrates it, never refuses to start (default auto)")
	f.String("listen", "", "HOST:PORT to listen on; port 0 picks a free one (default 127.0.0.1:8080)")
	f.Bool("allow-open", false, "allow connections from other machines without API keys")
	f.String("log-level", "", "debug, info, warn or error (default info)")
	f.String("log-format", "", "text or json (default text)")
	return c
}

func (c *configFlags) databaseFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.file, "config", "", "YAML configuration file (default $TASKER_CONFIG, else none)")
	f.String("db", "", "database: sqlite:PATH, a plain path, postgres://..., or memory: (default sqlite:tasker.db)")
}

func (s *session) databaseFlags(cmd *cobra.Command) *configFlags {
	c := &configFlags{s: s, keys: map[string]string{"db": "db.dsn"}}
	c.databaseFlags(cmd)
	return c
}

// Every error is a usage error, exit code 2.
func (c *configFlags) load(cmd *cobra.Command) (*config.Config, error) {
	src := config.Sources{File: c.file, Environ: c.s.Environ}
	if src.File == "" {
		src.File = c.s.getenv("TASKER_CONFIG")
	}
	for _, name := range []string{"db", "dispatch", "migrate", "listen", "allow-open", "log-level", "log-format"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			src.Flags = append(src.Flags, config.Flag{Name: "--" + name, Key: c.keys[name], Text: f.Value.String()})
		}
	}
	cfg, err := config.Load(src)
	if err != nil {
		return nil, usageError{err}
	}
	return cfg, nil
}
