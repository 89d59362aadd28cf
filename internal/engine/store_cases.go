package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// CaseStore stores cases. A method that takes a Tx is part of that transaction.
type CaseStore interface {
	CaseRows
	CaseReader
	CaseCounter
	CaseRetention
	Evidences
}

// CaseRows are the cases of tasks in a transaction. A change of a case loads its task before the case, and saves the
// task too; so cases need no locks.
type CaseRows interface {
	// AddCases stores new cases. One whose task has a pending case is left out.
	AddCases(ctx context.Context, tx Tx, cases []*task.Case) error
	// Case returns a case without its snapshot and the details of the failure, or nil.
	Case(ctx context.Context, tx Tx, id task.ID) (*task.Case, error)
	// PendingCases returns the pending cases of tasks as Case does, in any order.
	PendingCases(ctx context.Context, tx Tx, tasks []task.ID) ([]*task.Case, error)
	// CasesOf returns all cases of tasks as Case does, in any order.
	CasesOf(ctx context.Context, tx Tx, tasks []task.ID) ([]*task.Case, error)
	// SaveCases stores the fields of cases that an investigation can change, and the notes of their threads that are
	// not stored yet.
	SaveCases(ctx context.Context, tx Tx, cases []*task.Case) error
	// RecurCases stores the latest occurrences of pending cases, whole. The previous latest occurrence of each becomes
	// a former one, and those beyond the bounds are dropped (see task.KeptOccurrences).
	RecurCases(ctx context.Context, tx Tx, cases []*task.Case) error
}

// CaseReader answers queries about cases from a committed state.
type CaseReader interface {
	// FindCase returns a whole case: with its snapshot, former occurrences and thread; or nil.
	FindCase(ctx context.Context, id task.ID) (*task.Case, error)
	// LastCase returns the case of a task that was opened last, whole; or nil.
	LastCase(ctx context.Context, of task.ID) (*task.Case, error)
	// ListCases returns a page without snapshots, former occurrences and threads, newest first.
	ListCases(ctx context.Context, f CaseFilter) ([]*task.Case, error)
	// UrgentCases returns a page of pending cases without snapshots, the most urgent first: ordered by the time of
	// opening, where the base of a case's reason counts as minutes that it has been open longer; then by ID. f.Status
	// is ignored.
	UrgentCases(ctx context.Context, f CaseFilter, bases settings.PriorityBases) ([]*task.Case, error)
}

// CaseCounter counts cases.
type CaseCounter interface {
	// CountCases counts cases by reason and resolution.
	CountCases(ctx context.Context, f CaseFilter) ([]CaseCount, error)
	// SizeOf counts the cases that match a filter, up to a limit.
	SizeOf(ctx context.Context, f CaseFilter, limit int) (int, error)
	// CountFailures counts cases opened at or after a time by namespace, reason and, on request, fingerprint; up to
	// limit groups, the most frequent first, then in the order of their names.
	CountFailures(ctx context.Context, since task.Instant, byFingerprint bool, limit int) ([]FailureCount, error)
}

// CaseRetention deletes old cases.
type CaseRetention interface {
	// ResolvedCases returns up to limit cases that were resolved before a time, the earliest first, as Case does.
	ResolvedCases(ctx context.Context, before task.Instant, limit int) ([]*task.Case, error)
	// DeleteCases deletes cases. The caller must update their tasks too.
	DeleteCases(ctx context.Context, tx Tx, ids []task.ID) error
}

// Evidences reads the data for cases that is stored with tasks.
type Evidences interface {
	// Evidence returns the data that a snapshot needs of tasks in addition to their rows.
	Evidence(ctx context.Context, tx Tx, tasks []task.ID) (map[task.ID]Evidence, error)
	// ChargedAttempts returns the charged attempts of the steps of tasks, in any order and without their failures.
	ChargedAttempts(ctx context.Context, tx Tx, tasks []task.ID) ([]task.Attempt, error)
	// AttemptsSinceReset returns the attempts of the steps of tasks that ended after the last act of task.ResetActs on the
	// step. Those of a step are in the order of their ends, and without their failures.
	AttemptsSinceReset(ctx context.Context, tx Tx, tasks []task.ID) ([]task.Attempt, error)
	// WorkerName returns the name of a worker; "" if there is none of that number.
	WorkerName(ctx context.Context, tx Tx, no int64) (string, error)
	// LastFailures returns the last failed attempt of each task, in any order; where a Stop names a step that has
	// failed, that of the step.
	LastFailures(ctx context.Context, of []Stop) ([]task.Attempt, error)
}

// Evidence is what is stored about a task apart from its row and its steps.
type Evidence struct {
	Context []byte // JSON, nil when there is none
	// Failures are the last failed attempts of its steps, at most one each.
	Failures []task.Attempt
}

// Stop is what stopped a task: one of its steps by ordinal, 0 where it is not known.
type Stop struct {
	Task task.ID
	Step int
}

// CaseFilter selects cases. Zero fields do not restrict.
type CaseFilter struct {
	// IDs are those of the cases; empty does not restrict.
	IDs       []task.ID
	Status    task.Resolution
	Reason    task.CaseReason
	Namespace string
	TaskName  string
	After     task.Instant // opened at or after
	Before    task.Instant // opened before
	// Step is the name of the step whose failure stops the task, Handler its handler, and Message a part of the
	// failure's message. They are searched among the newest, or most urgent, CaseWindow cases that match the rest of
	// the filter.
	Step    string
	Handler string
	Message string
	// State is the current state of the task.
	State task.State
	// InError selects only cases whose tasks are in error now.
	InError bool
	// Fingerprint is that of the failure; Retryable is whether a retry may help.
	Fingerprint string
	Retryable   *bool
	Below       task.ID // of the case, exclusive; zero starts at the newest
	Limit       int
	Offset      int
	// Bytes bounds the total metadata of a page: metadata beyond it is left out, and marked. Small metadata
	// (SmallDocument) is always included, as is that of a page of one case. 0: no bound; below 0 all metadata that is
	// not small is left out.
	Bytes int
}

// SmallDocument is the number of characters of JSON that a row of any list may have.
const SmallDocument = 2048

// CaseWindow bounds the cases searched by fields without an index.
const CaseWindow = 20_000

// CaseCount counts the cases of one reason and one resolution.
type CaseCount struct {
	Reason         task.CaseReason
	Status         task.Resolution
	Cases          int
	Oldest, Newest task.Instant // when they were opened
	// OpenFor is the total time that resolved cases were open, in microseconds.
	OpenFor int64
}
