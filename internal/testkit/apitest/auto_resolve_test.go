package apitest_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/worker"
)

// TestAutoResolve: if configured, the system resolves the case of a task that completes after a repair.
func TestAutoResolve(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, dsn string) {
		testAutoResolve(t, serve(t, dsn, node.Options{Engine: settings.Config{Cases: settings.Cases{AutoResolve: true}}}))
	})
}

func testAutoResolve(t *testing.T, s *server) {
	var fixed atomic.Bool
	s.work(t, map[string]worker.Handler{"job": func(context.Context, *worker.Job) (any, error) {
		if fixed.Load() {
			return "done", nil
		}
		return nil, &tasker.Failure{Message: "no connection", Retryable: new(bool)}
	}})
	receipt := s.submit(t, tasker.TaskRequest{TaskType: "job"})
	s.settled(t, receipt, tasker.TaskError)
	pending := get[operate.Case](t, s, "/v1/dlq/task/"+receipt.TaskUUID.String())
	if pending.ResolutionStatus != tasker.CasePending || pending.ResolvedBy != "" || pending.ResolvedAt != nil {
		t.Errorf("of the task in error the case is %+v", pending)
	}
	fixed.Store(true)
	step := s.step(t, receipt, "job")
	act := tasker.StepAction{ActionType: tasker.ResetForRetry, ResetBy: "ann", Reason: "fixed"}
	if _, err := s.ActOnStep(s.ctx, receipt.TaskUUID, step.StepUUID, act); err != nil {
		t.Fatal(err)
	}
	s.settled(t, receipt, tasker.TaskComplete)
	resolved := get[operate.Case](t, s, "/v1/dlq/task/"+receipt.TaskUUID.String())
	if resolved.CaseUUID != pending.CaseUUID || resolved.ResolutionStatus != tasker.CaseManuallyResolved ||
		resolved.ResolvedBy != "system" ||
		resolved.ResolvedAt == nil || resolved.ResolutionNotes == "" {
		t.Errorf("after the repair the case is %+v", resolved)
	}
	if r := resolved.Recovery; r == nil || r.By != "ann" || r.How != tasker.ResetForRetry {
		t.Errorf("it says %+v of who made it recover", r)
	}
	if queue := get[[]operate.QueuedCase](t, s, "/v1/dlq/investigation-queue"); len(queue) != 0 {
		t.Errorf("the queue is %+v", queue)
	}
	s.resolvedBySystem(t, pending.CaseUUID)
}

func (s *server) resolvedBySystem(t *testing.T, id uuid.UUID) {
	t.Helper()
	acts := get[[]operate.AuditRecord](t, s, "/v1/dlq/entry/"+id.String()+"/audit")
	if len(acts) != 1 || acts[0].Actor != "system" || acts[0].Before != "pending" || acts[0].After != "manually_resolved" {
		t.Errorf("the trail of the case is %+v", acts)
	}
}
