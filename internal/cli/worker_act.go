package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// newWorkerDrain returns immediately; `worker show` follows the drain.
func newWorkerDrain(s *session) *cobra.Command {
	var req tasker.DrainRequest
	cmd := &cobra.Command{
		Use:     "drain WORKER...",
		Short:   "Drain workers: assign no more steps and ask them to stop",
		Example: `  tasker worker drain 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70`,
		Long: `Drain workers: they get no more steps and finish their current ones. A worker learns
of the drain with its next poll or heartbeat; a worker of the SDK then stops. "worker
resume" cancels the drain while the worker still runs. WORKER is a UUID or a unique
name; if any name is ambiguous, the command changes no worker.`,
		Args: cobra.MinimumNArgs(1),
		RunE: s.eachWorker(func(ctx context.Context, c *tasker.Client, id uuid.UUID) (*tasker.WorkerInfo, error) {
			req.WorkerID, req.DrainedBy = id, actor(req.DrainedBy)
			if _, err := c.Drain(ctx, req); err != nil {
				return nil, err
			}
			// The answer only counts steps; the output shows name, state and load.
			return c.Worker(ctx, id)
		}),
	}
	actorFlag(cmd, &req.DrainedBy, "drained-by")
	cmd.Flags().StringVar(&req.Reason, "reason", "", "reason for the act; kept in the audit trail")
	return cmd
}

// newWorkerResume does not revive an ended worker.
func newWorkerResume(s *session) *cobra.Command {
	var req tasker.ResumeRequest
	cmd := &cobra.Command{
		Use:   "resume WORKER...",
		Short: "Resume drained workers",
		Long: `Cancel the drain of workers: they get steps again. A worker that is shutting down
reports the drain again with its next heartbeat. WORKER is a UUID or a unique name; if any
name is ambiguous, the command changes no worker.`,
		Args: cobra.MinimumNArgs(1),
		RunE: s.eachWorker(func(ctx context.Context, c *tasker.Client, id uuid.UUID) (*tasker.WorkerInfo, error) {
			req.WorkerID, req.ResumedBy = id, actor(req.ResumedBy)
			return c.ResumeWorker(ctx, req)
		}),
	}
	actorFlag(cmd, &req.ResumedBy, "resumed-by")
	cmd.Flags().StringVar(&req.Reason, "reason", "", "reason for the act; kept in the audit trail")
	return cmd
}

func newWorkerCordon(s *session) *cobra.Command {
	var req tasker.CordonRequest
	cmd := &cobra.Command{
		Use:   "cordon WORKER...",
		Short: "Cordon workers: hand them no more steps, but let them run",
		Long: `Cordon workers: they get no more steps until "worker uncordon", and keep the steps
they hold. Unlike a drain, a cordon does not ask them to stop, and a restart of the
server or a missed heartbeat does not end it. WORKER is a UUID or a unique name; if any
name is ambiguous, the command changes no worker.`,
		Args: cobra.MinimumNArgs(1),
		RunE: s.eachWorker(func(ctx context.Context, c *tasker.Client, id uuid.UUID) (*tasker.WorkerInfo, error) {
			req.WorkerID, req.CordonedBy = id, actor(req.CordonedBy)
			return c.CordonWorker(ctx, req)
		}),
	}
	actorFlag(cmd, &req.CordonedBy, "cordoned-by")
	cmd.Flags().StringVar(&req.Reason, "reason", "", "reason for the act; shown with the worker")
	return cmd
}

func newWorkerUncordon(s *session) *cobra.Command {
	var req tasker.UncordonRequest
	cmd := &cobra.Command{
		Use:   "uncordon WORKER...",
		Short: "Uncordon workers: hand them steps again",
		Long: `End the cordon of workers: they get steps again. WORKER is a UUID or a unique name; if
any name is ambiguous, the command changes no worker.`,
		Args: cobra.MinimumNArgs(1),
		RunE: s.eachWorker(func(ctx context.Context, c *tasker.Client, id uuid.UUID) (*tasker.WorkerInfo, error) {
			req.WorkerID, req.UncordonedBy = id, actor(req.UncordonedBy)
			return c.UncordonWorker(ctx, req)
		}),
	}
	actorFlag(cmd, &req.UncordonedBy, "uncordoned-by")
	cmd.Flags().StringVar(&req.Reason, "reason", "", "reason for the act; kept in the audit trail")
	return cmd
}

// newWorkerShow: --json prints a tasker.WorkerInfo.
func newWorkerShow(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "show WORKER",
		Short:   "Show one worker and why it gets no steps",
		Example: `  tasker worker show 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70`,
		Long: `Show one worker and, if it gets no steps, the reason. WORKER is a UUID or a unique
name. A name refers to a live worker, else to one that died within the last day.`,
		Args: cobra.ExactArgs(1),
		RunE: s.reading(func(ctx context.Context, c *tasker.Client, args []string) error {
			ids, err := workerArgs(ctx, c, args)
			if err != nil {
				return err
			}
			w, err := c.Worker(ctx, ids[0])
			if err != nil {
				return err
			}
			return s.printWorker(w)
		}),
	}
}

