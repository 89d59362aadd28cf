package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
)

type failedTaskFlags struct {
	filter                           operate.FailedTaskFilter
	reason, retryable, after, before string
}

// add includes three historic names of the fingerprint.
func (l *failedTaskFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&l.reason, "dlq-reason", "", "filter by the reason of the case")
	f.StringVar(&l.filter.Fingerprint, "fingerprint", "", "filter by fingerprint of the error, as 'dlq tasks' prints it")
	f.StringVar(&l.retryable, "retryable", "", "filter by whether a retry may help: true or false")
	f.StringVar(&l.filter.Namespace, "namespace", "", "filter by namespace")
	f.StringVar(&l.filter.TaskType, "name", "", "filter by task name: the template or the task type")
	f.StringVar(&l.after, "after", "", "failed at or after: a time, or an age such as 24h")
	f.StringVar(&l.before, "before", "", "failed before: a time, or an age such as 24h")
	aliases(cmd, map[string]string{
		"error": "fingerprint", "error-pattern": "fingerprint", "status": "resolution-status",
		"failure-reason": "dlq-reason", "task-type": "name",
	})
	offer(cmd, "dlq-reason", tasker.ReasonStaleness, tasker.ReasonMaxRetries, tasker.ReasonCycle, tasker.ReasonManual)
	offer(cmd, "retryable", "true", "false")
}

func (l *failedTaskFlags) prepare(s *session) error {
	l.filter.Reason = tasker.CaseReason(l.reason)
	var err error
	if l.filter.Retryable, err = boolFlag("--retryable", l.retryable); err != nil {
		return err
	}
	l.filter.After, l.filter.Before, err = s.timeFlags(l.after, l.before)
	return err
}

// newDLQTasks lists the tasks that `dlq replay --all` selects with the same filters, a page of GET /api/v1/dlq at a
// time. --json prints an operate.FailedTaskPage.
func newDLQTasks(s *session) *cobra.Command {
	var (
		flags  failedTaskFlags
		status string
	)
	cmd := &cobra.Command{
		Use:   "tasks",
		Short: "List tasks that failed permanently, newest first",
		Long: `List failed tasks: tasks in error with a pending case. --resolution-status
lists tasks whose case has that resolution instead.`,
		Example: `  tasker dlq tasks --retryable true --after 24h
  tasker dlq tasks --fingerprint ConnectionError --json`,
		Args: cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			flags.filter.ResolutionStatus = tasker.CaseResolution(status)
			return flags.prepare(s)
		},
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			return answered(s, s.printFailedTasks)(operate.Of(c).FailedTasks(ctx, flags.filter))
		}),
	}
	flags.add(cmd)
	resolutionFlag(cmd, &status, "filter by resolution status (default pending)")
	pageFlag(cmd, &flags.filter.Limit, 50, "tasks per page")
	cmd.Flags().StringVar(&flags.filter.Cursor, "cursor", "", "start after the previous page: the value that it printed")
	return cmd
}

// ERROR is the value for --fingerprint; RETRIES counts attempts without the first, REPLAYS operators' replays.
func (s *session) printFailedTasks(page *operate.FailedTaskPage) error {
	if len(page.Tasks) == 0 {
		return s.printf("No tasks.\n")
	}
	t := s.newTable("TASK", "NAME", "REASON", "CAUSE", "ERROR", "RETRYABLE", "RETRIES", "REPLAYS", "PRIORITY", "MOVED")
	t.dropFirst("PRIORITY", "REPLAYS", "CAUSE", "RETRIES", "REASON", "RETRYABLE", "MOVED")
	for i := range page.Tasks {
		l := &page.Tasks[i]
		retryable := ""
		if l.Retryable {
			retryable = "yes"
		}
		t.damaged(l.TaskID.String(), l.Damage)
		t.row(l.TaskID.String(), qualified(l.Namespace, l.TaskType), string(l.FailureReason), string(l.Cause),
			l.Fingerprint, retryable, strconv.Itoa(l.RetryCount), strconv.Itoa(l.ReplayCount), string(l.Priority),
			s.ago(l.MovedToDLQAt))
	}
	if err := t.flush(); err != nil {
		return err
	}
	if err := s.printf("\n%s in total\n", counted(page.TotalCount, page.TotalCapped)); err != nil ||
		page.NextCursor == "" {
		return err
	}
	return s.printf("More: --cursor %s\n", page.NextCursor)
}

// A capped number is the lower bound at which the server stopped counting.
func counted(n int, capped bool) string {
	if capped {
		return fmt.Sprintf("More than %d tasks", n)
	}
	if n == 1 {
		return "1 task"
	}
	return fmt.Sprintf("%d tasks", n)
}
