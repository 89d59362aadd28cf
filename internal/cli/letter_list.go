package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
)

// newLetterList builds `letter list`. --json prints a deadletters.LetterPage, whose letters lack large payloads and
// stacks; `letter show` and `letter export` have them. It sends one GET /v1/dead-letters for a page; --cursor
// continues. A letter that changes its state between two pages may be in both or in neither.
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
			page, err := letterPage(ctx, c, filter)
			if err != nil {
				return err
			}
			return s.printLetters(page)
		}),
	}
	flags.add(cmd)
	f := cmd.Flags()
	f.StringVar(&flags.selection.Namespace, "namespace", "", "filter by namespace")
	pageFlag(cmd, &filter.Limit, 50, "letters per page")
	f.StringVar(&filter.Cursor, "cursor", "", "start after the previous page: the value that it printed")
	return cmd
}

// letterPage returns a page with letters, where there are any: a search reads a bounded number of letters at a time and
// may find none of them.
func letterPage(ctx context.Context, c *tasker.Client, f deadletters.LetterFilter) (*deadletters.LetterPage, error) {
	for {
		page, err := deadletters.Of(c).Letters(ctx, f)
		if err != nil || len(page.Letters) > 0 || page.NextCursor == "" {
			return page, err
		}
		f.Cursor = page.NextCursor
	}
}

// printLetters prints one row per letter. PURGED is when the letter is deleted: only redriven and discarded letters
// are, so it is empty for an open one.
func (s *session) printLetters(page *deadletters.LetterPage) error {
	if s.json {
		return s.printJSON(page)
	}
	if len(page.Letters) == 0 {
		return s.printf("No letters.\n")
	}
	t := s.newTable("LETTER", "STATE", "SOURCE", "ORIGIN", "DIED", "TIMES", "REPLAYS", "PURGED", "GROUP", "ERROR")
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
	if err := t.flush(); err != nil {
		return err
	}
	return s.nextCursor(page.NextCursor)
}

// letterState formats the state of a letter. "parked" is a mark and not a state: the letter was sent back too often,
// and only a redrive with --include-parked takes it.
func letterState(l *deadletters.Letter) string {
	if l.Parked {
		return string(l.State) + " (parked)"
	}
	return string(l.State)
}

// failureLine is a failure in one line. The type is omitted if it is unknown, as for a message without details.
func failureLine(f *deadletters.LetterFailure) string {
	if f.Type == "" {
		return f.Message
	}
	return f.Type + ": " + f.Message
}
