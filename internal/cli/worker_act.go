package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// newWorkerDrain returns immediately; `worker show` follows the drain.
func newWorkerDrain(s *session) *cobra.Command {
	return newWorkerAct(s, "drained-by", &cobra.Command{
		Use:     "drain WORKER...",
		Short:   "Drain workers: assign no more steps and ask them to stop",
		Example: `  tasker worker drain 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70`,
		Long: `Drain workers: they get no more steps and finish their current ones. A worker learns
of the drain with its next poll or heartbeat; a worker of the SDK then stops. "worker
resume" cancels the drain while the worker still runs. WORKER is a UUID or a unique
name; if any name is ambiguous, the command changes no worker.`,
	}, func(b protocol.Backend, ctx context.Context, act protocol.WorkerAct) (*protocol.WorkerInfo, error) {
		if _, err := b.Drain(ctx, act); err != nil {
			return nil, err
		}
		// The answer to a drain only counts steps; the output shows name, state and load.
		return b.Worker(ctx, act.WorkerID)
	})
}

// newWorkerResume does not revive an ended worker.
func newWorkerResume(s *session) *cobra.Command {
	return newWorkerAct(s, "resumed-by", &cobra.Command{
		Use:   "resume WORKER...",
		Short: "Resume drained workers",
		Long: `Cancel the drain of workers: they get steps again. A worker that is shutting down
reports the drain again with its next heartbeat. WORKER is a UUID or a unique name; if any
name is ambiguous, the command changes no worker.`,
	}, protocol.Backend.ResumeWorker)
}

func newWorkerCordon(s *session) *cobra.Command {
	cmd := newWorkerAct(s, "cordoned-by", &cobra.Command{
		Use:   "cordon WORKER...",
		Short: "Cordon workers: hand them no more steps, but let them run",
		Long: `Cordon workers: they get no more steps until "worker uncordon", and keep the steps
they hold. Unlike a drain, a cordon does not ask them to stop, and a restart of the
server or a missed heartbeat does not end it. WORKER is a UUID or a unique name; if any
name is ambiguous, the command changes no worker.`,
	}, protocol.Backend.CordonWorker)
	cmd.Flags().Lookup("reason").Usage = "reason for the act; shown with the worker"
	return cmd
}

func newWorkerUncordon(s *session) *cobra.Command {
	return newWorkerAct(s, "uncordoned-by", &cobra.Command{
		Use:   "uncordon WORKER...",
		Short: "Uncordon workers: hand them steps again",
		Long: `End the cordon of workers: they get steps again. WORKER is a UUID or a unique name; if
any name is ambiguous, the command changes no worker.`,
	}, protocol.Backend.UncordonWorker)
}

// newWorkerAct completes a command that applies do to each named worker. olderActor is an older name of --actor.
func newWorkerAct(s *session, olderActor string, cmd *cobra.Command,
	do func(protocol.Backend, context.Context, protocol.WorkerAct) (*protocol.WorkerInfo, error),
) *cobra.Command {
	var act protocol.WorkerAct
	cmd.Args = cobra.MinimumNArgs(1)
	cmd.RunE = s.eachWorker(func(ctx context.Context, c *tasker.Client, id uuid.UUID) (*protocol.WorkerInfo, error) {
		act.WorkerID, act.By = id, actor(act.By)
		return do(protocol.Of(c), ctx, act)
	})
	actorFlag(cmd, &act.By, olderActor)
	cmd.Flags().StringVar(&act.Reason, "reason", "", "reason for the act; kept in the audit trail")
	return cmd
}

// newWorkerShow builds `worker show`. --json prints a protocol.WorkerInfo.
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
			return answered(s, s.printWorker)(protocol.Of(c).Worker(ctx, ids[0]))
		}),
	}
}

// eachWorker returns the body of a command that applies do to each named worker. It tries all
// workers and returns the error of the first that was refused.
func (s *session) eachWorker(do func(context.Context, *tasker.Client, uuid.UUID) (*protocol.WorkerInfo, error),
) func(*cobra.Command, []string) error {
	return s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
		ids, err := workerArgs(ctx, c, args)
		if err != nil {
			return err
		}
		// A drain of a fleet must not stop at an ended worker.
		var first error
		done := []*protocol.WorkerInfo{}
		for _, id := range ids {
			w, err := do(ctx, c, id)
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
	var workers []protocol.WorkerInfo
	for i, arg := range args {
		var err error
		if ids[i], err = uuid.Parse(arg); err == nil {
			continue
		}
		// The list includes workers that died within a day, for `worker show`.
		if workers == nil {
			if workers, err = protocol.Of(c).Workers(ctx); err != nil {
				return nil, err
			}
		}
		if ids[i], err = workerNamed(workers, arg); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// workerNamed returns the only worker of a name. Dead workers count only if no live worker has
// the name: a worker that was restarted usually keeps its name.
func workerNamed(workers []protocol.WorkerInfo, name string) (uuid.UUID, error) {
	var live, dead []string
	var id uuid.UUID
	for i := range workers {
		w := &workers[i]
		switch {
		case w.Name != name:
		case w.State != protocol.WorkerDead:
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

// printWorker prints every field of a worker that has a value.
func (s *session) printWorker(w *protocol.WorkerInfo) error {
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
	if w.Transport == protocol.TransportAMQP {
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
