package httpapi_test

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/operate"
)

var (
	caseID      = uuid.MustParse("0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f74") // of taskID
	otherCaseID = uuid.MustParse("0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f75") // of otherID
)

func cannedCase(id, task uuid.UUID, namespace string) *operate.Case {
	return &operate.Case{
		CaseUUID: id, TaskUUID: task, Namespace: namespace, TaskName: "import",
		OriginalState: tasker.TaskWaitingForDependencies,
		Reason:        tasker.ReasonStaleness, OpenedAt: noon, ResolutionStatus: tasker.CaseManuallyResolved,
		ResolutionNotes: "fixed <it>",
		ResolvedAt:      &noon, ResolvedBy: "ann",
		Metadata:  json.RawMessage(`{"root_cause":"disk","n":12345678901234567890}`),
		CreatedAt: noon, UpdatedAt: noon, ETag: "pending-4",
	}
}

func cannedSnapshot() operate.CaseSnapshot {
	return operate.CaseSnapshot{
		TaskUUID: taskID, Namespace: "default", TaskName: "import", Version: "1.0.0",
		CurrentState:       tasker.TaskWaitingForDependencies,
		TimeInStateMinutes: 65.5, ThresholdMinutes: 60, TaskAgeMinutes: 70, Priority: tasker.High,
		Context:   json.RawMessage(`{"a":1}`),
		CreatedAt: noon, DetectedAt: noon, Reason: tasker.ReasonStaleness, Detail: "65 minutes in a state",
		Template: json.RawMessage(`{"name":"import"}`),
		Steps: []operate.SnapshotStep{{StepUUID: stepID, Name: "load", CurrentState: tasker.StepError, Attempts: 3,
			MaxAttempts:  3,
			Dependencies: []string{"read"}, Worker: "w", ReadyAt: &noon, StartedAt: &noon, LastFailureAt: &noon,
			LastError: cannedFailure()}},
	}
}

func withSnapshot(c *operate.Case) *operate.Case {
	c.Snapshot, _ = json.Marshal(cannedSnapshot())
	return c
}

func (f *fake) Case(ctx context.Context, id uuid.UUID) (*operate.Case, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.err != nil:
		return nil, f.err
	case id == caseID:
		return withSnapshot(cannedCase(caseID, taskID, "default")), outside(ctx, id)
	case id == otherCaseID:
		return withSnapshot(cannedCase(otherCaseID, otherID, "secret")), outside(ctx, id)
	}
	return nil, tasker.Errorf(tasker.CodeNotFound, "case %s is unknown", id)
}

func (f *fake) Cases(_ context.Context, filter operate.CaseFilter) ([]operate.Case, error) {
	if err := f.note(filter); err != nil || filter.Offset > 0 {
		return nil, err
	}
	return []operate.Case{*cannedCase(caseID, taskID, "default")}, nil
}

func (f *fake) FailedTasks(_ context.Context, filter operate.FailedTaskFilter) (*operate.FailedTaskPage, error) {
	return &operate.FailedTaskPage{TotalCount: 1, NextCursor: caseID.String(),
		Tasks: []operate.FailedTask{{TaskID: taskID, CaseID: caseID, Namespace: "default",
			TaskType: "import", State: tasker.TaskError, Priority: tasker.High, CreatedAt: noon, MovedToDLQAt: noon,
			FailureReason: tasker.ReasonMaxRetries,
			Fingerprint:   "Timeout", Retryable: true, LastError: cannedFailure(), LastFailureAt: &noon, RetryCount: 3,
			ResolutionStatus: tasker.CasePending,
			ReplayCount:      1, LastReplayedAt: &noon, LastReplayedBy: "ann"}}}, f.note(filter)
}

