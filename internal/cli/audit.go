package cli

import (
	"context"
	"strconv"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// auditTrail holds the flags of `audit`.
type auditTrail struct {
	s             *session
	filter        tasker.AuditFilter
	task, dlq     string
	after, before string
}

func newAudit(s *session) *cobra.Command {
	c := &auditTrail{s: s}
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show what operators did, newest first",
		Long: `Show what operators did to tasks, steps and cases, newest first: who, when, why, and
what the state was before and after. The trail is only ever added to.`,
		Example: `  tasker audit --task-uuid TASK_UUID
  tasker audit --actor ops@example.com --after 24h --json`,
		Args:    cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error { return c.prepare() },
		RunE:    s.onServer(c.run),
	}
	s.connectFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&c.task, "task-uuid", "", "only acts on this task, its steps and its cases")
	f.StringVar(&c.dlq, "dlq-entry-uuid", "", "only acts on this case")
	f.StringVar(&c.filter.Actor, "actor", "", "only of this actor")
	f.StringVar(&c.filter.Kind, "kind", "", "only acts of this kind")
	f.StringVar(&c.after, "after", "", "only done at this time or later; a time, or how long ago, such as 24h")
	f.StringVar(&c.before, "before", "", "only done before this time, or longer ago than this")
	f.IntVar(&c.filter.Limit, "limit", 50, "acts on a page, 1 to 1000")
	f.Int64Var(&c.filter.Below, "below", 0, "continue below this number")
	older(cmd, map[string]string{"task": "task-uuid", "case": "dlq-entry-uuid"})
	offer(cmd, "kind", "cancel", tasker.ResetForRetry, tasker.ResolveManually, tasker.CompleteManually, "open_case", "update_case", "reopen_case",
		"replay", "replay_step", "edit_context")
	return cmd
}

func (c *auditTrail) prepare() (err error) {
	if c.task != "" {
		if c.filter.TaskUUID, err = taskArg(c.task); err != nil {
			return err
		}
	}
	if c.dlq != "" {
		if c.filter.CaseUUID, err = caseArg(c.dlq); err != nil {
			return err
		}
	}
	c.filter.After, c.filter.Before, err = c.s.timeFlags(c.after, c.before)
	return err
}

func (c *auditTrail) run(ctx context.Context, client *tasker.Client, _ []string) error {
	records, err := client.Audit(ctx, c.filter)
	if err != nil {
		return err
	}
	if c.s.json {
		return c.s.printJSON(records)
	}
	if len(records) == 0 {
		return c.s.printf("No acts.\n")
	}
	t := newTable(c.s.Out, "NO", "TIME", "WHO", "WHAT", "TASK", "STEP OR CASE", "BEFORE", "AFTER", "REASON")
	for i := range records {
		r := &records[i]
		t.damaged("act "+strconv.FormatInt(r.No, 10), r.Damage)
		t.row(strconv.FormatInt(r.No, 10), stamp(&r.At), r.Actor, r.Kind, r.TaskUUID.String(), subject(r), r.Before, r.After, r.Reason)
	}
	if err := t.flush(); err != nil {
		return err
	}
	return c.s.more(len(records), c.filter.Limit, "--below", records[len(records)-1].No)
}

// subject names the step or the case that an act was about.
func subject(r *tasker.AuditRecord) string {
	for _, id := range []*uuid.UUID{r.StepUUID, r.CaseUUID} {
		if id != nil {
			return id.String()
		}
	}
	return ""
}
