package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
)

// newLetterExport builds `letter export`. The letters arrive as a stream and each is written as soon as it arrives, so
// an export of any size needs memory for one letter. The output is JSON with and without --json. A server runs at most
// four exports at a time on each node and answers exhausted to another one. A connection that is cut means that the
// export is not complete, and the exit code is not 0 then.
func newLetterExport(s *session) *cobra.Command {
	var flags selectionFlags
	var show bool
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write dead letters as JSON lines, newest first",
		Long: `Write the selected letters whole, with payloads, headers and stacks, one JSON object a
line. If the export breaks off, the command fails: what it wrote is then only a part.`,
		Example: `  tasker letter export --group 3f1c2d5e6f700042 > letters.jsonl
  tasker letter export --source billing --state open | jq -r .original.payload.order`,
		Args:    cobra.NoArgs,
		PreRunE: func(cmd *cobra.Command, _ []string) error { return flags.prepare(s, cmd) },
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			filter := deadletters.LetterFilter{Selection: flags.selection}
			// An error of the stream and an error of standard output end the export alike. Lines that are out stay out;
			// the exit code is how a script learns that they are not all.
			for letter, err := range deadletters.Of(c).ExportLetters(showing(ctx, show), filter) {
				if err == nil {
					err = s.printJSONLine(letter)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}),
	}
	flags.add(cmd)
	addShowSensitive(cmd, &show)
	cmd.Flags().StringVar(&flags.selection.Namespace, "namespace", "", "filter by namespace")
	return cmd
}
