package tasker

import (
	"time"

	"github.com/google/uuid"
)

// Unique is a rule by which at most one of the tasks that do the same work is stored: tasks of one namespace and one
// template, or task type, whose chosen fields are equal. One of them guards their key; what becomes of a submission
// meanwhile is its own choice. See docs/guides/unique.md.
type Unique struct {
	// By are JSON pointers such as "/customer/id", or one of UniqueByAll, UniqueByTemplate and UniqueByNothing.
	By []string `json:"by,omitempty" doc:"JSON pointers to the fields of the context that make tasks equal; or alone all (the whole context, the default), template (nothing: one task of the template or type), none (no rule, although the template has one)." maxItems:"16"`
	// Period is a duration such as "90s" or "24h".
	Period string `json:"period,omitempty" doc:"How long a task guards its key at most: a duration from 1s to 720h. Defaults to no bound." maxLength:"32"`
	// While are phases of the task; UniqueWhileUnsettled must be one of them.
	While []string `json:"while,omitempty" doc:"Phases in which a task guards its key: unsettled (always), error, complete, resolved_manually; the last two only with a period. Defaults to unsettled and error or, with a period, to all." maxItems:"4"`
	// OnConflict is UniqueReturn, UniqueRefuse or UniqueReplace.
	OnConflict string `json:"on_conflict,omitempty" doc:"What becomes of this submission if another task guards the key: return answers with that task, refuse fails with conflict, replace cancels it if no step of it has begun, else returns it. Defaults to return." enum:"return,refuse,replace"`
}

// The words of Unique.By.
const (
	UniqueByAll      = "all"
	UniqueByTemplate = "template"
	UniqueByNothing  = "none"
)

// The phases of Unique.While.
const (
	UniqueWhileUnsettled        = "unsettled"
	UniqueWhileError            = "error"
	UniqueWhileComplete         = "complete"
	UniqueWhileResolvedManually = "resolved_manually"
)

// The values of Unique.OnConflict.
const (
	UniqueReturn  = "return"
	UniqueRefuse  = "refuse"
	UniqueReplace = "replace"
)

// UniqueMatch is what a unique key did to a submission.
type UniqueMatch struct {
	Outcome string `json:"outcome" doc:"returned: another task guards the key. refused: likewise, and the receipt has an error. replaced: the task is stored, and the one before it cancelled. superseded: a later submission of the same moment took its place before it was stored." enum:"returned,refused,replaced,superseded"`
	// Rule is for people.
	Rule  string     `json:"rule" doc:"Sentence that says which rule matched, and when the key is free."`
	Until *time.Time `json:"until,omitempty" doc:"End of the period of the task that guards the key."`
	// ReplacedTaskUUID is the task that was cancelled.
	ReplacedTaskUUID *uuid.UUID `json:"replaced_task_uuid,omitempty" doc:"Task that was cancelled, for the outcome replaced."`
}

// TaskUnique is the rule of uniqueness under which a task was stored.
type TaskUnique struct {
	By    []string   `json:"by" doc:"JSON pointers to the chosen fields of the context, or all or template."`
	While []string   `json:"while" doc:"Phases in which the task guards its key."`
	Until *time.Time `json:"until,omitempty" doc:"End of its period."`
	// Guards is set where a single task is read.
	Guards *bool `json:"guards,omitempty" doc:"Whether the task guards its key now. Not in lists."`
}
