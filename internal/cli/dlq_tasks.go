package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// failedTaskFlags are the flags that narrow the list of failed tasks.
type failedTaskFlags struct {
	filter                           tasker.FailedTaskFilter
	reason, retryable, after, before string
}

func (l *failedTaskFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&l.reason, "failure-reason", "", "only moved there for this reason")
	f.StringVar(&l.filter.Fingerprint, "error-pattern", "", "only with this fingerprint, as the list shows it")
	f.StringVar(&l.retryable, "retryable", "", "only those where trying again may help (true), or not (false)")
	f.StringVar(&l.filter.Namespace, "namespace", "", "only of this namespace")
	f.StringVar(&l.filter.TaskType, "task-type", "", "only of this task type or template")
	f.StringVar(&l.after, "after", "", "only moved there at this time or later; a time, or how long ago, such as 24h")
	f.StringVar(&l.before, "before", "", "only moved there before this time, or longer ago than this")
	older(cmd, map[string]string{"error": "error-pattern", "status": "resolution-status"})
	offer(cmd, "failure-reason", tasker.ReasonStaleness, tasker.ReasonMaxRetries, tasker.ReasonCycle, tasker.ReasonManual)
	offer(cmd, "retryable", "true", "false")
}

// prepare reads what the flags hold into the filter.
func (l *failedTaskFlags) prepare(s *session) error {
	l.filter.Reason = tasker.CaseReason(l.reason)
	if l.retryable != "" {
		retryable, err := strconv.ParseBool(l.retryable)
		if err != nil {
			return usagef("--retryable is true or false, not %q", l.retryable)
		}
		l.filter.Retryable = &retryable
	}
	var err error
	l.filter.After, l.filter.Before, err = s.timeFlags(l.after, l.before)
	return err
}

func newDLQTasks(s *session) *cobra.Command {
	var (
		flags  failedTaskFlags
		status string
	)
	cmd := &cobra.Command{
		Use:   "tasks",
		Short: "List tasks that have failed for good, newest first",
		Long: `List failed tasks: tasks that are in error, and whose case nobody has resolved.
 With --resolution-status, tasks whose case was resolved that way.`,
		Example: `  tasker dlq tasks --retryable true --after 24h
  tasker dlq tasks --error-pattern ConnectionError --json`,
		Args: cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			flags.filter.ResolutionStatus = tasker.CaseResolution(status)
			return flags.prepare(s)
		},
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			page, err := c.FailedTasks(ctx, flags.filter)
			if err != nil {
				return err
			}
			return s.printFailedTasks(page)
		}),
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&status, "resolution-status", "", "only with this resolution status (default pending)")
	cmd.Flags().IntVar(&flags.filter.Limit, "limit", 50, "tasks on a page, 1 to 1000")
	cmd.Flags().StringVar(&flags.filter.Cursor, "cursor", "", "where the page before ended")
	offer(cmd, "resolution-status", tasker.CasePending, tasker.CaseManuallyResolved, tasker.CasePermanentlyFailed, tasker.CaseCancelled)
	return cmd
}

func (s *session) printFailedTasks(page *tasker.FailedTaskPage) error {
	if s.json {
		return s.printJSON(page)
	}
	if len(page.Tasks) == 0 {
		return s.printf("No tasks.\n")
	}
	t := newTable(s.Out, "TASK", "NAME", "REASON", "CAUSE", "ERROR", "RETRYABLE", "RETRIES", "REPLAYS", "PRIORITY", "MOVED")
	for i := range page.Tasks {
		l := &page.Tasks[i]
		retryable := ""
		if l.Retryable {
			retryable = "yes"
		}
		t.damaged(l.TaskID.String(), l.Damage)
		t.row(l.TaskID.String(), qualified(l.Namespace, l.TaskType), string(l.FailureReason), string(l.Cause), l.Fingerprint, retryable, strconv.Itoa(l.RetryCount),
			strconv.Itoa(l.ReplayCount), string(l.Priority), s.ago(l.MovedToDLQAt))
	}
	if err := t.flush(); err != nil {
		return err
	}
	if err := s.printf("\n%s in all\n", counted(page.TotalCount, page.TotalCapped)); err != nil || page.NextCursor == "" {
		return err
	}
	return s.printf("More: --cursor %s\n", page.NextCursor)
}

// counted is a number of tasks that may only be a lower bound.
func counted(n int, capped bool) string {
	if capped {
		return fmt.Sprintf("More than %d tasks", n)
	}
	if n == 1 {
		return "1 task"
	}
	return fmt.Sprintf("%d tasks", n)
}
