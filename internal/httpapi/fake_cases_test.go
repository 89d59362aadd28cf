package httpapi_test

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// caseID is a case that the fake knows, of taskID.
var caseID = uuid.MustParse("0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f80")

func cannedCase() *tasker.Case {
	return &tasker.Case{CaseUUID: caseID, TaskUUID: taskID, Namespace: "default", TaskName: "import", OriginalState: tasker.TaskStepsInProcess,
		Reason: tasker.ReasonMaxRetries, OpenedAt: noon, Snapshot: json.RawMessage(`{"task_name":"import"}`), ResolutionStatus: tasker.CasePending,
		Metadata: json.RawMessage(`{"n":1}`), CreatedAt: noon, UpdatedAt: noon}
}

func (f *fake) Cases(_ context.Context, filter tasker.CaseFilter) ([]tasker.Case, error) {
	return []tasker.Case{*cannedCase()}, f.note(filter)
}

func (f *fake) CaseOfTask(_ context.Context, task uuid.UUID) (*tasker.Case, error) {
	return cannedCase(), f.note(task)
}

func (f *fake) OpenCase(_ context.Context, _ uuid.UUID, req tasker.OpenCaseRequest) (*tasker.Case, error) {
	return cannedCase(), f.note(req)
}

func (f *fake) UpdateCase(_ context.Context, id uuid.UUID, update tasker.CaseUpdate) (*tasker.CaseUpdated, error) {
	return &tasker.CaseUpdated{Success: true, Message: "updated", CaseUUID: id}, f.note(update)
}

func (f *fake) CaseStats(_ context.Context, filter tasker.CaseFilter) ([]tasker.CaseStats, error) {
	return []tasker.CaseStats{{Reason: tasker.ReasonMaxRetries, TotalEntries: 1, Pending: 1, OldestEntry: &noon, NewestEntry: &noon}}, f.note(filter)
}

func (f *fake) InvestigationQueue(_ context.Context, filter tasker.CaseFilter) ([]tasker.QueuedCase, error) {
	return []tasker.QueuedCase{{CaseUUID: caseID, TaskUUID: taskID, Namespace: "default", TaskName: "import", OriginalState: tasker.TaskStepsInProcess,
		CurrentState: tasker.TaskError, Reason: tasker.ReasonMaxRetries, OpenedAt: noon, MinutesInDLQ: 5, PriorityScore: 505, Priority: tasker.High}}, f.note(filter)
}

func (f *fake) Staleness(_ context.Context, filter tasker.StalenessFilter) ([]tasker.StaleTask, error) {
	return []tasker.StaleTask{{TaskUUID: taskID, Namespace: "default", TaskName: "import", CurrentState: tasker.TaskStepsInProcess, TimeInStateMinutes: 25,
		StalenessThresholdMinutes: 30, Health: tasker.Warning, Priority: tasker.High}}, f.note(filter)
}

func (f *fake) DetectStaleness(_ context.Context, req tasker.DetectRequest) ([]tasker.Detection, error) {
	return []tasker.Detection{{TaskUUID: taskID, Namespace: "default", TaskName: "import", CurrentState: tasker.TaskStepsInProcess, TimeInStateMinutes: 35,
		ThresholdMinutes: 30, ActionTaken: tasker.MovedAndErrored, MovedToDLQ: true, TransitionSuccess: true}}, f.note(req)
}

func (f *fake) Audit(_ context.Context, filter tasker.AuditFilter) ([]tasker.AuditRecord, error) {
	return []tasker.AuditRecord{{No: 7, At: noon, Kind: "open_case", Actor: "ada", Reason: "odd", TaskUUID: taskID, CaseUUID: &caseID, After: "pending"}}, f.note(filter)
}
