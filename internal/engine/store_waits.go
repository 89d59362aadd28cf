package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// WaitStore keeps a row for each waiting step of a kind of task.WaitKinds, which ends with the wait.
//
// A signal and a step that begins to wait at the same moment may not see each other: neither locks anything. Both are
// therefore stored as fresh, and looked at again after the commit. Anyone who looks later sees the other.
type WaitStore interface {
	// ChangeWaits adds waits, instead of earlier ones of their steps, and deletes those of other steps.
	ChangeWaits(ctx context.Context, tx Tx, put []task.StepWait, drop []task.ID) error
	// WaitsOf returns the waits of steps, in no promised order.
	WaitsOf(ctx context.Context, tx Tx, steps []task.ID) ([]task.StepWait, error)
	// FreshWaits returns up to limit fresh waits, the earliest first, each with the first kept signal that it takes, if
	// there is one.
	FreshWaits(ctx context.Context, tx Tx, limit int) ([]SignalMatch, error)
	// Awaited returns up to limit steps that wait for the names and keys of signals, in the order of the signals. Each
	// comes with the first kept signal that it takes: a step that has just begun to wait may not have an earlier one yet.
	Awaited(ctx context.Context, tx Tx, signals []task.Signal, limit int) ([]SignalMatch, error)
	// SignalFor returns a step that waits for a signal with the first kept one that it takes; without an ID for none.
	SignalFor(ctx context.Context, tx Tx, step task.ID) (SignalMatch, error)
	// MarkWaitsKnown ends that waits are fresh that began at these times.
	MarkWaitsKnown(ctx context.Context, tx Tx, waits []SignalMatch) error

	WaitReads
}

// WaitReads are the reads of WaitStore of a committed state.
type WaitReads interface {
	// FindWaits is WaitsOf.
	FindWaits(ctx context.Context, steps []task.ID) ([]task.StepWait, error)
	// ListWaits returns a page of the waits of a kind, the earliest first.
	ListWaits(ctx context.Context, f WaitFilter) ([]task.StepWait, error)
	// CountWaits counts the waits of each kind, up to limit each.
	CountWaits(ctx context.Context, limit int) (map[task.WaitKind]int, error)
	// AnyFresh reports whether there is a fresh wait, or a fresh signal.
	AnyFresh(ctx context.Context) (bool, error)
}

// SignalMatch is a waiting step, and a signal for it.
type SignalMatch struct {
	Step   task.ID
	At     task.Instant    // when it began to wait
	Signal task.SignalName // with the ID "" for none
}

// SignalStore keeps signals.
type SignalStore interface {
	// AddSignal stores a signal, unless the namespace keeps one with its ID: then it returns that one, without its
	// payload. One that had expired when the new one was received is replaced.
	AddSignal(ctx context.Context, tx Tx, s *task.Signal) (existing *task.Signal, err error)
	// FreshSignals returns up to limit fresh signals, the first first, without their payloads.
	FreshSignals(ctx context.Context, tx Tx, limit int) ([]task.Signal, error)
	// SignalsNamed returns signals with their payloads, in no promised order. Those that do not exist are left out.
	SignalsNamed(ctx context.Context, tx Tx, names []task.SignalName) ([]task.Signal, error)
	// MarkSignals changes signals, each named once.
	MarkSignals(ctx context.Context, tx Tx, marks []SignalMark) error
	// DropSignals deletes up to limit signals that expired before a time, and returns how many. It leaves those that are
	// fresh, and those that a fresh wait takes.
	DropSignals(ctx context.Context, tx Tx, before task.Instant, limit int) (int, error)

	// Reads of a committed state.

	// FindSignal returns a signal without its payload, or nil.
	FindSignal(ctx context.Context, name task.SignalName) (*task.Signal, error)
	// CountSignals counts the signals of a namespace that expire after a time, up to limit.
	CountSignals(ctx context.Context, namespace string, at task.Instant, limit int) (int, error)
	// ListSignals returns a page of signals without their payloads, the one that expires first comes first.
	ListSignals(ctx context.Context, f SignalFilter) ([]task.Signal, error)
}

// SignalFilter selects signals. Zero fields do not restrict.
type SignalFilter struct {
	Namespaces []string
	Name       string
	Key        string
	Kept       task.Instant   // they expire after that time
	Since      task.Instant   // received at that time or later
	Until      task.Instant   // received before that time
	Untaken    bool           // no step has taken them
	After      SignalPosition // exclusive
	Limit      int
}

// SignalPosition is a place in the list of signals.
type SignalPosition struct {
	ExpiresAt task.Instant
	task.SignalName
}

// SignalMark is a change of a signal: further steps have taken it, and every step has it that waited when it arrived.
type SignalMark struct {
	task.SignalName
	Taken int64
	Known bool
}

// WaitFilter selects waits of one kind. Zero fields do not restrict.
type WaitFilter struct {
	Kind       task.WaitKind
	Namespaces []string
	Template   string
	StepName   string
	Task       task.ID
	Since      task.Instant // began at that time or later
	Until      task.Instant // began before that time
	After      WaitPosition // exclusive
	Limit      int
}

// WaitPosition is a place in the list of waits.
type WaitPosition struct {
	At   task.Instant
	Step task.ID
}
