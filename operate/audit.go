package operate

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// AuditFilter selects acts. A zero field does not restrict, and all set fields must match. Read a long trail page by
// page: newest first, and Below is the No of the last record of the previous page.
type AuditFilter struct {
	TaskUUID  uuid.UUID `query:"task_uuid" doc:"Task, including its steps and cases."`
	CaseUUID  uuid.UUID `query:"dlq_entry_uuid" doc:"Case."`
	WorkerID  uuid.UUID `query:"worker_id" doc:"Worker."`
	Namespace string    `query:"namespace" maxLength:"255" doc:"Namespace of the task or template."`
	Template  string    `query:"template" maxLength:"255" doc:"Name of the task (template or task type); includes registrations of the template."`
	Actor     string    `query:"actor" maxLength:"255" doc:"Actor, as claimed."`
	// KeyName and Actor differ: the key was checked, the actor is the request's claim.
	KeyName string    `query:"key_name" maxLength:"255" doc:"Name of the API key of the request."`
	Kind    string    `query:"kind" maxLength:"64" pattern:"^[a-z_]*$" doc:"Kind of act, such as cancel or merge_groups."`
	After   time.Time `query:"after" doc:"Done at or after this time."`
	Before  time.Time `query:"before" doc:"Done before this time."`
	Limit   int       `query:"limit" minimum:"1" maximum:"1000" default:"50" doc:"Page size."`
	Below   int64     `query:"below" minimum:"1" doc:"Continue below this number: the smallest no of the previous page."`
}

// AuditRecord is one act on a task, a step, a case, a worker or a template. The audit trail only grows: a record
// outlives its object.
type AuditRecord struct {
	No            int64           `json:"no"` // grows with every act
	At            time.Time       `json:"at"`
	Kind          string          `json:"kind"` // cancel, reset_for_retry, open_case, drain_worker, register_template ...
	Actor         string          `json:"actor" doc:"The claimed name."`
	Authenticated Authentication  `json:"authenticated" enum:"key,none,system,unknown" doc:"How the actor was authenticated: by the API key key_name; not at all, on a server without keys or in process; as Tasker itself; or unknown, because the act is older than this field or a database function stored it."`
	KeyName       string          `json:"key_name,omitempty" doc:"Name of the API key of the request."`
	Reason        string          `json:"reason,omitempty"`
	TaskUUID      uuid.UUID       `json:"task_uuid,omitzero" doc:"Absent when the act is not about a task. The task may have been deleted."`
	StepUUID      *uuid.UUID      `json:"step_uuid,omitempty"`
	CaseUUID      *uuid.UUID      `json:"dlq_entry_uuid,omitempty"`
	WorkerID      *uuid.UUID      `json:"worker_id,omitempty"`
	Namespace     string          `json:"namespace,omitempty" doc:"Namespace of the task or template."`
	Template      string          `json:"template,omitempty" doc:"Name of the task (template or task type) or of the registered template."`
	Before        string          `json:"before"` // state
	After         string          `json:"after"`
	Data          json.RawMessage `json:"data,omitempty"` // the operator's input
	DataOmitted   bool            `json:"data_omitted,omitempty" doc:"The data was omitted because the page would be too long; request a page with only this record."`
	DataMasked    bool            `json:"data_masked,omitempty" doc:"Sensitive values of the data are masked; the hash of the act cannot be computed from what is left."`
	// Damage is why a damaged part of the stored row is left out; usually "".
	Damage string `json:"damage,omitempty" doc:"Reason why a part of the stored data cannot be shown; that part is omitted."`
}

// Authentication is how the actor of an act was identified.
type Authentication string

// The ways to identify an actor.
const (
	AuthenticatedByKey Authentication = "key"
	NotAuthenticated   Authentication = "none"   // no key was needed
	ActOfSystem        Authentication = "system" // Tasker's own act
	AuthenticationLost Authentication = "unknown"
)
