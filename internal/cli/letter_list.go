package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
)

// newLetterList prints pages of GET /v1/dead-letters. --json prints a deadletters.LetterPage without large payloads
// and stacks, which `letter show` and `letter export` have. A letter that changes state between pages may be in
// both or neither.
func newLetterList(s *session) *cobra.Command {
	var (
		flags  selectionFlags
		filter deadletters.LetterFilter
	)
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List dead letters, newest first",
		Example: `  tasker letter list --group 3f1c2d5e6f700042 --state open
  tasker letter list --source billing --text 'card 4711' --json`,
		Args:    cobra.NoArgs,
		PreRunE: func(cmd *cobra.Command, _ []string) error { return flags.prepare(s, cmd) },
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			filter.Selection = flags.selection
			return answered(s, s.printLetters)(letterPage(ctx, c, filter))
		}),
	}
	flags.add(cmd)
	f := cmd.Flags()
	f.StringVar(&flags.selection.Namespace, "namespace", "", "filter by namespace")
	pageFlag(cmd, &filter.Limit, 50, "letters per page")
	f.StringVar(&filter.Cursor, "cursor", "", "start after the previous page: the value that it printed")
	return cmd
}

// letterPage skips empty pages: a search reads a bounded number of letters, perhaps without a match.
func letterPage(ctx context.Context, c *tasker.Client, f deadletters.LetterFilter) (*deadletters.LetterPage, error) {
	for {
		page, err := deadletters.Of(c).Letters(ctx, f)
		if err != nil || len(page.Letters) > 0 || page.NextCursor == "" {
			return page, err
		}
		f.Cursor = page.NextCursor
	}
}

// PURGED is when the letter is deleted, empty for an open one.
func (s *session) printLetters(page *deadletters.LetterPage) error {
	t := s.newList("No letters.", "LETTER", "STATE", "SOURCE", "ORIGIN", "DIED", "TIMES", "REPLAYS", "PURGED",
		"GROUP", "ERROR")
	t.dropFirst("PURGED", "REPLAYS", "TIMES", "GROUP", "ORIGIN", "DIED")
	for i := range page.Letters {
		l := &page.Letters[i]
		purged := ""
		if l.PurgeAt != nil {
			purged = s.ago(*l.PurgeAt)
		}
		t.row(l.LetterUUID.String(), letterState(l), qualified(l.Namespace, l.Source), l.Origin, s.ago(l.LastAt),
			strconv.Itoa(l.Occurrences), strconv.Itoa(l.Replays), purged, l.GroupID, headline(failureLine(&l.Failure)))
	}
	return t.flushPage(page.NextCursor)
}

// "parked" is a mark, not a state: only a redrive with --include-parked takes the letter.
func letterState(l *deadletters.Letter) string {
	if l.Parked {
		return string(l.State) + " (parked)"
	}
	return string(l.State)
}

func failureLine(f *deadletters.LetterFailure) string {
	if f.Type == "" {
		return f.Message
	}
	return f.Type + ": " + f.Message
}
