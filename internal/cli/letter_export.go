package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
)

// newLetterExport streams letters as JSON in the memory of one letter. A node runs at most four exports and answers
// exhausted beyond. After a cut connection the export is incomplete and the exit code is not 0.
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
			// After an error the written lines stay; the exit code reports it.
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
