package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
)

// auditTrail has the flags of `audit`; prepare parses the strings into filter.
type auditTrail struct {
	s             *session
	filter        operate.AuditFilter
	task, dlq     string
	worker        string
	all           bool
	after, before string
}

// newAudit pages by the number of the last act, not an offset, because new acts arrive at the front. It reads GET
// /v1/audit; a key limited to namespaces sees only their acts.
func newAudit(s *session) *cobra.Command {
	c := &auditTrail{s: s}
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show what operators did, newest first",
		Long: `Show the acts of operators on tasks, steps, cases, workers and templates, and on the
letters, groups, redrives, rules, sources and policies of the inbox, newest first: actor,
API key, time, reason, and the state before and after. ACTOR is the claimed name; KEY is
the API key of the request, - without one. The audit trail is append-only. Acts remain
when what they are about is deleted.`,
		Example: `  tasker audit --task-uuid TASK_UUID
  tasker audit --actor ops@example.com --after 24h --json`,
		Args:    cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error { return c.prepare() },
		RunE:    s.onServer(c.run),
	}
	s.connectFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&c.task, "task-uuid", "", "filter by task, including its steps and cases")
	f.StringVar(&c.dlq, "case-uuid", "", "filter by case")
	f.StringVar(&c.worker, "worker-id", "", "filter by worker UUID")
	f.StringVar(&c.filter.Namespace, "namespace", "", "filter by namespace of the task or template")
	f.StringVar(&c.filter.Template, "name", "",
		"filter by task name: the template or the task type; includes registrations of the template")
	// --actor is a claim; --key-name is proven.
	f.StringVar(&c.filter.Actor, "actor", "", "filter by actor, as claimed")
	f.StringVar(&c.filter.KeyName, "key-name", "", "filter by name of the API key")
	f.StringVar(&c.filter.Kind, "kind", "", "filter by kind of act")
	f.StringVar(&c.after, "after", "", "done at or after: a time, or an age such as 24h")
	f.StringVar(&c.before, "before", "", "done before: a time, or an age such as 24h")
	pageFlag(cmd, &c.filter.Limit, 50, "acts per page")
	f.Int64Var(&c.filter.Below, "cursor", 0, "start after the previous page: the number of its last act")
	aliases(cmd, map[string]string{
		"task": "task-uuid", "case": "case-uuid", "dlq-entry-uuid": "case-uuid", "template": "name", "below": "cursor",
	})
	f.BoolVar(&c.all, "all", false, "with --json: print all acts that match the filters, one per line")
	offer(cmd, "kind", "cancel", tasker.ResetForRetry, tasker.ResolveManually, tasker.CompleteManually, tasker.Approve,
		tasker.Reject, "open_case", "update_case", "reopen_case", "replay", "replay_step", "edit_context", "give_up_step",
		"drain_worker", "resume_worker", "cordon_worker", "uncordon_worker", "pause", "resume", "open_outage",
		"close_outage", "register_template", "use_key", "sign_in", "sign_out_everywhere", "detect_staleness",
		"archive_audit", "discard_letter", "restore_letter", "edit_letter", "change_group", "acknowledge_group",
		"resolve_group", "ignore_group", "reopen_group", "merge_groups", "unmerge_group", "create_redrive", "start_redrive",
		"pause_redrive", "resume_redrive", "cancel_redrive", "halt_redrive", "end_redrive", "add_source", "change_source",
		"pause_source", "resume_source", "remove_source", "set_policy", "remove_policy", "policy_schedule",
		"policy_discard", "add_schedule", "change_schedule", "pause_schedule", "resume_schedule", "run_schedule",
		"backfill_schedule", "remove_schedule")
	cmd.AddCommand(newAuditVerify(s), newAuditArchive(s))
	return cmd
}

// prepare runs before the connection, so a typing error exits with 2 without a server.
func (c *auditTrail) prepare() (err error) {
	if c.all && !c.s.json {
		return usagef("--all goes with --json")
	}
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
	if c.worker != "" {
		if c.filter.WorkerID, err = uuid.Parse(c.worker); err != nil {
			return usagef("--worker-id %q is not a UUID", c.worker)
		}
	}
	c.filter.After, c.filter.Before, err = c.s.timeFlags(c.after, c.before)
	return err
}

// --all requires JSON: one act per line needs no table in memory.
func (c *auditTrail) run(ctx context.Context, client *tasker.Client, _ []string) error {
	if c.all {
		return c.export(ctx, client)
	}
	records, err := operate.Of(client).Audit(ctx, c.filter)
	if err != nil {
		return err
	}
	if c.s.json {
		return c.s.printList("acts", records)
	}
	if len(records) == 0 {
		return c.s.printf("No acts.\n")
	}
	t := c.s.newTable("NO", "TIME", "ACTOR", "KEY", "ACT", "TASK", "SUBJECT", "BEFORE", "AFTER", "REASON")
	t.dropFirst("BEFORE", "AFTER", "KEY", "TASK", "SUBJECT")
	for i := range records {
		r := &records[i]
		t.damaged("act "+strconv.FormatInt(r.No, 10), r.Damage)
		t.row(strconv.FormatInt(r.No, 10), stamp(&r.At), r.Actor, keyOf(r), r.Kind, taskOf(r), subject(r), r.Before,
			r.After, r.Reason)
	}
	if err := t.flush(); err != nil {
		return err
	}
	return c.s.nextPage(len(records), c.filter.Limit, records[len(records)-1].No)
}

// export writes acts as JSON lines, newest first. Acts added meanwhile are newer than the first page, so it neither
// misses nor repeats any. An error leaves the written lines.
func (c *auditTrail) export(ctx context.Context, client *tasker.Client) error {
	for {
		records, err := operate.Of(client).Audit(ctx, c.filter)
		if err != nil {
			return err
		}
		for i := range records {
			if err := c.s.printJSONLine(&records[i]); err != nil {
				return fmt.Errorf("write act %d: %w", records[i].No, err)
			}
		}
		if len(records) < c.filter.Limit {
			return nil
		}
		c.filter.Below = records[len(records)-1].No
	}
}

func subject(r *operate.AuditRecord) string {
	for _, id := range []*uuid.UUID{r.StepUUID, r.CaseUUID, r.WorkerID} {
		if id != nil {
			return id.String()
		}
	}
	if r.Template != "" && r.TaskUUID == uuid.Nil {
		return qualified(r.Namespace, r.Template)
	}
	// The data of an act names its letter, group, redrive, source or policy.
	var data struct {
		Object string `json:"object"`
	}
	if r.TaskUUID != uuid.Nil || json.Unmarshal(r.Data, &data) != nil { // other data is the operator's, or was omitted
		return ""
	}
	return data.Object
}

func taskOf(r *operate.AuditRecord) string {
	if r.TaskUUID == uuid.Nil {
		return ""
	}
	return r.TaskUUID.String()
}

// keyOf names the key, "-" for a server without keys, or another authentication in parentheses.
func keyOf(r *operate.AuditRecord) string {
	switch r.Authenticated {
	case operate.AuthenticatedByKey:
		return r.KeyName
	case operate.NotAuthenticated:
		return "-"
	}
	return "(" + string(r.Authenticated) + ")"
}
