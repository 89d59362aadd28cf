package kernel

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// WaitStore keeps a row for each waiting step of task.WaitKinds until its wait ends.
//
// A simultaneous signal and wait lock nothing and may miss each other. Both are stored as fresh, and looked at again
// after the commit: the later look sees both.
type WaitStore interface {
	// ChangeWaits replaces the waits of some steps and deletes those of others.
	ChangeWaits(ctx context.Context, tx Tx, put []task.StepWait, drop []task.ID) error
	// WaitsOf returns waits in any order.
	WaitsOf(ctx context.Context, tx Tx, steps []task.ID) ([]task.StepWait, error)
	// FreshWaits returns up to limit fresh waits, earliest first, each with the first kept signal that it takes, if
	// any.
	FreshWaits(ctx context.Context, tx Tx, limit int) ([]SignalMatch, error)
	// Awaited returns up to limit steps that wait for signals, in the order of the signals. Each has the first kept
	// signal that it takes: a new wait may not have an earlier one yet.
	Awaited(ctx context.Context, tx Tx, signals []task.Signal, limit int) ([]SignalMatch, error)
	// SignalFor returns a waiting step with its first kept signal; without an ID for none.
	SignalFor(ctx context.Context, tx Tx, step task.ID) (SignalMatch, error)
	// MarkWaitsKnown ends the freshness of waits that began at these times.
	MarkWaitsKnown(ctx context.Context, tx Tx, waits []SignalMatch) error

	WaitReads
}

// WaitReads reads a committed state.
type WaitReads interface {
	FindWaits(ctx context.Context, steps []task.ID) ([]task.StepWait, error)
	// ListWaits returns a page of one kind, earliest first.
	ListWaits(ctx context.Context, f WaitFilter) ([]task.StepWait, error)
	CountWaits(ctx context.Context, limit int) (map[task.WaitKind]int, error)
	AnyFresh(ctx context.Context) (bool, error)
}

// SignalMatch is a waiting step, and a signal for it.
type SignalMatch struct {
	Step   task.ID
	At     task.Instant    // when the wait began
	Signal task.SignalName // ID "" for none
}

// SignalStore keeps signals.
type SignalStore interface {
	// AddSignal stores a signal, or returns the kept one with its ID, without payload. It replaces one that had
	// expired by the new one's reception.
	AddSignal(ctx context.Context, tx Tx, s *task.Signal) (existing *task.Signal, err error)
	// FreshSignals returns up to limit fresh signals in order, without payloads.
	FreshSignals(ctx context.Context, tx Tx, limit int) ([]task.Signal, error)
	// SignalsNamed returns existing signals with payloads, in any order.
	SignalsNamed(ctx context.Context, tx Tx, names []task.SignalName) ([]task.Signal, error)
	// MarkSignals requires distinct signals.
	MarkSignals(ctx context.Context, tx Tx, marks []SignalMark) error
	// DropSignals deletes up to limit signals that expired before a time, except fresh ones, and those that a fresh
	// wait takes.
	DropSignals(ctx context.Context, tx Tx, before task.Instant, limit int) (int, error)

	// Reads of a committed state.

	// FindSignal returns a signal without its payload, or nil.
	FindSignal(ctx context.Context, name task.SignalName) (*task.Signal, error)
	// CountSignals counts up to limit signals of a namespace that expire after a time.
	CountSignals(ctx context.Context, namespace string, at task.Instant, limit int) (int, error)
	// ListSignals returns a page without payloads, the first to expire first.
	ListSignals(ctx context.Context, f SignalFilter) ([]task.Signal, error)
}

// SignalFilter selects signals. Zero fields match all.
type SignalFilter struct {
	Namespaces []string
	Name       string
	Key        string
	Kept       task.Instant // they expire later
	Since      task.Instant // inclusive time of reception
	Until      task.Instant // exclusive
	Untaken    bool
	After      SignalPosition // exclusive
	Limit      int
}

// SignalPosition is a place in the list of signals.
type SignalPosition struct {
	ExpiresAt task.Instant
	task.SignalName
}

// SignalMark is a change of a signal: further steps have taken it, or all steps waiting at its arrival have.
type SignalMark struct {
	task.SignalName
	Taken int64
	Known bool
}

// WaitFilter selects waits of one kind. Zero fields match all.
type WaitFilter struct {
	Kind       task.WaitKind
	Namespaces []string
	Template   string
	StepName   string
	Task       task.ID
	Since      task.Instant // inclusive time of the beginning
	Until      task.Instant // exclusive
	After      WaitPosition // exclusive
	Limit      int
}

// WaitPosition is a place in the list of waits.
type WaitPosition struct {
	At   task.Instant
	Step task.ID
}

// SignalSlack keeps a signal longer for a step that began to wait in time and is looked at late.
const SignalSlack = time.Hour
