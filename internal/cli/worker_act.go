package cli

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

func newWorkerDrain(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "drain WORKER_UUID...",
		Short: "Give workers no more steps, and ask them to end",
		Long: `Give workers no more steps. What they have they finish; they are told with their
next poll or heartbeat, and one of the SDK then ends. "worker resume" takes it back
as long as a worker has not ended.`,
		Args: cobra.MinimumNArgs(1),
		RunE: s.eachWorker(func(ctx context.Context, c *tasker.Client, id uuid.UUID) (*tasker.WorkerInfo, error) {
			if _, err := c.Drain(ctx, tasker.DrainRequest{WorkerID: id}); err != nil {
				return nil, err
			}
			return c.Worker(ctx, id)
		}),
	}
}

func newWorkerResume(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "resume WORKER_UUID...",
		Short: "Give drained workers steps again",
		Long: `Take "worker drain" back, for workers that have not ended yet. One that drains
because it was told to end says so again with its next heartbeat.`,
		Args: cobra.MinimumNArgs(1),
		RunE: s.eachWorker(func(ctx context.Context, c *tasker.Client, id uuid.UUID) (*tasker.WorkerInfo, error) {
			return c.ResumeWorker(ctx, id)
		}),
	}
}

func newWorkerShow(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "show WORKER_UUID",
		Short: "Show one worker, and why it gets nothing if it does not",
		Args:  cobra.ExactArgs(1),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			id, err := workerArg(args[0])
			if err != nil {
				return err
			}
			w, err := c.Worker(ctx, id)
			if err != nil {
				return err
			}
			return s.printWorker(w)
		}),
	}
}

// eachWorker makes the body of a command that does something to each of the workers
// named. All are tried; the error is that of the first that was refused.
func (s *session) eachWorker(act func(context.Context, *tasker.Client, uuid.UUID) (*tasker.WorkerInfo, error)) func(*cobra.Command, []string) error {
	return s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
		ids := make([]uuid.UUID, len(args))
		for i, arg := range args {
			var err error
			if ids[i], err = workerArg(arg); err != nil {
				return err
			}
		}
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
			if err := s.printJSON(done); err != nil {
				return err
			}
			return first
		}
		for _, w := range done {
			if err := s.printf("✓ Worker %s (%s) is %s, with a load of %d\n", w.WorkerID.String(), w.Name, w.State, w.CurrentLoad); err != nil {
				return err
			}
		}
		return first
	})
}

// workerArg reads the argument that names a worker.
func workerArg(arg string) (uuid.UUID, error) {
	id, err := uuid.Parse(arg)
	if err != nil {
		return uuid.Nil, usagef("%q is not a worker's UUID", arg)
	}
	return id, nil
}

func (s *session) printWorker(w *tasker.WorkerInfo) error {
	if s.json {
		return s.printJSON(w)
	}
	f := fields{indent: "  "}
	f.add("UUID", w.WorkerID.String())
	f.add("Name", w.Name)
	f.add("State", w.State)
	f.add("Load", fmt.Sprintf("%d of %d", w.CurrentLoad, w.Capacity))
	f.add("Handlers", orAll(w.Handlers))
	f.add("Capabilities", joined(w.Capabilities))
	f.add("Namespaces", orAll(w.Namespaces))
	f.add("Host", w.Host)
	f.add("Version", w.Version)
	f.add("Started", s.stampAgo(&w.StartedAt))
	f.add("Last heartbeat", s.stampAgo(&w.LastHeartbeat))
	f.add("Health", w.HealthURL)
	if w.HealthFailures > 0 {
		f.add("Failed probes", fmt.Sprintf("%d, the last one: %s", w.HealthFailures, w.HealthError))
	}
	f.add("Circuit breaker", w.Breaker)
	f.add("Opened", s.stampAgo(w.BreakerOpenedAt))
	return s.write([]byte("✓ Worker Details:\n\n" + f.b.String()))
}
