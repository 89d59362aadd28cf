package cli

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// newWorkers is short for `worker list`, with its own connection flags.
func newWorkers(s *session) *cobra.Command {
	cmd := newWorkerList(s)
	cmd.Use = "workers"
	s.connectFlags(cmd)
	return cmd
}

// newWorkerList builds `worker list`. --json prints a list of protocol.WorkerInfo. The list has no pages: the client
// follows them.
func newWorkerList(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List workers, including those that died within the last day",
		Args:  cobra.NoArgs,
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			return answeredList(s, "workers", s.printWorkers)(protocol.Of(c).Workers(ctx))
		}),
	}
}

// printWorkers prints one row per worker. LOAD is what the server counts, of the capacity that the worker has
// registered; HEARTBEAT is how long ago it was heard.
func (s *session) printWorkers(workers []protocol.WorkerInfo) error {
	t := s.newList("No workers.", "WORKER", "NAME", "STATUS", "LOAD", "HANDLERS", "CAPABILITIES", "NAMESPACES",
		"HEARTBEAT")
	t.dropFirst("CAPABILITIES", "NAMESPACES", "NAME", "LOAD")
	t.whole("WORKER")
	for i := range workers {
		w := &workers[i]
		t.damaged(w.WorkerID.String(), w.Damage)
		t.row(w.WorkerID.String(), w.Name, workerStatus(w), loadText(w, "/"),
			orAll(w.Handlers), joined(w.Capabilities), joined(w.Namespaces), s.ago(w.LastHeartbeat))
	}
	return t.flush()
}

// loadText formats the number of steps that a worker holds and, if it reported one, its
// capacity.
func loadText(w *protocol.WorkerInfo, of string) string {
	// 0 is a worker without a maximum.
	if w.Capacity == 0 {
		return strconv.Itoa(w.CurrentLoad)
	}
	return strconv.Itoa(w.CurrentLoad) + of + strconv.Itoa(w.Capacity)
}

// workerStatus formats a worker's state and, unless it is closed, its circuit breaker: either
// can be why the worker gets no steps.
func workerStatus(w *protocol.WorkerInfo) string {
	// The breaker of a dead worker has no effect.
	if w.Breaker == protocol.BreakerClosed || w.State == protocol.WorkerDead {
		return w.State
	}
	return w.State + ", breaker " + w.Breaker
}

func joined(names []string) string { return strings.Join(names, ", ") }

func orAll(names []string) string {
	if len(names) == 0 {
		return "(all)"
	}
	return joined(names)
}
