package cli

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// newWorkers is short for `worker list`, with its own connection flags.
func newWorkers(s *session) *cobra.Command {
	cmd := newWorkerList(s)
	cmd.Use = "workers"
	s.connectFlags(cmd)
	return cmd
}

// newWorkerList follows all pages. --json prints tasker.WorkerInfos.
func newWorkerList(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List workers, including those that died within the last day",
		Args:  cobra.NoArgs,
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			workers, err := c.Workers(ctx)
			if err != nil {
				return err
			}
			return s.printWorkers(workers)
		}),
	}
}

// LOAD is the server's count, of the registered capacity; HEARTBEAT is the age of the last one.
func (s *session) printWorkers(workers []tasker.WorkerInfo) error {
	if s.json {
		return s.printList("workers", workers)
	}
	if len(workers) == 0 {
		return s.printf("No workers.\n")
	}
	t := s.newTable("WORKER", "NAME", "STATUS", "LOAD", "HANDLERS", "CAPABILITIES", "NAMESPACES", "HEARTBEAT")
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

func loadText(w *tasker.WorkerInfo, of string) string {
	// 0 is a worker without a maximum.
	if w.Capacity == 0 {
		return strconv.Itoa(w.CurrentLoad)
	}
	return strconv.Itoa(w.CurrentLoad) + of + strconv.Itoa(w.Capacity)
}

// workerStatus adds an open circuit breaker: either can explain a worker without steps.
func workerStatus(w *tasker.WorkerInfo) string {
	// A dead worker's breaker has no effect.
	if w.Breaker == tasker.BreakerClosed || w.State == tasker.WorkerDead {
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
