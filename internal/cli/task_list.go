package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

type taskList struct {
	s        *session
	filter   tasker.TaskFilter
	states   []string
	priority string
	created  created
	all      bool
}

// newTaskList pages GET /v1/tasks. --json prints a tasker.TaskPage; with --all one with all tasks and no cursor.
func newTaskList(s *session) *cobra.Command {
	c := &taskList{s: s}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List tasks, newest first",
		Example: `  tasker task list --state error
  tasker task list --name order_fulfilment --created-after 24h --all --json`,
		Args: cobra.NoArgs,
		RunE: s.onServer(c.run),
	}
	f := cmd.Flags()
	f.StringSliceVar(&c.states, "state", nil, "filter by task state; repeatable")
	f.StringVar(&c.filter.Namespace, "namespace", "", "filter by namespace")
	f.StringVar(&c.filter.Name, "name", "", "filter by task name: the template or the task type")
	f.StringVar(&c.filter.Version, "version", "", "filter by template version")
	f.StringVar(&c.filter.Tag, "tag", "", "filter by tag")
	f.StringVar(&c.filter.CorrelationID, "correlation-id", "", "filter by correlation ID")
	f.StringVar(&c.filter.Initiator, "initiator", "", "filter by initiator")
	f.StringVar(&c.priority, "priority", "", "filter by priority")
	c.created.register(cmd)
	pageFlag(cmd, &c.filter.Limit, 50, "tasks per page")
	f.StringVar(&c.filter.Cursor, "cursor", "", "start after the previous page: the value that it printed")
	f.BoolVar(&c.all, "all", false, "print all pages")
	f.BoolVar(&c.filter.WithContext, "context", false, "with --json: include the contexts of the tasks")
	choose(cmd, "state", taskStates()...)
	cmd.PreRunE = func(*cobra.Command, []string) error { return c.prepare() }
	return cmd
}

func taskStates() []tasker.TaskState {
	return []tasker.TaskState{
		tasker.TaskPending, tasker.TaskInitializing, tasker.TaskEnqueuingSteps,
		tasker.TaskStepsInProcess, tasker.TaskEvaluatingResults, tasker.TaskWaitingForDependencies,
		tasker.TaskWaitingForRetry, tasker.TaskBlockedByFailures, tasker.TaskComplete,
		tasker.TaskError, tasker.TaskCancelled, tasker.TaskResolvedManually,
	}
}

func (c *taskList) prepare() error {
	for _, state := range c.states {
		c.filter.States = append(c.filter.States, tasker.TaskState(state))
	}
	c.filter.Priority = tasker.Priority(c.priority)
	var err error
	c.filter.CreatedAfter, c.filter.CreatedBefore, err = c.created.read(c.s)
	return err
}

// created has the unparsed flags for the creation time.
type created struct{ after, before string }

func (c *created) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.after, "created-after", "", "created at or after: a time, or an age such as 24h")
	f.StringVar(&c.before, "created-before", "", "created before: a time, or an age such as 24h")
}

// nil is no bound.
func (c *created) read(s *session) (after, before *time.Time, err error) {
	if after, err = s.timeFlag("--created-after", c.after); err != nil {
		return nil, nil, err
	}
	before, err = s.timeFlag("--created-before", c.before)
	return after, before, err
}

// timeFlag parses an RFC 3339 time, or a duration as an age; nil for "". A negative age is an error.
func (s *session) timeFlag(flag, value string) (*time.Time, error) {
	if value == "" {
		return nil, nil
	}
	if at, err := time.Parse(time.RFC3339, value); err == nil {
		return &at, nil
	}
	if d, err := time.ParseDuration(value); err == nil && d >= 0 {
		at := s.Now().Add(-d)
		return &at, nil
	}
	return nil, usagef("%s must be a time such as 2026-03-01T08:00:00Z or an age such as 24h, not %q", flag, value)
}

// --all holds all tasks in memory; for a large export, use pages with --json.
func (c *taskList) run(ctx context.Context, client *tasker.Client, _ []string) error {
	page, err := client.Tasks(ctx, c.filter)
	if err != nil {
		return err
	}
	// The server examines bounded rows and bytes, so a page may be short with a successor; run fills it.
	limit := c.filter.Limit
	for page.NextCursor != "" && (c.all || len(page.Tasks) == 0 || c.filter.WithContext && len(page.Tasks) < limit) {
		// With --all pages have the full size; otherwise request only the rest.
		if c.filter.Cursor = page.NextCursor; !c.all {
			c.filter.Limit = limit - len(page.Tasks)
		}
		next, err := client.Tasks(ctx, c.filter)
		if err != nil {
			return err
		}
		next.Tasks = append(page.Tasks, next.Tasks...)
		page = next
	}
	if c.s.json {
		return c.s.printJSON(page)
	}
	t := c.s.newList("No tasks.", "TASK", "NAME", "STATE", "PRIORITY", "STEPS", "FAILED", "CREATED")
	t.dropFirst("PRIORITY", "FAILED")
	for i := range page.Tasks {
		task := &page.Tasks[i]
		t.damaged(task.TaskUUID.String(), task.Damage)
		t.row(task.TaskUUID.String(), qualified(task.Namespace, task.Name), string(task.State), string(task.Priority),
			fmt.Sprintf("%d/%d", task.CompletedSteps, task.TotalSteps), fmt.Sprint(task.FailedSteps), c.s.ago(task.CreatedAt))
	}
	return t.flushPage(page.NextCursor)
}

// qualified omits the default namespace.
func qualified(namespace, name string) string {
	if namespace == "" || namespace == "default" {
		return name
	}
	return strings.Join([]string{namespace, name}, "/")
}
