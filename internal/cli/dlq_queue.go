package cli

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
)

// newDLQQueue prints GET /v1/dlq/investigation-queue without pages: the order changes every minute, so a second
// page would skip and repeat cases. --json prints operate.QueuedCases.
func newDLQQueue(s *session) *cobra.Command {
	var flags caseFlags
	cmd := &cobra.Command{
		Use:     "queue",
		Short:   "List pending cases, most urgent first",
		Example: `  tasker dlq queue --limit 10`,
		Long: `List pending cases, most urgent first. The score of a case is the base of its reason
(engine.cases.priority_bases) plus the minutes since it was opened. A case has
recovered when its task runs again or is complete; such a case only needs a
resolution.`,
		Args:    cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error { return flags.prepare(s) },
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			return answeredList(s, "cases", s.printQueue)(operate.Of(c).InvestigationQueue(ctx, flags.filter))
		}),
	}
	flags.add(cmd)
	aliases(cmd, map[string]string{"reason": "dlq-reason"})
	pageFlag(cmd, &flags.filter.Limit, 100, "number of cases")
	return cmd
}

// printQueue marks a case whose task runs again or is complete as RECOVERED: it only needs a resolution. ERROR is
// the first line of the blocking failure.
func (s *session) printQueue(queue []operate.QueuedCase) error {
	t := s.newList("No pending cases.", "SCORE", "TASK", "CASE", "NAME", "REASON", "CAUSE", "STEP", "OCCURRENCES",
		"STATE", "OPEN FOR", "PRIORITY", "RECOVERED", "ERROR")
	t.dropFirst("CASE", "OCCURRENCES", "CAUSE", "PRIORITY", "REASON", "STATE", "RECOVERED", "OPEN FOR", "STEP")
	for i := range queue {
		c := &queue[i]
		recovered := ""
		if c.Recovered {
			recovered = "yes"
		}
		t.damaged(c.CaseUUID.String(), c.Damage)
		t.row(strconv.FormatFloat(c.PriorityScore, 'f', 1, 64), c.TaskUUID.String(), c.CaseUUID.String(),
			qualified(c.Namespace, c.TaskName), string(c.Reason), string(c.Cause), c.FailedStep,
			strconv.Itoa(c.OccurrenceCount), string(c.CurrentState), span(c.MinutesInDLQ), string(c.Priority), recovered,
			headline(c.ErrorMessage))
	}
	return t.flush()
}

// headline cuts the first line of a text to 60 characters; `dlq show` prints the whole text.
func headline(text string) string {
	const width = 60
	line, _, more := strings.Cut(text, "\n")
	if runes := []rune(line); len(runes) > width {
		line, more = string(runes[:width]), true
	}
	if more {
		line += "…"
	}
	return line
}
