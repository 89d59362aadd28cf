package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/host/doctor"
	"github.com/taskerhq/tasker/internal/kit/vault"
)

func newEncryption(s *session) *cobra.Command {
	cmd := &cobra.Command{Use: "encryption", Short: "Generate encryption keys, and see what needs them"}
	cmd.AddCommand(newEncryptionGenerate(s), newEncryptionStatus(s))
	return cmd
}

// newEncryptionGenerate: the key exists only in its output.
func newEncryptionGenerate(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "generate ID",
		Short: "Generate a key for sensitive values",
		Long: `Generate a line for encryption.keys_file: the ID and a random key of 256 bits.
The first key of the file encrypts, all decrypt. A database that was written with a
key cannot be read without it: keep it as safe as the backups, and apart from them.`,
		Example: `  tasker encryption generate 2026-01 >> /etc/tasker/encryption.keys`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if !vault.ValidID(args[0]) {
				return usagef("an ID has a to z, 0 to 9 and -, and at most 32 bytes, not %q", args[0])
			}
			line := vault.Generate(args[0])
			if s.json {
				return s.printJSON(map[string]string{"line": line})
			}
			return s.printf("%s\n", line)
		},
	}
}

// newEncryptionStatus opens the database, like doctor, and needs no key.
func newEncryptionStatus(s *session) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what needs each encryption key",
		Long: `Show the keys that values of a database were encrypted with, and how many rows of
each table need them, up to 10,000. A key that nothing needs can leave the file.

The command reads every row, changes nothing and can run beside servers.`,
		Example: `  tasker encryption status --db postgres://tasker@db.example.com/tasker`,
		Args:    cobra.NoArgs,
	}
	flags := s.databaseFlags(cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", 10*time.Minute, "time limit")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return s.examine(cmd, flags, timeout, func(cfg *config.Config) doctor.Options {
			return doctor.Options{PoolSize: cfg.DB.PoolSize, Keys: true}
		})
	}
	return cmd
}
