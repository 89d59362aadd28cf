package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
)

// newSourceTest builds `source test`. A broker that does not answer is no error of the request: the command prints the
// state lost with the broker's error and exits with 1. It sends POST /v1/sources/{namespace}/{name}/test, which needs
// sources:admin and waits for the broker. It takes no message; of a source with an intake it shows what the first ones
// would become. A source of reports has no broker and is always fine.
func newSourceTest(s *session) *cobra.Command {
	var namespace string
	cmd := &cobra.Command{
		Use:     "test NAME",
		Short:   "Connect to the broker of a source once; fails if that is not possible",
		Example: `  tasker source test orders-dlq`,
		Args:    cobra.ExactArgs(1),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			status, err := deadletters.Of(c).TestSource(ctx, namespace, args[0])
			if err != nil {
				return err
			}
			if err := s.printSources([]deadletters.SourceStatus{*status}); err != nil {
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

// newSourcePause builds `source pause` and `source resume`. A paused source keeps its letters, and they can be sent
// back; only reading stops. The node that reads the source stops within a second. A source of reports is not read, so a
// pause keeps no reports away; --max-open does. Pausing twice is fine.
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
			if err != nil {
				return err
			}
			if s.json {
				return s.printJSON(source)
			}
			return s.printf("✓ Source %s: %sd\n", qualified(source.Namespace, source.Name), verb)
		}),
	}
	cmd.Flags().StringVar(&namespace, "namespace", "default", "namespace")
	actFlags(cmd, &act)
	return cmd
}

// newSourceRemove builds `source remove`. The letters of the source stay, but cannot be sent back without its settings:
// they name the broker. A program that goes on reporting under the name makes the source again, with default settings
// and without its targets.
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
			if err := deadletters.Of(c).DropSource(ctx, namespace, args[0], signed(act)); err != nil {
				return err
			}
			if s.json {
				return s.printJSON(struct {
					Removed bool `json:"removed"`
				}{true})
			}
			return s.printf("✓ Source %s removed\n", qualified(namespace, args[0]))
		}),
	}
	cmd.Flags().StringVar(&namespace, "namespace", "default", "namespace")
	actFlags(cmd, &act)
	return cmd
}
