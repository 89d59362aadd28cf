package cli

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

func newDLQQueue(s *session) *cobra.Command {
	var flags caseFlags
	cmd := &cobra.Command{
		Use:   "queue",
		Short: "List pending cases, the most urgent first: what to look at next",
		Long: `List pending cases, the most urgent first: what to look at next. The score is the
base of the reason (cases.priority_bases) and the minutes since the case was
opened. A case is recovered when its task goes on, or is complete: it only has to be
resolved.`,
		Args:    cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error { return flags.prepare(s) },
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			queue, err := c.InvestigationQueue(ctx, flags.filter)
			if err != nil {
				return err
			}
			return s.printQueue(queue)
		}),
	}
	flags.add(cmd)
	older(cmd, map[string]string{"reason": "dlq-reason"})
	cmd.Flags().IntVar(&flags.filter.Limit, "limit", 100, "cases to show, 1 to 1000")
	return cmd
}

func (s *session) printQueue(queue []tasker.QueuedCase) error {
	if s.json {
		return s.printJSON(queue)
	}
	if len(queue) == 0 {
		return s.printf("Nothing to investigate.\n")
	}
	t := newTable(s.Out, "SCORE", "TASK", "CASE", "NAME", "REASON", "CAUSE", "STEP", "TIMES", "STATE NOW", "OPEN FOR", "PRIORITY", "RECOVERED", "ERROR")
	for i := range queue {
		c := &queue[i]
		recovered := ""
		if c.Recovered {
			recovered = "yes"
		}
		t.damaged(c.CaseUUID.String(), c.Damage)
		t.row(strconv.FormatFloat(c.PriorityScore, 'f', 1, 64), c.TaskUUID.String(), c.CaseUUID.String(), qualified(c.Namespace, c.TaskName),
			string(c.Reason), string(c.Cause), c.FailedStep, strconv.Itoa(c.OccurrenceCount), string(c.CurrentState), span(c.MinutesInDLQ), string(c.Priority), recovered,
			headline(c.ErrorMessage))
	}
	return t.flush()
}

// headline is the beginning of a text, as much as a column of a table takes.
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
