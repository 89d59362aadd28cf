package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// newTemplateRegister sends POST /v1/templates per file; the first error ends the command, and earlier templates
// stay registered. The same document is a success; a different one under an existing version is a conflict.
func newTemplateRegister(s *session) *cobra.Command {
	var by, reason string
	cmd := &cobra.Command{
		Use:     "register FILE...",
		Short:   "Register templates",
		Example: `  tasker template register order.yaml refund.yaml`,
		Long: `Register templates from files, - for standard input. A version is immutable:
registering the same content again has no effect; different content under the same
version is a conflict.`,
		Args: cobra.MinimumNArgs(1),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			// With --json an empty list is [], not null.
			registered := []*tasker.Template{}
			for _, file := range args {
				src, err := s.templateSource(file)
				if err != nil {
					return err
				}
				src.RegisteredBy, src.Reason = actor(by), reason
				t, err := c.RegisterTemplate(ctx, src)
				if err != nil {
					return err
				}
				registered = append(registered, t)
				if s.json {
					continue
				}
				what := "Template registered"
				// Deployments can repeat the command.
				if !t.Created {
					what = "Template is already registered"
				}
				if err := s.printf("✓ %s: %s version %s\n", what, qualified(t.Namespace, t.Name), t.Version); err != nil {
					return err
				}
			}
			if s.json {
				return s.printList("templates", registered)
			}
			return nil
		}),
	}
	actorFlag(cmd, &by, "registered-by")
	cmd.Flags().StringVar(&reason, "reason", "", "reason for the act; kept in the audit trail")
	return cmd
}
