package apitest_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/broker/webhook"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

func approvals(fast bool) string {
	timeout := "72h"
	if fast {
		timeout = "1s"
	}
	return fmt.Sprintf(`{"yaml": "{name: refund, version: v%[1]s, `+
		`steps: [{name: ask, wait: {approval: Refund?, timeout: %[1]s}}]}"}`, timeout)
}

func TestApprovalEvents(t *testing.T) { onEveryStore(t, testApprovalEvents) }

func testApprovalEvents(t *testing.T, s *server) {
	h := s.hear(t, tasker.EventFilter{Types: []tasker.EventType{tasker.EventApprovalRequested,
		tasker.EventApprovalDecided}})
	s.send(t, "POST", "/v1/templates", approvals(false), nil)
	for act, result := range map[string]string{tasker.Approve: "approved", tasker.Reject: "rejected"} {
		receipt, err := s.Submit(s.ctx, tasker.NewTask("refund", nil))
		if err != nil {
			t.Fatal(err)
		}
		asked := h.approval()
		if asked.TaskUUID != receipt.TaskUUID || asked.Template != "refund" || asked.Step != "ask" ||
			asked.Approval != "Refund?" || asked.Until == nil || asked.Result != "" {
			t.Errorf("asked: %+v", asked)
		}
		if _, err := s.ActOnStep(s.ctx, receipt.TaskUUID, asked.StepUUID, tasker.StepAction{ActionType: act,
			DecidedBy: "ada", Reason: "because"}); err != nil {
			t.Fatal(err)
		}
		if got := h.approval(); got.StepUUID != asked.StepUUID || got.Result != result || got.DecidedBy != "ada" ||
			got.Reason != "because" {
			t.Errorf("decided: %+v", got)
		}
	}
	testUndecided(t, s, h)
	s.send(t, "POST", "/v1/templates", approvals(true), nil)
	if _, err := s.Submit(s.ctx, tasker.NewTask("refund", nil)); err != nil {
		t.Fatal(err)
	}
	h.approval()
	if got := h.approval(); got.Result != "timed_out" || got.DecidedBy != "system" {
		t.Errorf("timed out: %+v", got)
	}
}

func testUndecided(t *testing.T, s *server, h *heard) {
	cancel := func(asked tasker.ApprovalEvent) error {
		_, err := s.CancelTasks(s.ctx, tasker.CancelRequest{TaskUUIDs: []uuid.UUID{asked.TaskUUID}, CancelledBy: "ada",
			Reason: "because"})
		return err
	}
	resolve := func(asked tasker.ApprovalEvent) error {
		_, err := s.ActOnStep(s.ctx, asked.TaskUUID, asked.StepUUID, tasker.StepAction{
			ActionType: tasker.ResolveManually, ResolvedBy: "ada", Reason: "because"})
		return err
	}
	for result, end := range map[string]func(tasker.ApprovalEvent) error{"cancelled": cancel, "resolved": resolve} {
		if _, err := s.Submit(s.ctx, tasker.NewTask("refund", nil)); err != nil {
			t.Fatal(err)
		}
		asked := h.approval()
		if err := end(asked); err != nil {
			t.Fatal(err)
		}
		if got := h.approval(); got.StepUUID != asked.StepUUID || got.Result != result || got.DecidedBy != "ada" ||
			got.Reason != "because" {
			t.Errorf("%s: %+v", result, got)
		}
	}
}

func (h *heard) approval() tasker.ApprovalEvent {
	h.t.Helper()
	select {
	case e := <-h.events:
		if e.Approval != nil {
			return *e.Approval
		}
		h.t.Fatalf("the event is %+v", e)
	case <-h.t.Context().Done():
	}
	h.t.Fatal("no event arrives")
	return tasker.ApprovalEvent{}
}

// TestApprovalWebhooks: a webhook without types gets requests for approvals, not decisions.
func TestApprovalWebhooks(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, dsn string) {
		usual := newHook(t, tasker.EventApprovalRequested)
		usual.endpoint.Events = deadletter.DefaultHookTypes
		named := newHook(t, tasker.EventApprovalDecided)
		s := serve(t, dsn, node.Options{Webhooks: []webhook.Endpoint{usual.endpoint, named.endpoint}})
		s.send(t, "POST", "/v1/templates", approvals(true), nil)
		if _, err := s.Submit(s.ctx, tasker.NewTask("refund", nil)); err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(usual.take(), ", ", named.take())
		if got != "approval.requested ask , approval.decided ask timed_out" {
			t.Errorf("the webhooks got %s", got)
		}
	})
}
