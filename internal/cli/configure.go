package cli

import (
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker/internal/config"
)

// configFlags are the flags that set keys of the configuration.
type configFlags struct {
	s    *session
	file string
	keys map[string]string // key by flag
}

// configFlags adds --config and the flags of common keys.
func (s *session) configFlags(cmd *cobra.Command) *configFlags {
	c := &configFlags{s: s, keys: map[string]string{
		"db": "db.dsn", "listen": "server.listen", "allow-open": "server.allow_open",
		"log-level": "log.level", "log-format": "log.format",
	}}
	f := cmd.Flags()
	f.StringVar(&c.file, "config", "", "configuration file, in YAML (default $TASKER_CONFIG, else none)")
	f.String("db", "", "where the work is kept: sqlite:PATH, a plain path, or memory: (default sqlite:tasker.db)")
	f.String("listen", "", "HOST:PORT to listen on; port 0 takes a free one (default 127.0.0.1:8080)")
	f.Bool("allow-open", false, "listen beyond this machine though there are no API keys")
	f.String("log-level", "", "debug, info, warn or error (default info)")
	f.String("log-format", "", "text or json (default text)")
	return c
}

// load reads the configuration in force.
func (c *configFlags) load(cmd *cobra.Command) (*config.Config, error) {
	src := config.Sources{File: c.file, Environ: c.s.Environ}
	if src.File == "" {
		src.File = c.s.getenv("TASKER_CONFIG")
	}
	for _, name := range []string{"db", "listen", "allow-open", "log-level", "log-format"} {
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
