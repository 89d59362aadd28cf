package cli

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/kit/wording"
)

// newInbox lists the groups of GET /v1/groups, where an operator begins. Counts are about a second old. A merged
// group has no row. --json prints a deadletters.GroupPage.
func newInbox(s *session) *cobra.Command {
	var (
		filter deadletters.GroupFilter
		state  string
		all    bool
	)
	cmd := &cobra.Command{
		Use:   "inbox",
		Short: "List failures by their cause: dead letters and cases of tasks",
		Long: `List groups: failures of one cause, dead letters and cases of tasks alike. By default
the list has the groups with open letters or pending cases; --all shows every group.
HOURS shows the failures of the last 24 hours, hour by hour.`,
		Example: `  tasker inbox
  tasker inbox --all --state resolved --order first
  tasker inbox --where charge --json`,
		Args: cobra.NoArgs,
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			filter.State, filter.OpenOnly = deadletters.GroupState(state), !all
			return answered(s, s.printGroups)(deadletters.Of(c).Groups(ctx, filter))
		}),
	}
	s.connectFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&filter.Namespace, "namespace", "", "filter by namespace")
	f.StringVar(&state, "state", "", "filter by state: open, acknowledged, resolved or ignored")
	f.StringVar(&filter.Owner, "owner", "", "filter by owner")
	f.StringVar(&filter.Where, "where", "", "filter by handler or source")
	f.StringVar(&filter.Text, "text", "", "filter by a part of the title")
	f.StringVar(&filter.Order, "order", "last",
		"last (failed last first), open (most open items first) or first (newest first)")
	f.BoolVar(&all, "all", false, "include groups without open letters and pending cases")
	pageFlag(cmd, &filter.Limit, 50, "groups per page")
	f.StringVar(&filter.Cursor, "cursor", "", "start after the previous page: the value that it printed")
	choose(cmd, "state", deadletters.GroupOpen, deadletters.GroupAcknowledged, deadletters.GroupResolved,
		deadletters.GroupIgnored)
	choose(cmd, "order", "last", "open", "first")
	return cmd
}

// OPEN counts letters and cases. WHERE is the handler or the source.
func (s *session) printGroups(page *deadletters.GroupPage) error {
	if len(page.Groups) == 0 {
		return s.printf("No groups.\n")
	}
	t := s.newTable("GROUP", "STATE", "OPEN", "FAILURES", "HOURS", "FIRST", "LAST", "OWNER", "WHERE", "TITLE")
	t.dropFirst("HOURS", "FIRST", "OWNER", "FAILURES")
	for i := range page.Groups {
		g := &page.Groups[i]
		state := string(g.State)
		if g.Regression {
			state += " (regression)"
		}
		t.row(g.GroupID, state, strconv.FormatInt(g.OpenLetters+g.OpenCases, 10), strconv.FormatInt(g.Failures, 10),
			sparkline(g.Hours, s.Now()), s.ago(g.FirstAt), s.ago(g.LastAt), g.Owner,
			qualified(g.Namespace, g.Fingerprint.Where), headline(g.Title))
	}
	if err := t.flush(); err != nil {
		return err
	}
	if page.Resolutions > 0 {
		mean := time.Duration(page.MeanOpenSeconds * float64(time.Second)).Round(time.Second)
		if err := s.printf("\nMean time to resolve: %s, of %s\n", mean,
			wording.Count(int(page.Resolutions), "resolution")); err != nil {
			return err
		}
	}
	return s.nextCursor(page.NextCursor)
}

// nextCursor prints the flag that continues a list. A short page may still have a next one.
func (s *session) nextCursor(cursor string) error {
	if cursor == "" {
		return nil
	}
	return s.printf("\nMore: --cursor %s\n", cursor)
}
