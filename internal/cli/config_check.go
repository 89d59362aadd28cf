package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/model/access"
)

// newConfig groups commands that read this process's files, environment and flags, not a server's.
func newConfig(s *session) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Check the configuration, print it, or print an example"}
	cmd.AddCommand(newConfigCheck(s), newConfigExample(s), newConfigPrint(s))
	return cmd
}

// newConfigCheck reports what `serve` would refuse before it opens anything.
func newConfigCheck(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check the configuration and show what is set in it",
		Long: `Check file, environment and flags as serve does, and print the settings that they
make. All problems are reported at once, each with its place,
and the exit code is 2. Nothing is opened: neither the database nor a port nor a
broker; tasker doctor tries those.`,
		Example: `  tasker config check --config tasker.yaml
  tasker config check --config tasker.yaml && systemctl reload tasker`,
		Args: cobra.NoArgs,
	}
	flags := s.configFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := flags.load(cmd)
		if err != nil {
			return err
		}
		if err := checkConfig(cfg); err != nil {
			return usageError{err}
		}
		all, set := cfg.Settings(), []config.Setting{}
		for _, one := range all {
			if one.Source != "default" {
				set = append(set, one)
			}
		}
		if s.json {
			return s.printJSON(map[string]any{"valid": true, "settings": set})
		}
		if err := s.printf("✓ The configuration is valid. It sets %d of %d settings.\n",
			len(set), len(all)); err != nil {
			return err
		}
		return s.printSettings(set)
	}
	return cmd
}

// checkConfig returns the problems that config.Load does not find.
func checkConfig(cfg *config.Config) error {
	var problems []error
	if _, err := access.New(cfg.Keys); err != nil {
		problems = append(problems, fmt.Errorf("keys: %w", err))
	}
	if _, err := cfg.Encryption.Ring(); err != nil {
		problems = append(problems, err)
	}
	if _, err := cfg.Blobs.Open(); err != nil {
		problems = append(problems, err)
	}
	return errors.Join(append(problems, cfg.CheckOpen())...)
}
