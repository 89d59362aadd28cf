package operate

import (
	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// BulkCaseUpdate applies the same update to many cases. A refusal does not stop the others; several items share a
// transaction.
type BulkCaseUpdate struct {
	Filter CaseFilter `json:"filter" doc:"Selects the cases, by default pending ones. Must not be empty."`
	Update CaseUpdate `json:"update"`
	BulkPage
}

// BulkStepAction performs the same act on the failed steps of the tasks of many cases.
type BulkStepAction struct {
	Filter CaseFilter `json:"filter" doc:"Selects the cases, by default pending ones. Must not be empty."`
	// Step names the step to act on, in any state. Defaults to all failed steps.
	Step   string            `json:"act_on_step,omitempty" doc:"Name of the step to act on, in any state. Defaults to all failed steps." maxLength:"255"`
	Action tasker.StepAction `json:"action"`
	BulkPage
}

// BulkPage bounds the part of a bulk request that one call performs.
type BulkPage struct {
	DryRun bool   `json:"dry_run,omitempty" doc:"Show what would be done without changing anything."`
	Limit  int    `json:"limit,omitempty" doc:"Maximum number of cases. Defaults to 100, or to all cases that the filter names." minimum:"1" maximum:"1000"`
	Cursor string `json:"cursor,omitempty" doc:"next_cursor of the previous request." maxLength:"64"`
}

// BulkResult is the response to a bulk request. Succeeded and Failed count the items of this
// response only.
type BulkResult struct {
	DryRun    bool       `json:"dry_run,omitempty"`
	Succeeded int        `json:"succeeded"`
	Failed    int        `json:"failed"`
	Results   []BulkItem `json:"results"`
	// NextCursor is the start of the next page; "" marks the end.
	NextCursor string `json:"next_cursor,omitempty"`
	// Error is the reason of an early stop. The acts in Results are done.
	Error *tasker.Error `json:"error,omitempty" doc:"Reason for an early stop; the acts in results are done."`
}

// BulkItem is the outcome for one case, or for one step of its task.
type BulkItem struct {
	CaseUUID uuid.UUID     `json:"dlq_entry_uuid"`
	TaskUUID *uuid.UUID    `json:"task_uuid,omitempty"`
	StepUUID *uuid.UUID    `json:"step_uuid,omitempty"`
	StepName string        `json:"step_name,omitempty"`
	Before   string        `json:"before,omitempty" doc:"Resolution status of the case, or state of the step."`
	After    string        `json:"after,omitempty" doc:"In a dry run, the expected value."`
	Error    *tasker.Error `json:"error,omitempty" doc:"The item was refused and not changed."`
}
