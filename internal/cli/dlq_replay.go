package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
)

// newDLQReplay: one task is one request; a bulk replay is a redrive, which the server executes and the command
// follows.
func newDLQReplay(s *session) *cobra.Command {
	var (
		bulk     bulkReplay
		req      operate.ReplayRequest
		priority string
	)
	cmd := &cobra.Command{
		Use:   "replay {TASK_UUID | --all}",
		Short: "Run the failed steps of one or many tasks again",
		Long: `Run the failed steps of a task in error again. The task keeps its history; its case
stays pending and counts the replays. Fix the cause first.

--all replays every task that matches the filters: oldest first, --rate tasks per
second, each task once. It skips tasks with earlier replays unless --again is given.
It is a redrive of one namespace: the server freezes the selection, replays it in
growing waves of 20 tasks at first, and halts when more than half of a wave have failed
again. The cases of tasks that complete are resolved. Ctrl-C leaves the redrive running;
"tasker redrive watch" follows it again, and "tasker redrive cancel" ends it.`,
		Example: `  tasker dlq replay TASK_UUID --reset-retry-count --priority high --reason 'Database is back'
  tasker dlq replay --all --fingerprint ConnectionError --after 24h --dry-run
  tasker dlq replay --all --fingerprint ConnectionError --after 24h --reset-retry-count --rate 5`,
		Args: cobra.MaximumNArgs(1),
		PreRunE: func(_ *cobra.Command, args []string) error {
			switch {
			case bulk.all && len(args) > 0, !bulk.all && len(args) == 0:
				return usagef("give either a task or --all")
			case bulk.rate <= 0 || bulk.rate > 1000:
				return usagef("--rate must be above 0, and at most 1000")
			case bulk.limit < 1 || bulk.limit > maxReplayed:
				return usagef("--limit must be 1 to %d", maxReplayed)
			}
			req.NewPriority, req.ReplayedBy = tasker.Priority(priority), actor(req.ReplayedBy)
			return bulk.prepare(s)
		},
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			if bulk.all {
				return s.replayAll(ctx, c, &bulk, req)
			}
			return s.replayOne(ctx, c, args[0], req)
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&req.ResetRetryCount, "reset-retry-count", false,
		"give the failed steps all their attempts again (default: the attempts left, at least one)")
	f.StringVar(&priority, "priority", "", "new priority of the task and its open steps")
	f.StringVar(&req.Reason, "reason", "", "reason for the act; kept in the audit trail")
	actorFlag(cmd, &req.ReplayedBy, "replayed-by")
	expectFlag(cmd, &req.ExpectedState, tasker.TaskError)
	f.BoolVar(&bulk.all, "all", false, "replay every task that matches the filters")
	f.BoolVar(&bulk.again, "again", false, "with --all: include tasks with earlier replays")
	f.BoolVar(&bulk.dryRun, "dry-run", false, "with --all: print the number of tasks and change nothing")
	f.Float64Var(&bulk.rate, "rate", 10, "with --all: maximum number of tasks per second")
	f.IntVar(&bulk.limit, "limit", 1000, "with --all: maximum number of tasks")
	bulk.add(cmd)
	return cmd
}

// replayOne replays one task with any number of earlier replays.
func (s *session) replayOne(ctx context.Context, c *tasker.Client, arg string, req operate.ReplayRequest) error {
	id, err := taskArg(arg)
	if err != nil {
		return err
	}
	r, err := operate.Of(c).ReplayTask(ctx, id, req)
	if err != nil || s.json {
		return s.jsonOf(r, err)
	}
	f := s.newFields("  ")
	f.add("Task", r.TaskID.String())
	if r.CaseID != nil {
		f.add("Case", r.CaseID.String())
	}
	f.add("State", string(r.State))
	f.add("Priority", string(r.Priority))
	f.add("Steps", fmt.Sprint(r.ReplayedSteps))
	f.add("Replays", fmt.Sprint(r.ReplayCount))
	f.add("Actor", byWhom(r.ReplayedBy, r.ReplayedByKey))
	return s.write([]byte("✓ Task replayed!\n" + f.String()))
}

// replays returns "" for none.
func (s *session) replays(n int, at *time.Time, by, key string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d, last by %s at %s", n, byWhom(by, key), s.stampAgo(at))
}