func (f *fake) FailureReport(_ context.Context, namespace string) (*operate.FailureReport, error) {
	return &operate.FailureReport{AnalyzedAt: noon, Since: noon, TotalCount: 120, Replayable: 101,
		Reasons: []operate.ReasonCount{{FailureReason: tasker.ReasonMaxRetries, Count: 120, Replayable: 101}},
		Fingerprints: []operate.FingerprintCount{{Namespace: "default", FailureReason: tasker.ReasonMaxRetries,
			Fingerprint: "Timeout", Count: 120, Replayable: 101,
			FirstAt: noon, LastAt: noon, New: true}},
		Alarms: []operate.FailureAlarm{{Kind: operate.AlarmNewFingerprint, Message: "new", Namespace: "default",
			FailureReason: tasker.ReasonMaxRetries,
			Fingerprint:   "Timeout", Count: 120}}}, f.note(namespace)
}

func (f *fake) UpdateCases(_ context.Context, req operate.BulkCaseUpdate) (*operate.BulkResult, error) {
	if err := f.note(req); err != nil {
		return nil, err
	}
	return &operate.BulkResult{DryRun: req.DryRun, Succeeded: 1, Failed: 1, NextCursor: "on", Results: []operate.BulkItem{
		{CaseUUID: caseID, TaskUUID: &taskID, Before: "pending", After: "manually_resolved"},
		{CaseUUID: otherCaseID, Error: tasker.Errorf(tasker.CodeNotFound, "there is no case")}}}, nil
}

func (f *fake) ActOnCases(_ context.Context, req operate.BulkStepAction) (*operate.BulkResult, error) {
	if err := f.note(req); err != nil {
		return nil, err
	}
	return &operate.BulkResult{Succeeded: 1, Results: []operate.BulkItem{
		{CaseUUID: caseID, TaskUUID: &taskID, StepUUID: &stepID, StepName: "load", Before: "error", After: "pending"}}}, nil
}

func (f *fake) ReplayTask(ctx context.Context, id uuid.UUID, req operate.ReplayRequest) (*operate.Replay, error) {
	if err := f.noteOf(ctx, id, req); err != nil {
		return nil, err
	}
	return &operate.Replay{TaskID: id, CaseID: &caseID, State: tasker.TaskEnqueuingSteps, Priority: tasker.High,
		ReplayedSteps: 1, ReplayCount: 2,
		ReplayedAt: noon, ReplayedBy: req.ReplayedBy}, nil
}

func (f *fake) CaseOfTask(ctx context.Context, task uuid.UUID) (*operate.Case, error) {
	return withSnapshot(cannedCase(caseID, task, "default")), f.noteOf(ctx, task, task)
}

func (f *fake) OpenCase(ctx context.Context, task uuid.UUID, req operate.OpenCaseRequest) (*operate.Case, error) {
	opened := cannedCase(caseID, task, "default")
	opened.Reason, opened.ResolutionStatus = tasker.ReasonManual, tasker.CasePending
	return opened, f.noteOf(ctx, task, req)
}

func (f *fake) UpdateCase(ctx context.Context, id uuid.UUID, update operate.CaseUpdate) (*operate.CaseUpdated, error) {
	return &operate.CaseUpdated{Success: true, Message: "The case is resolved.", CaseUUID: id}, f.noteOf(ctx, id, update)
}

func (f *fake) CaseStats(_ context.Context, filter operate.CaseFilter) ([]operate.CaseStats, error) {
	mean := 12.5
	return []operate.CaseStats{
		{Reason: tasker.ReasonMaxRetries, TotalEntries: 2, Pending: 2, OldestEntry: &noon, NewestEntry: &noon},
		{Reason: tasker.ReasonStaleness, TotalEntries: 1, ManuallyResolved: 1, AvgResolutionTimeMinutes: &mean},
	}, f.note(filter)
}

func (f *fake) InvestigationQueue(_ context.Context, filter operate.CaseFilter) ([]operate.QueuedCase, error) {
	return []operate.QueuedCase{{CaseUUID: caseID, TaskUUID: taskID, Namespace: "default", TaskName: "import",
		Priority:      tasker.High,
		OriginalState: tasker.TaskStepsInProcess, CurrentState: tasker.TaskError, Reason: tasker.ReasonStaleness,
		OpenedAt: noon, MinutesInDLQ: 65.5, PriorityScore: 165.5}}, f.note(filter)
}

