package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
)

// newDLQPatterns prints the stored report of GET /api/v1/dlq/patterns and its age, without computation; before the
// first analysis it exits with 3. --json prints an operate.FailureReport.
func newDLQPatterns(s *session) *cobra.Command {
	var namespace string
	cmd := &cobra.Command{
		Use:     "patterns",
		Short:   "Show the latest analysis of permanent failures, by reason and by error",
		Example: `  tasker dlq patterns --namespace shop`,
		Long: `Show the latest analysis of permanent failures. By default the cluster analyses the
last day once per hour; engine.dlq_patterns in the configuration changes both.`,
		Args: cobra.NoArgs,
		RunE: s.reading(func(ctx context.Context, c *tasker.Client, _ []string) error {
			return answered(s, s.printFailures)(operate.Of(c).FailureReport(ctx, namespace))
		}),
	}
	cmd.Flags().StringVar(&namespace, "namespace", "", "filter by namespace")
	return cmd
}

func (s *session) printFailures(r *operate.FailureReport) error {
	if err := s.printf("Analysed %s: %d cases opened in %s, %d replayable\n", s.ago(r.AnalyzedAt), r.TotalCount,
		brief(r.AnalyzedAt.Sub(r.Since)), r.Replayable); err != nil {
		return err
	}
	// Alarms need attention first.
	for _, a := range r.Alarms {
		if err := s.printf("! %s\n", a.Message); err != nil {
			return err
		}
	}
	if len(r.Fingerprints) == 0 {
		return nil
	}
	if err := s.printf("\n"); err != nil {
		return err
	}
	t := s.newTable("COUNT", "REPLAYABLE", "REASON", "ERROR", "NAMESPACE", "FIRST", "LAST", "NEW")
	for i := range r.Fingerprints {
		p := &r.Fingerprints[i]
		fresh := ""
		if p.New {
			fresh = "yes"
		}
		t.row(strconv.Itoa(p.Count), strconv.Itoa(p.Replayable), string(p.FailureReason), p.Fingerprint, p.Namespace,
			s.ago(p.FirstAt), s.ago(p.LastAt), fresh)
	}
	return t.flush()
}
