package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
)

// newSourceTest waits for the broker by POST /v1/sources/{namespace}/{name}/test, which needs sources:admin. A
// silent broker is printed as lost with its error, exit code 1. It takes no message; an intake previews the first
// ones. A source of reports is always fine.
func newSourceTest(s *session) *cobra.Command {
	var namespace string
	cmd := &cobra.Command{
		Use:     "test NAME",
		Short:   "Connect to the broker of a source once; fails if that is not possible",
		Example: `  tasker source test orders-dlq`,
		Args:    cobra.ExactArgs(1),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			status, err := deadletters.Of(c).TestSource(ctx, namespace, args[0])
			if err := answeredList(s, "sources", s.printSources)(alone(status, err)); err != nil {
				return err
			}
			if err := s.printIntakePreview(status); err != nil {
				return err
			}
			if status.State == deadletters.SourceLost {
				return exitError(exitFailure)
			}
			return nil
		}),
	}
	cmd.Flags().StringVar(&namespace, "namespace", "default", "namespace")
	return cmd
}

// newSourcePause stops reading within a second; letters can still be sent back. Reports are not read, so only
// --max-open stops them. It is idempotent.
func newSourcePause(s *session, paused bool) *cobra.Command {
	var (
		namespace string
		act       deadletters.Act
	)
	verb, short := "pause", "Stop reading a source"
	if !paused {
		verb, short = "resume", "Continue to read a source"
	}
	cmd := &cobra.Command{
		Use:     verb + " NAME",
		Short:   short,
		Example: "  tasker source " + verb + " orders-dlq",
		Args:    cobra.ExactArgs(1),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			source, err := deadletters.Of(c).PauseSource(ctx, namespace, args[0], paused, signed(act))
			if err != nil || s.json {
				return s.jsonOf(source, err)
			}
			return s.printf("✓ Source %s: %sd\n", qualified(source.Namespace, source.Name), verb)
		}),
	}
	cmd.Flags().StringVar(&namespace, "namespace", "default", "namespace")
	actFlags(cmd, &act)
	return cmd
}

// newSourceRemove keeps the letters, which cannot be sent back without the source's settings. A program that still
// reports recreates the source with defaults and without targets.
func newSourceRemove(s *session) *cobra.Command {
	var (
		namespace string
		act       deadletters.Act
	)
	cmd := &cobra.Command{
		Use:     "remove NAME",
		Short:   "Remove a source; its letters stay",
		Example: `  tasker source remove orders-dlq --reason 'queue was deleted'`,
		Args:    cobra.ExactArgs(1),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			err := deadletters.Of(c).DropSource(ctx, namespace, args[0], signed(act))
			return s.printRemoved(err, "✓ Source %s removed\n", qualified(namespace, args[0]))
		}),
	}
	cmd.Flags().StringVar(&namespace, "namespace", "default", "namespace")
	actFlags(cmd, &act)
	return cmd
}