func (f *fake) Staleness(_ context.Context, filter operate.StalenessFilter) ([]operate.StaleTask, error) {
	return []operate.StaleTask{{TaskUUID: taskID, Namespace: "default", TaskName: "import",
		CurrentState:       tasker.TaskWaitingForRetry,
		TimeInStateMinutes: 25, StalenessThresholdMinutes: 30, ThresholdSource: operate.ThresholdOfAll,
		Health: operate.Warning, Priority: tasker.Low}}, f.note(filter)
}

func (f *fake) DetectStaleness(_ context.Context, req operate.DetectRequest) ([]operate.Detection, error) {
	return []operate.Detection{{TaskUUID: taskID, Namespace: "default", TaskName: "import",
		CurrentState:       tasker.TaskStepsInProcess,
		TimeInStateMinutes: 65, ThresholdMinutes: 60, ActionTaken: operate.WouldTransition}}, f.note(req)
}

func (f *fake) Audit(ctx context.Context, filter operate.AuditFilter) ([]operate.AuditRecord, error) {
	for _, id := range []uuid.UUID{filter.TaskUUID, filter.CaseUUID} {
		if id != uuid.Nil && outside(ctx, id) != nil {
			return nil, nil
		}
	}
	err := f.note(filter)
	known := filter.TaskUUID == uuid.Nil || filter.TaskUUID == taskID
	knownCase := filter.CaseUUID == uuid.Nil || filter.CaseUUID == caseID
	if err != nil || !known || !knownCase || filter.Below > 0 {
		return nil, err
	}
	return []operate.AuditRecord{{No: 9, At: noon.Add(time.Second), Kind: "update_case", Actor: "ann",
		Authenticated: operate.AuthenticatedByKey, KeyName: "ops",
		Reason: "fixed", TaskUUID: taskID,
		StepUUID: &stepID, CaseUUID: &caseID, Before: "pending", After: "manually_resolved",
		Data: json.RawMessage(`{"root_cause":"disk"}`)}}, nil
}

func (f *fake) AuditChain(_ context.Context, filter operate.AuditChainFilter) (*operate.AuditChain, error) {
	err := f.note(filter)
	if err != nil {
		return nil, err
	}
	return &operate.AuditChain{
		Archives: []operate.AuditArchive{{Seq: 8, Head: "8-" + strings.Repeat("0a", 32), At: noon, Acts: 8}},
		Links: []operate.AuditLink{{Seq: 9, ActNo: 9, SealedAt: noon, Content: strings.Repeat("0b", 32),
			Hash: strings.Repeat("0c", 32), Act: &operate.AuditRecord{No: 9, At: noon, Kind: "cancel", Actor: "ann",
				Authenticated: operate.NotAuthenticated}}},
	}, nil
}

func (f *fake) LooseActs(_ context.Context, above int64) (*operate.LooseActs, error) {
	err := f.note(above)
	if err != nil {
		return nil, err
	}
	return &operate.LooseActs{Acts: []operate.LooseAct{{No: 3, State: operate.ActRemoved},
		{No: 4, State: operate.ActInserted}, {No: 10, State: operate.ActWaiting}}, Next: 10}, nil
}

func (f *fake) TemplateStats(_ context.Context, filter operate.TemplateStatsFilter) (*operate.TemplateStats, error) {
	spread := &operate.Spread{P50: 0.5, P95: 2, Max: 3}
	return &operate.TemplateStats{Namespace: filter.Namespace, Name: filter.Name, Version: filter.Version, Tasks: 2,
		Complete: 1, Failed: 1, Took: spread, Steps: []operate.StepStats{{Name: "load", Begun: 2, Complete: 1, Failed: 1,
			Attempts: 2, FailedAttempts: 1, FailureRate: 0.5, Ran: spread, Waited: spread}}}, f.note(filter)
}
