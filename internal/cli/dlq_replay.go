package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// bulkReplay is what a replay of many tasks is told.
type bulkReplay struct {
	failedTaskFlags
	all, again, dryRun bool
	rate               float64
	limit              int
}

func newDLQReplay(s *session) *cobra.Command {
	var (
		bulk     bulkReplay
		req      tasker.ReplayRequest
		priority string
	)
	cmd := &cobra.Command{
		Use:   "replay {TASK_UUID | --all}",
		Short: "Run the failed steps of a task again, or of many",
		Long: `Run the failed steps of a task in error again. It is the same task, with all its
history; its case stays pending, and counts the replays. Mend the cause first.

With --all, of every task that the filters let pass: oldest first, at --rate a
second, each once. Tasks that were replayed before are left out, unless --again is
given. It stops by itself when most of what was replayed has failed again.`,
		Example: `  tasker dlq replay TASK_UUID --reset-retry-count --priority high --reason 'Database is back'
  tasker dlq replay --all --error-pattern ConnectionError --after 24h --dry-run
  tasker dlq replay --all --error-pattern ConnectionError --after 24h --reset-retry-count --rate 5`,
		Args: cobra.MaximumNArgs(1),
		PreRunE: func(_ *cobra.Command, args []string) error {
			switch {
			case bulk.all && len(args) > 0, !bulk.all && len(args) == 0:
				return usagef("name a task, or give --all")
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
	f.BoolVar(&req.ResetRetryCount, "reset-retry-count", false, "give the failed steps all their attempts again; else what is left, and at least one")
	f.StringVar(&priority, "priority", "", "new priority of the task and its open steps")
	f.StringVar(&req.Reason, "reason", "", "why; kept in the audit trail")
	f.StringVar(&req.ReplayedBy, "replayed-by", "", "who does it (default the user of this process)")
	expectFlag(cmd, &req.ExpectedState, tasker.TaskError)
	f.BoolVar(&bulk.all, "all", false, "replay every task that the filters let pass")
	f.BoolVar(&bulk.again, "again", false, "with --all: also those that were replayed before")
	f.BoolVar(&bulk.dryRun, "dry-run", false, "with --all: only say how many it would be")
	f.Float64Var(&bulk.rate, "rate", 10, "with --all: most tasks a second")
	f.IntVar(&bulk.limit, "limit", 1000, "with --all: most tasks")
	bulk.add(cmd)
	return cmd
}

func (s *session) replayOne(ctx context.Context, c *tasker.Client, arg string, req tasker.ReplayRequest) error {
	id, err := taskArg(arg)
	if err != nil {
		return err
	}
	r, err := c.ReplayTask(ctx, id, req)
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
	f.add("By", byWhom(r.ReplayedBy, r.ReplayedByKey))
	return s.write([]byte("✓ Task replayed!\n" + f.b.String()))
}

// replays says how often a task was replayed, "" for never.
func (s *session) replays(n int, at *time.Time, by, key string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d, the last by %s at %s", n, byWhom(by, key), s.stampAgo(at))
}

// replayed is what a replay of many tasks came to.
type replayed struct {
	Found    int    `json:"found"`
	Replayed int    `json:"replayed"`
	Skipped  int    `json:"skipped"` // not in error any more when their turn came
	DryRun   bool   `json:"dry_run,omitempty"`
	Stopped  string `json:"stopped,omitempty"`
}

// replayAll replays what a filter lets pass. What it will be is decided before the
// first is replayed: what fails again meanwhile is not replayed again.
func (s *session) replayAll(ctx context.Context, c *tasker.Client, b *bulkReplay, req tasker.ReplayRequest) error {
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

// replayable gathers the tasks to replay, oldest first.
func replayable(ctx context.Context, c *tasker.Client, b *bulkReplay) ([]uuid.UUID, error) {
	const page = 500
	var ids []uuid.UUID
	f := b.filter
	f.Limit = page
	for {
		p, err := c.FailedTasks(ctx, f)
		if err != nil {
			return nil, err
		}
		for i := range p.Tasks {
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

// brakeEvery is after how many replays it is looked whether they help.
const brakeEvery = 20

func (r *replayed) replay(ctx context.Context, c *tasker.Client, ids []uuid.UUID, rate float64, req tasker.ReplayRequest) error {
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
		if i > 0 && i%brakeEvery == 0 {
			failing, err := failingAgain(ctx, c, ids[i-brakeEvery:i])
			if err != nil {
				return err
			}
			if failing {
				r.Stopped = "most of what was replayed has failed again"
				return nil
			}
		}
		switch _, err := c.ReplayTask(ctx, id, req); tasker.ErrorCode(err) {
		case "":
			r.Replayed++
		case tasker.CodeWrongState, tasker.CodeConflict, tasker.CodeNotFound: // somebody has seen to it
			r.Skipped++
		default:
			return fmt.Errorf("replay task %s: %w", id, err)
		}
	}
	return nil
}

// failingAgain reports whether more than half of tasks are in error.
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
