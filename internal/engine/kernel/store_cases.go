package kernel

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// CaseStore stores cases.
type CaseStore interface {
	CaseRows
	CaseReader
	CaseCounter
	CaseRetention
	Evidences
}

// CaseRows are cases in a transaction. A change loads and saves the task too, so cases need no locks.
type CaseRows interface {
	// AddCases leaves out a case whose task has a pending one.
	AddCases(ctx context.Context, tx Tx, cases []*task.Case) error
	// Case returns a case without its snapshot and the failure's details, or nil.
	Case(ctx context.Context, tx Tx, id task.ID) (*task.Case, error)
	// PendingCases returns cases as Case does, in any order.
	PendingCases(ctx context.Context, tx Tx, tasks []task.ID) ([]*task.Case, error)
	// CasesOf returns cases as Case does, in any order.
	CasesOf(ctx context.Context, tx Tx, tasks []task.ID) ([]*task.Case, error)
	// SaveCases stores changeable fields, and new notes of the threads.
	SaveCases(ctx context.Context, tx Tx, cases []*task.Case) error
	// RecurCases stores the latest occurrences of pending cases, whole. Previous latest ones become former ones, at
	// most task.KeptOccurrences.
	RecurCases(ctx context.Context, tx Tx, cases []*task.Case) error
}

// CaseReader answers queries about cases from a committed state.
type CaseReader interface {
	// FindCase returns a case with its snapshot, former occurrences and thread; or nil.
	FindCase(ctx context.Context, id task.ID) (*task.Case, error)
	// LastCase returns a task's newest case, whole; or nil.
	LastCase(ctx context.Context, of task.ID) (*task.Case, error)
	// ListCases returns a page without snapshots, former occurrences and threads, newest first.
	ListCases(ctx context.Context, f CaseFilter) ([]*task.Case, error)
	// UrgentCases returns a page of pending cases without snapshots, by the time of opening less the base of the
	// reason in minutes; then by ID. It ignores f.Status.
	UrgentCases(ctx context.Context, f CaseFilter, bases settings.PriorityBases) ([]*task.Case, error)
}

// CaseCounter counts cases.
type CaseCounter interface {
	CountCases(ctx context.Context, f CaseFilter) ([]CaseCount, error)
	SizeOf(ctx context.Context, f CaseFilter, limit int) (int, error)
	// CountFailures counts cases opened since a time by namespace, reason and, on request, fingerprint; up to limit
	// groups, most frequent first, then by name.
	CountFailures(ctx context.Context, since task.Instant, byFingerprint bool, limit int) ([]FailureCount, error)
}

// CaseRetention deletes old cases.
type CaseRetention interface {
	// ResolvedCases returns up to limit cases resolved before a time, earliest first, like Case.
	ResolvedCases(ctx context.Context, before task.Instant, limit int) ([]*task.Case, error)
	// DeleteCases leaves the tasks to the caller.
	DeleteCases(ctx context.Context, tx Tx, ids []task.ID) error
}

// Evidences reads data for cases that is stored with tasks.
type Evidences interface {
	// Evidence returns a snapshot's data besides the rows of the tasks.
	Evidence(ctx context.Context, tx Tx, tasks []task.ID) (map[task.ID]Evidence, error)
	// ChargedAttempts returns attempts without failures, in any order.
	ChargedAttempts(ctx context.Context, tx Tx, tasks []task.ID) ([]task.Attempt, error)
	// AttemptsSinceReset returns the attempts of steps that ended after the step's last act of task.ResetActs, by end
	// for each step, without failures.
	AttemptsSinceReset(ctx context.Context, tx Tx, tasks []task.ID) ([]task.Attempt, error)
	// WorkerName returns "" for an unknown worker.
	WorkerName(ctx context.Context, tx Tx, no int64) (string, error)
	// LastFailures returns the last failed attempt of each task, or of the failed step that a Stop names, in any
	// order.
	LastFailures(ctx context.Context, of []Stop) ([]task.Attempt, error)
}

// Evidence is the stored data of a task besides its row and its steps.
type Evidence struct {
	Context []byte // JSON or nil
	// Failures has the last failed attempt of each step.
	Failures []task.Attempt
}

// Stop is the step, by ordinal, that stopped a task; 0: not known.
type Stop struct {
	Task task.ID
	Step int
}

// CaseFilter selects cases. Zero fields match all.
type CaseFilter struct {
	IDs       []task.ID
	Status    task.Resolution
	Reason    task.CaseReason
	Namespace string
	TaskName  string
	After     task.Instant
	Before    task.Instant
	// Step is the name of the failed step that stops the task, Handler its handler, and Message a part of the
	// failure's message. They search the first CaseWindow cases that match the rest.
	Step    string
	Handler string
	Message string
	State   task.State
	InError bool
	// Fingerprint is that of the failure; Retryable whether a retry may help.
	Fingerprint string
	Retryable   *bool
	Below       task.ID // exclusive; zero: the newest
	Limit       int
	Offset      int
	// Bytes bounds the metadata of a page: more is left out, and marked. Small metadata (SmallDocument) and a single
	// case's is always included. 0: no bound; below 0: only small metadata.
	Bytes int
}

// SmallDocument bounds the characters of JSON in a row of any list.
const SmallDocument = 2048

// CaseWindow bounds the cases searched by fields without an index.
const CaseWindow = 20_000

// CaseCount counts the cases of one reason and resolution.
type CaseCount struct {
	Reason         task.CaseReason
	Status         task.Resolution
	Cases          int
	Oldest, Newest task.Instant
	// OpenFor is how long resolved cases were open in total, in microseconds.
	OpenFor int64
}

// FailureCount counts cases of one namespace, reason and fingerprint, opened within the window.
type FailureCount struct {
	Namespace   string          `json:"namespace"`
	Reason      task.CaseReason `json:"reason"`
	Fingerprint string          `json:"error,omitempty"`
	Cases       int             `json:"cases"`
	Replayable  int             `json:"replayable,omitempty"` // pending, in error now, and a retry may help
	First       task.Instant    `json:"first"`
	Last        task.Instant    `json:"last"`
	// New: no analysis of the last 30 days had it.
	New bool `json:"new,omitempty"`
}
