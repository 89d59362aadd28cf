package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
)

// newTemplateStats reads GET /v1/templates/{namespace}/{name}/{version}/stats, of the latest version by default.
// --json prints an operate.TemplateStats.
func newTemplateStats(s *session) *cobra.Command {
	var tasks int
	cmd := &cobra.Command{
		Use:     "stats [NAMESPACE/]NAME[@VERSION]",
		Short:   "Show durations and failures of the steps of a template",
		Example: `  tasker template stats shop/order --tasks 500`,
		Long: `Show how the newest tasks of a version of a template went, step by step. RAN and
WAITED are of the last attempts: the time from start to end, and the time in the
queue before it. FAILED is the share of the attempts that failed.`,
		Args: cobra.ExactArgs(1),
		RunE: s.reading(func(ctx context.Context, c *tasker.Client, args []string) error {
			namespace, name, version := templateName(args[0])
			if version == "" {
				t, err := c.Template(ctx, namespace, name, "")
				if err != nil {
					return err
				}
				namespace, version = t.Namespace, t.Version
			}
			return answered(s, s.printTemplateStats)(operate.Of(c).TemplateStats(ctx,
				operate.TemplateStatsFilter{Namespace: namespace, Name: name, Version: version, Tasks: tasks}))
		}),
	}
	cmd.Flags().Var((*pageSize)(&tasks), "tasks", "newest tasks to look at, 1 to 1000 (default 100)")
	return cmd
}

func (s *session) printTemplateStats(t *operate.TemplateStats) error {
	took := ""
	if t.Took != nil {
		took = "; complete ones took " + lasted(t.Took.P50) + " (median), " + lasted(t.Took.P95) + " (p95)"
	}
	if err := s.printf("%s@%s, newest %d tasks: %d complete, %d in error, %d cancelled%s\n\n",
		qualified(t.Namespace, t.Name), t.Version, t.Tasks, t.Complete, t.Failed, t.Cancelled, took); err != nil {
		return err
	}
	tbl := s.newTable("STEP", "BEGUN", "FAILED", "RAN P50", "P95", "MAX", "WAITED P50", "P95")
	for i := range t.Steps {
		of := &t.Steps[i]
		ran, waited := operate.Spread{}, operate.Spread{}
		if of.Ran != nil {
			ran = *of.Ran
		}
		if of.Waited != nil {
			waited = *of.Waited
		}
		tbl.row(of.Name, strconv.Itoa(of.Begun), fmt.Sprintf("%.0f %%", of.FailureRate*100), lasted(ran.P50),
			lasted(ran.P95), lasted(ran.Max), lasted(waited.P50), lasted(waited.P95))
	}
	return tbl.flush()
}

// lasted formats a duration, perhaps below a second, with three digits.
func lasted(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond).String()
}
