package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/queueapi"
)

type queueList struct {
	s        *session
	filter   queueapi.QueueTaskFilter
	statuses []string
	priority string
	created  created
}

// newQueueList reads pages of GET /api/v1/tasks. --json prints a queueapi.QueueTaskPage.
func newQueueList(s *session) *cobra.Command {
	c := &queueList{s: s}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List tasks with their queue status, newest first",
		Example: `  tasker queue list --status queued --initiator ann
  tasker queue list --status executing,assigned --json`,
		Args: cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) (err error) {
			for _, status := range c.statuses {
				c.filter.Statuses = append(c.filter.Statuses, queueapi.QueueStatus(status))
			}
			c.filter.Priority = tasker.Priority(c.priority)
			c.filter.CreatedAfter, c.filter.CreatedBefore, err = c.created.read(s)
			return err
		},
		RunE: s.onServer(c.run),
	}
	f := cmd.Flags()
	f.StringSliceVar(&c.statuses, "status", nil, "filter by status; repeatable")
	f.StringVar(&c.filter.Namespace, "namespace", "", "filter by namespace")
	f.StringVar(&c.filter.TaskType, "name", "", "filter by task name: the template or the task type")
	f.StringVar(&c.filter.UserID, "initiator", "", "filter by initiator")
	aliases(cmd, map[string]string{"task-type": "name", "user-id": "initiator"})
	f.StringVar(&c.priority, "priority", "", "filter by priority")
	c.created.register(cmd)
	pageFlag(cmd, &c.filter.Limit, 50, "tasks per page")
	f.StringVar(&c.filter.Cursor, "cursor", "", "start after the previous page: the value that it printed")
	offer(
		cmd,
		"status",
		queueapi.QueueQueued,
		queueapi.QueueAssigned,
		queueapi.QueueExecuting,
		queueapi.QueueCompleted,
		queueapi.QueueFailed,
		queueapi.QueueDeadLetter,
		queueapi.QueueStopped,
	)
	return cmd
}

// STATUS is a simplified state, RETRIES excludes the first attempt.
func (c *queueList) run(ctx context.Context, client *tasker.Client, _ []string) error {
	page, err := queueapi.Of(client).QueueTasks(ctx, c.filter)
	if err != nil {
		return err
	}
	// A page examines a bounded number of rows, so under a rare filter it may be empty with a successor: read on
	// until there are tasks.
	for page.NextCursor != "" && len(page.Tasks) == 0 {
		c.filter.Cursor = page.NextCursor
		if page, err = queueapi.Of(client).QueueTasks(ctx, c.filter); err != nil {
			return err
		}
	}
	if c.s.json {
		return c.s.printJSON(page)
	}
	t := c.s.newList("No tasks.", "TASK", "NAME", "STATUS", "PRIORITY", "RETRIES", "INITIATOR", "CREATED")
	t.dropFirst("INITIATOR", "PRIORITY", "RETRIES")
	for i := range page.Tasks {
		task := &page.Tasks[i]
		t.damaged(task.TaskID.String(), task.Damage)
		t.row(task.TaskID.String(), qualified(task.Namespace, task.TaskType), string(task.Status), string(task.Priority),
			fmt.Sprintf("%d/%d", task.RetryCount, task.MaxRetries), task.UserID, c.s.ago(task.CreatedAt))
	}
	return t.flushPage(page.NextCursor)
}
