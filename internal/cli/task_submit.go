package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taskerhq/tasker"
)

// taskSubmit has the flags of `task submit`; prepare reads the unparsed ones into req.
type taskSubmit struct {
	s          *session
	req        tasker.TaskRequest
	context    string
	priority   string
	timeout    time.Duration
	maxRetries int
	runAt      string
	deadline   string
	delay      time.Duration
	file       string
	unique     tasker.Unique
	wait       bool
	quiet      bool
}

// newTaskSubmit returns when the task is on disk. It sends POST /v1/tasks, with --file batches to POST
// /v1/tasks/batch. A repetition is safe only with --idempotency-key. --json prints a tasker.TaskReceipt, with
// --wait the settled tasker.Task, with --file a submitted.
func newTaskSubmit(s *session) *cobra.Command {
	c := &taskSubmit{s: s}
	cmd := &cobra.Command{
		Use:   "submit [[NAMESPACE/]TEMPLATE[@VERSION]]",
		Short: "Submit one task, or many from a file",
		Long: `Submit a task: a run of a template or, with --type, a single step. With --file each
line of the file is one task, in the JSON of the HTTP API. The server stores each
batch of 1,000 lines completely or not at all.`,
		Example: `  tasker task submit order_fulfilment --context '{"order_id": 42}'
  tasker task submit shop/invoice@1.0.0 --wait
  tasker task submit --type send_email --context @mail.json --priority high --delay 10m
  tasker task submit --file tasks.jsonl`,
		Args: cobra.MaximumNArgs(1),
		RunE: s.onServer(c.run),
	}
	f := cmd.Flags()
	// --type makes a template of one step for this task.
	f.StringVar(&c.req.TaskType, "type", "", "handler to run as a task with one step, instead of a template")
	f.StringVar(&c.req.Namespace, "namespace", "", "namespace of the template or handler (default \"default\")")
	f.StringVar(&c.req.Version, "version", "", "version of the template (default: the last registered version)")
	f.StringVar(&c.context, "context", "", "context (input) of the task: JSON, @FILE, or - for standard input")
	f.StringVar(&c.priority, "priority", "",
		"high, medium, low, or a level from 0 to 100 (default: set by the template, else medium)")
	// Properties of a single step; a template sets them in its steps.
	f.StringSliceVar(&c.req.RequiredCapabilities, "capability", nil, "required worker capability; with --type; repeatable")
	f.DurationVar(&c.timeout, "timeout", 0,
		"time limit of one attempt, in whole seconds; with --type (default: set by the priority)")
	f.IntVar(&c.maxRetries, "max-retries", 0,
		"retries after the first attempt; with --type (default: set by the priority)")
	f.StringVar(&c.runAt, "run-at", "", "earliest start, such as 2026-03-01T08:00:00Z")
	f.DurationVar(&c.delay, "delay", 0, "earliest start, as a delay from now")
	f.StringVar(&c.deadline, "deadline", "", "time by which the task must be over, or a duration from now, such as 2h")
	f.StringVar(&c.req.IdempotencyKey, "idempotency-key", "",
		"key that identifies the submission; a second submission with it returns the first task")
	f.StringVar(&c.req.OrderingKey, "ordering-key", "",
		"key of tasks that run one at a time, in the order of submission")
	c.addUnique(f)
	// The server stores these without interpretation.
	f.StringSliceVar(&c.req.Tags, "tag", nil, "tag of the task; repeatable")
	f.StringVar(&c.req.CorrelationID, "correlation-id", "", "ID of the business process")
	f.StringVar(&c.req.ParentCorrelationID, "parent-correlation-id", "", "ID of the parent business process")
	f.StringVar(&c.req.Initiator, "initiator", "", "person or system that requests the task")
	f.StringVar(&c.req.SourceSystem, "source-system", "", "system that submits the task")
	f.StringVar(&c.req.Reason, "reason", "", "reason for the task")
	f.StringVar(&c.file, "file", "", "file with one task per line, - for standard input")
	f.BoolVar(&c.wait, "wait", false, "wait until the task is settled, like the command wait")
	f.BoolVarP(&c.quiet, "quiet", "q", false, "print only the UUID of the task")
	// cobra refuses pairs that are often combined by mistake.
	cmd.MarkFlagsMutuallyExclusive("run-at", "delay")
	cmd.MarkFlagsMutuallyExclusive("file", "context")
	cmd.MarkFlagsMutuallyExclusive("file", "type")
	cmd.MarkFlagsMutuallyExclusive("file", "wait")
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error { return c.prepare(cmd, args) }
	return cmd
}

