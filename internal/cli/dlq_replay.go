package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
)

// bulkReplay holds the flags of a replay of many tasks: at most limit tasks, rate tasks per
// second.
type bulkReplay struct {
	failedTaskFlags
	all, again, dryRun bool
	rate               float64
	limit              int
}

// newDLQReplay builds `dlq replay`. A bulk replay is a loop in the client over the single
// replay of the API, so that Ctrl-C stops it between two tasks and the rate is under the
// operator's control.
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
It stops when most of the replayed tasks have failed again.`,
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
			case bulk.limit < 1:
				return usagef("--limit must be at least 1")
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
	f.BoolVar(
		&req.ResetRetryCount,
		"reset-retry-count",
		false,
		"give the failed steps all their attempts again (default: the attempts left, at least one)",
	)
	f.StringVar(&priority, "priority", "", "new priority of the task and its open steps")
	f.StringVar(&req.Reason, "reason", "", "reason for the act; kept in the audit trail")
	actorFlag(cmd, &req.ReplayedBy, "replayed-by")
	expectFlag(cmd, &req.ExpectedState, tasker.TaskError)
	// The rest is for a bulk replay.
	f.BoolVar(&bulk.all, "all", false, "replay every task that matches the filters")
	f.BoolVar(&bulk.again, "again", false, "with --all: include tasks with earlier replays")
	f.BoolVar(&bulk.dryRun, "dry-run", false, "with --all: print the number of tasks and change nothing")
	f.Float64Var(&bulk.rate, "rate", 10, "with --all: maximum number of tasks per second")
	f.IntVar(&bulk.limit, "limit", 1000, "with --all: maximum number of tasks")
	bulk.add(cmd)
	return cmd
}

// replayOne replays one task, whatever its number of earlier replays.
func (s *session) replayOne(ctx context.Context, c *tasker.Client, arg string, req operate.ReplayRequest) error {
	id, err := taskArg(arg)
	if err != nil {
		return err
	}
	r, err := operate.Of(c).ReplayTask(ctx, id, req)
	if err != nil {
		return err
	}
	if s.json {
		return s.printJSON(r)
	}
	f := fields{indent: "  "}
	f.add("Task", r.TaskID.String())
	if r.CaseID != nil {
		f.add("Case", r.CaseID.String())
	}
	f.add("State", string(r.State))
	f.add("Priority", string(r.Priority))
	f.add("Steps", fmt.Sprint(r.ReplayedSteps))
	f.add("Replays", fmt.Sprint(r.ReplayCount))
	f.add("Actor", byWhom(r.ReplayedBy, r.ReplayedByKey))
	return s.write([]byte("✓ Task replayed!\n" + f.b.String()))
}

// replays describes a task's replays: their number and the last one; "" for none.
func (s *session) replays(n int, at *time.Time, by, key string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d, last by %s at %s", n, byWhom(by, key), s.stampAgo(at))
}

// replayed is the result of a bulk replay. Stopped is the reason of an early end, "" for a
// complete run.
type replayed struct {
	Found    int    `json:"found"`
	Replayed int    `json:"replayed"`
	Skipped  int    `json:"skipped"` // not in error any more when their turn came
	DryRun   bool   `json:"dry_run,omitempty"`
	Stopped  string `json:"stopped,omitempty"`
}

// replayAll replays the tasks that match the filters. It lists all of them before it replays
// the first one: a task that fails again during the run must not be found and replayed again.
// The counts are printed even if the run ends early.
func (s *session) replayAll(ctx context.Context, c *tasker.Client, b *bulkReplay, req operate.ReplayRequest) error {
	ids, err := replayable(ctx, c, b)
	if err != nil {
		return err
	}
	out := replayed{Found: len(ids), DryRun: b.dryRun}
	if !b.dryRun {
		err = out.replay(ctx, c, ids, b.rate, req)
	}
	if printed := s.printReplayed(&out); err == nil {
		err = printed
	}
	if err == nil && out.Stopped != "" {
		err = tasker.Errorf(tasker.CodeWrongState, "stopped: %s", out.Stopped)
	}
	return err
}

// printReplayed prints the counts of a run or of a dry run.
func (s *session) printReplayed(r *replayed) error {
	switch {
	case s.json:
		return s.printJSON(r)
	case r.DryRun:
		return s.printf("%s would be replayed\n", counted(r.Found, false))
	default:
		return s.printf("✓ %s replayed, %d skipped, of %d\n", counted(r.Replayed, false), r.Skipped, r.Found)
	}
}

// replayable lists the IDs of the tasks to replay, oldest first, at most b.limit. The API lists
// newest first, so it reads every page and then reverses the list; it holds 16 bytes per task.
func replayable(ctx context.Context, c *tasker.Client, b *bulkReplay) ([]uuid.UUID, error) {
	const page = 500
	var ids []uuid.UUID
	f := b.filter
	f.Limit = page
	for {
		p, err := operate.Of(c).FailedTasks(ctx, f)
		if err != nil {
			return nil, err
		}
		for i := range p.Tasks {
			// A task that was replayed before has failed again since; replaying it blindly would loop.
			if l := &p.Tasks[i]; b.again || l.ReplayCount == 0 {
				ids = append(ids, l.TaskID)
			}
		}
		if f.Cursor = p.NextCursor; f.Cursor == "" {
			break
		}
	}
	for i, j := 0, len(ids)-1; i < j; i, j = i+1, j-1 {
		ids[i], ids[j] = ids[j], ids[i]
	}
	return ids[:min(b.limit, len(ids))], nil
}

// brakeEvery is the number of replays after which the command checks whether they help. A cause
// that is not fixed costs at most that many attempts per check.
const brakeEvery = 20

// replay replays the tasks one after the other at rate tasks per second and counts the results
// in r. It stops early if most tasks of the last group have failed again. A task that another
// operator handled meanwhile is skipped.
func (r *replayed) replay(
	ctx context.Context,
	c *tasker.Client,
	ids []uuid.UUID,
	rate float64,
	req operate.ReplayRequest,
) error {
	pace := time.NewTicker(time.Duration(float64(time.Second) / rate))
	defer pace.Stop()
	for i, id := range ids {
		if i > 0 {
			select {
			case <-pace.C:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		// The last group is not checked: nothing is left to stop.
		if i > 0 && i%brakeEvery == 0 {
			failing, err := failingAgain(ctx, c, ids[i-brakeEvery:i])
			if err != nil {
				return err
			}
			if failing {
				r.Stopped = "most of the replayed tasks have failed again"
				return nil
			}
		}
		switch _, err := operate.Of(c).ReplayTask(ctx, id, req); tasker.ErrorCode(err) {
		case "":
			r.Replayed++
		case tasker.CodeWrongState, tasker.CodeConflict, tasker.CodeNotFound: // another operator has handled it
			r.Skipped++
		default:
			return fmt.Errorf("replay task %s: %w", id, err)
		}
	}
	return nil
}

// failingAgain reports whether more than half of the tasks are in error. A deleted task does
// not count as failed.
func failingAgain(ctx context.Context, c *tasker.Client, ids []uuid.UUID) (bool, error) {
	failed := 0
	for _, id := range ids {
		t, err := c.Task(ctx, id, 0)
		var e *tasker.Error
		switch {
		case errors.As(err, &e) && e.Code == tasker.CodeNotFound:
		case err != nil:
			return false, err
		case t.State == tasker.TaskError:
			failed++
		}
	}
	return failed > len(ids)/2, nil
}
