package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
)

// bulkFlags select the cases of a bulk command. They need --all, so that a forgotten argument does not change every
// case.
type bulkFlags struct {
	caseFlags
	all, dryRun bool
	limit       int
}

// bulkPage bounds the cases per request, so that an interrupt takes effect and answers stay small. The server uses
// shorter transactions.
const bulkPage = 500

// The help of --all begins with verb.
func (b *bulkFlags) add(cmd *cobra.Command, verb string) {
	b.caseFlags.add(cmd)
	f := cmd.Flags()
	f.BoolVar(&b.all, "all", false, verb+" all pending cases that match the filters, newest first")
	f.BoolVar(&b.dryRun, "dry-run", false, "with --all: print what would be done and change nothing")
	f.IntVar(&b.limit, "limit", 1000, "with --all: maximum number of cases")
}

// prepare restricts the filter to pending cases: a bulk command never changes a resolved one.
func (b *bulkFlags) prepare(s *session) error {
	if b.limit < 1 {
		return usagef("--limit must be at least 1")
	}
	b.filter.ResolutionStatus = tasker.CasePending
	return b.caseFlags.prepare(s)
}

// each requests pages until none is left, the limit is reached, or a page fails, and adds up the results. It
// returns stored results also with the error.
func (b *bulkFlags) each(ask func(operate.BulkPage) (*operate.BulkResult, error)) (*operate.BulkResult, error) {
	all := &operate.BulkResult{DryRun: b.dryRun, Results: []operate.BulkItem{}}
	page := operate.BulkPage{DryRun: b.dryRun}
	for left := b.limit; left > 0; left -= page.Limit {
		page.Limit = min(left, bulkPage)
		r, err := ask(page)
		if err != nil {
			return all, err
		}
		all.Succeeded, all.Failed = all.Succeeded+r.Succeeded, all.Failed+r.Failed
		// The last page's cursor and error count.
		all.Results, all.NextCursor, all.Error = append(all.Results, r.Results...), r.NextCursor, r.Error
		if page.Cursor = r.NextCursor; page.Cursor == "" || r.Error != nil {
			break
		}
	}
	return all, nil
}

// printBulk prints each case's result even after an error. It returns err, else the failed page's error, else that
// of the first refused case, which selects the exit code.
func (s *session) printBulk(r *operate.BulkResult, err error) error {
	if r == nil || err != nil && len(r.Results) == 0 {
		return err
	}
	if printed := s.showBulk(r); err == nil {
		err = printed
	}
	if err == nil && r.Error != nil {
		err = r.Error
	}
	for i := range r.Results {
		if e := r.Results[i].Error; e != nil && err == nil {
			err = e
		}
	}
	return err
}

func (s *session) showBulk(r *operate.BulkResult) error {
	if s.json {
		return s.printJSON(r)
	}
	t := s.newTable("CASE", "TASK", "STEP", "BEFORE", "AFTER", "ERROR")
	t.dropFirst("TASK", "BEFORE")
	for i := range r.Results {
		item, taskID, refusal := &r.Results[i], "", ""
		if item.TaskUUID != nil {
			taskID = item.TaskUUID.String()
		}
		if item.Error != nil {
			refusal = item.Error.Message
		}
		t.row(item.CaseUUID.String(), taskID, item.StepName, item.Before, item.After, refusal)
	}
	if len(r.Results) > 0 {
		if err := t.flush(); err != nil {
			return err
		}
	}
	done := "done"
	if r.DryRun {
		done = "would be done"
	}
	more := ""
	if r.NextCursor != "" {
		more = ", and there may be more: run the command again"
	}
	return s.printf("%d %s, %d refused%s\n", r.Succeeded, done, r.Failed, more)
}

// newDLQAct requires --all and --reason, because an act on many tasks must be deliberate and documented. It sends
// POST /v1/dlq/act page by page. It is repeatable after an interrupt: a repaired step is no longer in error.
func newDLQAct(s *session) *cobra.Command {
	var (
		bulk             bulkFlags
		step, by         string
		result, metadata string
		action           tasker.StepAction
	)
	cmd := &cobra.Command{
		Use:   "act {reset|resolve|complete} --all",
		Short: "Repair the failed steps of the tasks of many cases",
		Long: `Repair the failed steps of the tasks of many cases: run them again with all their
attempts (reset), let the dependent steps continue without a result (resolve), or
with the given result (complete). --on-step selects the step of that name in any
state instead. A refused act does not stop the others.`,
		Example: `  tasker dlq act reset --all --namespace billing --name invoice --reason 'INC-8' --dry-run
  tasker dlq act complete --all --name invoice --on-step render --result '{"pdf": null}' --reason 'INC-8'`,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"reset", "resolve", "complete"},
		PreRunE: func(_ *cobra.Command, args []string) error {
			switch {
			case !bulk.all:
				return usagef("--all is required; the filters select the cases")
			case action.Reason == "":
				return usagef("--reason is required; it is stored with the steps")
			case (args[0] == "complete") != (result != ""), metadata != "" && result == "":
				return usagef("complete requires --result; reset and resolve accept neither --result nor --metadata")
			}
			if err := s.bulkAction(&action, args[0], actor(by), result, metadata); err != nil {
				return err
			}
			return bulk.prepare(s)
		},
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			return s.printBulk(bulk.each(func(page operate.BulkPage) (*operate.BulkResult, error) {
				return operate.Of(c).ActOnCases(ctx, operate.BulkStepAction{Filter: bulk.filter, Step: step, Action: action,
					BulkPage: page})
			}))
		}),
	}
	bulk.add(cmd, "act on")
	f := cmd.Flags()
	f.StringVar(&step, "on-step", "", "act on the step of this name, in any state (default: all failed steps)")
	f.StringVar(&action.Reason, "reason", "", "reason for the act (required)")
	actorFlag(cmd, &by, "by")
	f.StringVar(&result, "result", "", "result of the steps: JSON, @FILE, or - for standard input")
	f.StringVar(&metadata, "metadata", "", "details of the manual work, in JSON")
	return cmd
}

// bulkAction fills in the verb's fields, because the API names the actor differently for each action.
func (s *session) bulkAction(a *tasker.StepAction, verb, by, result, metadata string) error {
	switch verb {
	case "reset":
		a.ActionType, a.ResetBy = tasker.ResetForRetry, by
	case "resolve":
		a.ActionType, a.ResolvedBy = tasker.ResolveManually, by
	case "complete":
		a.ActionType, a.CompletedBy, a.CompletionData = tasker.CompleteManually, by, &tasker.CompletionData{}
		var err error
		if a.CompletionData.Result, err = s.jsonFlag("--result", result); err != nil {
			return err
		}
		a.CompletionData.Metadata, err = s.jsonFlag("--metadata", metadata)
		return err
	default:
		return fmt.Errorf("unknown act %q", verb)
	}
	return nil
}