// With --file the flags for a single task are ignored.
func (c *taskSubmit) prepare(cmd *cobra.Command, args []string) error {
	switch named := len(args) == 1; {
	case c.file != "":
		if named {
			return usagef("--file and a template exclude each other; each line names its own template")
		}
		return nil
	case named == (c.req.TaskType != ""):
		return usagef("give either a template or, with --type, a handler")
	case named:
		if err := c.name(args[0]); err != nil {
			return err
		}
	}
	var err error
	if c.req.Context, err = c.s.jsonFlag("--context", c.context); err != nil {
		return err
	}
	c.req.Priority = tasker.Priority(c.priority)
	if u := c.unique; len(u.By) > 0 || u.Period != "" || len(u.While) > 0 || u.OnConflict != "" {
		c.req.Unique = &u
	}
	// The API counts whole seconds; rounding would change the request.
	if c.timeout%time.Second != 0 || c.timeout < 0 {
		return usagef("--timeout must be whole seconds, not %s", c.timeout)
	}
	c.req.TimeoutSeconds = int(c.timeout / time.Second)
	// 0 retries is a value.
	if cmd.Flags().Changed("max-retries") {
		c.req.MaxRetries = &c.maxRetries
	}
	switch {
	case c.runAt != "":
		at, err := time.Parse(time.RFC3339, c.runAt)
		if err != nil {
			return usagef("--run-at must be a time such as 2026-03-01T08:00:00Z, not %q", c.runAt)
		}
		c.req.RunAt = &at
	case c.delay < 0:
		return usagef("--delay must not be negative")
	case c.delay > 0:
		// This machine's clock counts, so a difference from the server's shifts the start.
		at := c.s.Now().Add(c.delay)
		c.req.RunAt = &at
	}
	return c.prepareDeadline()
}

// name reads the template; namespace and version may be flags, but must not contradict it.
func (c *taskSubmit) name(arg string) error {
	namespace, name, version := templateName(arg)
	if strings.Contains(arg, "/") {
		if c.req.Namespace != "" && c.req.Namespace != namespace {
			return usagef("%s is in namespace %s, but --namespace is %s", arg, namespace, c.req.Namespace)
		}
		c.req.Namespace = namespace
	}
	if version != "" {
		if c.req.Version != "" && c.req.Version != version {
			return usagef("%s is version %s, but --version is %s", arg, version, c.req.Version)
		}
		c.req.Version = version
	}
	c.req.Name = name
	return nil
}

// --deadline is a time, or a duration from now.
func (c *taskSubmit) prepareDeadline() error {
	if c.deadline == "" {
		return nil
	}
	at, err := time.Parse(time.RFC3339, c.deadline)
	if d, isDuration := time.ParseDuration(c.deadline); isDuration == nil {
		at, err = c.s.Now().Add(d), nil
	}
	if err != nil {
		return usagef("--deadline must be a time such as 2026-03-01T08:00:00Z or a duration such as 2h, not %q", c.deadline)
	}
	c.req.DeadlineAt = &at
	return nil
}

// An existing task with the same idempotency key is a success.
func (c *taskSubmit) run(ctx context.Context, client *tasker.Client, _ []string) error {
	if c.file != "" {
		return c.submitFile(ctx, client)
	}
	receipt, err := client.Submit(ctx, c.req)
	if err != nil {
		return err
	}
	if c.wait {
		show := c.s.printTask
		if c.quiet {
			show = func(task *tasker.Task) error { return c.s.printf("%s\n", task.TaskUUID.String()) }
		}
		return c.s.waitFor(ctx, client, receipt.TaskUUID, 0, show)
	}
	switch {
	case c.quiet:
		return c.s.printf("%s\n", receipt.TaskUUID.String())
	case c.s.json:
		return c.s.printJSON(receipt)
	}
	what := "Task submitted"
	if !receipt.Created {
		what = "Task already exists"
	}
	err = c.s.printf("✓ %s: %s\n  State: %s\n", what, receipt.TaskUUID.String(), receipt.State)
	if err == nil && receipt.Unique != nil {
		err = c.s.printf("  Unique: %s\n", receipt.Unique.Rule)
	}
	return err
}

func (c *taskSubmit) addUnique(f *pflag.FlagSet) {
	f.StringSliceVar(&c.unique.By, "unique-by", nil,
		"fields of the context that make tasks equal, as JSON pointers; or all, template, none; repeatable")
	f.StringVar(&c.unique.Period, "unique-for", "", "how long the task keeps equal ones out at most, such as 1h")
	f.StringSliceVar(&c.unique.While, "unique-while", nil,
		"phases in which the task keeps equal ones out: unsettled, error, complete, resolved_manually")
	f.StringVar(&c.unique.OnConflict, "on-duplicate", "",
		"if an equal task is there: return it, refuse this one, or replace it (default \"return\")")
}

// submitted is the result of `task submit --file`, in line order.
type submitted struct {
	Submitted int                  `json:"submitted"`
	Existing  int                  `json:"existing"`
	Receipts  []tasker.TaskReceipt `json:"receipts"`
}

// After an error submitFile still prints the receipts of earlier batches, which are stored.
func (c *taskSubmit) submitFile(ctx context.Context, client *tasker.Client) error {
	var sum submitted
	err := c.s.batches(c.file, func(tasks []tasker.TaskRequest) error {
		receipts, err := client.SubmitTasks(ctx, tasker.SubmitRequest{Tasks: tasks})
		for _, r := range receipts {
			if r.Created {
				sum.Submitted++
			} else {
				sum.Existing++
			}
		}
		sum.Receipts = append(sum.Receipts, receipts...)
		return err
	})
	if perr := c.report(sum); perr != nil && err == nil {
		return perr
	}
	return err
}

func (c *taskSubmit) report(sum submitted) error {
	if c.s.json && !c.quiet {
		return c.s.printJSON(sum)
	}
	if !c.quiet {
		return c.s.printf("✓ Submitted %d tasks (%d already existed)\n", sum.Submitted, sum.Existing)
	}
	for _, r := range sum.Receipts {
		if err := c.s.printf("%s\n", r.TaskUUID.String()); err != nil {
			return err
		}
	}
	return nil
}