// eachWorker tries all workers and returns the first refusal.
func (s *session) eachWorker(
	act func(context.Context, *tasker.Client, uuid.UUID) (*tasker.WorkerInfo, error),
) func(*cobra.Command, []string) error {
	return s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
		ids, err := workerArgs(ctx, c, args)
		if err != nil {
			return err
		}
		// A drain of a fleet must not stop at an ended worker.
		var first error
		done := []*tasker.WorkerInfo{}
		for _, id := range ids {
			w, err := act(ctx, c, id)
			if err == nil {
				done = append(done, w)
			} else if first == nil {
				first = err
			}
		}
		if s.json {
			if err := s.printList("workers", done); err != nil {
				return err
			}
			return first
		}
		for _, w := range done {
			state := w.State
			if w.Cordoned {
				state += ", cordoned,"
			}
			if err := s.printf("✓ Worker %s (%s) is %s and holds %d steps\n",
				w.WorkerID.String(), w.Name, state, w.CurrentLoad); err != nil {
				return err
			}
		}
		return first
	})
}

// workerArgs resolves UUIDs, or unique names, all before the first act. It requests the list at most once.
func workerArgs(ctx context.Context, c *tasker.Client, args []string) ([]uuid.UUID, error) {
	ids := make([]uuid.UUID, len(args))
	var workers []tasker.WorkerInfo
	for i, arg := range args {
		var err error
		if ids[i], err = uuid.Parse(arg); err == nil {
			continue
		}
		// The list includes workers that died within a day, for `worker show`.
		if workers == nil {
			if workers, err = c.Workers(ctx); err != nil {
				return nil, err
			}
		}
		if ids[i], err = workerNamed(workers, arg); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// workerNamed counts dead workers only without a live one, because a restarted worker usually keeps its name.
func workerNamed(workers []tasker.WorkerInfo, name string) (uuid.UUID, error) {
	var live, dead []string
	var id uuid.UUID
	for i := range workers {
		w := &workers[i]
		switch {
		case w.Name != name:
		case w.State != tasker.WorkerDead:
			live, id = append(live, w.WorkerID.String()), w.WorkerID
		default:
			if dead = append(dead, w.WorkerID.String()); len(live) == 0 {
				id = w.WorkerID
			}
		}
	}
	found := live
	if len(live) == 0 {
		found = dead
	}
	switch len(found) {
	case 0:
		return uuid.Nil, tasker.Errorf(tasker.CodeNotFound, "there is no worker %q", name)
	case 1:
		return id, nil
	}
	return uuid.Nil, usagef("%d workers are named %q; use a UUID instead: %s", len(found), name, strings.Join(found, ", "))
}

func (s *session) printWorker(w *tasker.WorkerInfo) error {
	if s.json {
		return s.printJSON(w)
	}
	f := s.newFields("  ")
	f.add("UUID", w.WorkerID.String())
	f.add("Name", w.Name)
	f.add("State", w.State)
	if w.DrainsItself {
		f.add("Drains", fmt.Sprintf("%s by itself", s.stampAgo(w.DrainedAt)))
	} else if w.DrainedBy != "" {
		f.add("Drained", fmt.Sprintf("%s by %s: %s", s.stampAgo(w.DrainedAt), w.DrainedBy, w.DrainReason))
	}
	if w.Cordoned {
		f.add("Cordoned", fmt.Sprintf("%s by %s: %s", s.stampAgo(w.CordonedAt), w.CordonedBy, w.CordonReason))
	}
	if w.Transport == tasker.TransportAMQP {
		f.add("Transport", w.Transport)
	}
	f.add("Load", loadText(w, " of ")+" steps")
	f.add("Reported load", fmt.Sprintf("%d steps", w.ReportedLoad))
	f.add("Handlers", orAll(w.Handlers))
	f.add("Capabilities", joined(w.Capabilities))
	f.add("Namespaces", joined(w.Namespaces))
	f.add("Host", w.Host)
	f.add("Version", w.Version)
	f.add("Started", s.stampAgo(&w.StartedAt))
	f.add("Last heartbeat", s.stampAgo(&w.LastHeartbeat))
	f.add("Health", w.HealthURL)
	if w.HealthFailures > 0 {
		f.add("Failed probes", fmt.Sprintf("%d, the last: %s", w.HealthFailures, w.HealthError))
	}
	f.add("Circuit breaker", w.Breaker)
	if w.ConsecutiveFailures != nil {
		f.add("Consecutive failures", fmt.Sprintf("%d", *w.ConsecutiveFailures))
	}
	f.add("Opened", s.stampAgo(w.BreakerOpenedAt))
	return s.write([]byte("✓ Worker Details:\n\n" + f.String()))
}
