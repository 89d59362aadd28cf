package cli

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
)

// newDLQStats takes the filters of `dlq list` for GET /v1/dlq/stats. --json prints operate.CaseStats.
func newDLQStats(s *session) *cobra.Command {
	var flags caseFlags
	cmd := &cobra.Command{
		Use:     "stats",
		Short:   "Count cases by reason",
		Example: `  tasker dlq stats --after 24h`,
		Args:    cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error { return flags.prepare(s) },
		RunE: s.reading(func(ctx context.Context, c *tasker.Client, _ []string) error {
			return answeredList(s, "reasons", s.printCaseStats)(operate.Of(c).CaseStats(ctx, flags.filter))
		}),
	}
	flags.add(cmd)
	return cmd
}

// RESOLVED AFTER is the mean time to resolution of resolved cases.
func (s *session) printCaseStats(stats []operate.CaseStats) error {
	t := s.newList("No cases.", "REASON", "TOTAL", "PENDING", "RESOLVED", "FAILED", "CANCELLED", "OLDEST", "NEWEST",
		"RESOLVED AFTER")
	for i := range stats {
		st := &stats[i]
		mean := ""
		// No resolved case has no mean, which differs from 0 minutes.
		if st.AvgResolutionTimeMinutes != nil {
			mean = minutes(*st.AvgResolutionTimeMinutes)
		}
		t.row(string(st.Reason), strconv.Itoa(st.TotalEntries), strconv.Itoa(st.Pending), strconv.Itoa(st.ManuallyResolved),
			strconv.Itoa(st.PermanentFailures), strconv.Itoa(st.Cancelled), s.agoOf(st.OldestEntry), s.agoOf(st.NewestEntry),
			mean)
	}
	return t.flush()
}

func (s *session) agoOf(t *time.Time) string {
	if t == nil {
		return ""
	}
	return s.ago(*t)
}
