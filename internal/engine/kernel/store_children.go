package kernel

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Child is a child of a step: the task for the item of an index.
type Child struct {
	Step  task.ID
	Index int
	Task  task.ID // zero if the submission failed
	// Counted is the state that the fan-out has counted.
	State, Counted task.ChildState
	// Fresh: the fan-out has yet to count State.
	Fresh bool
	// Result is that of a done child, if its step uses results; Size its length, even without Result.
	Result []byte
	Size   int
	// Note is the reason of a failed submission.
	Note string
}

// ChildMark is a child's new state.
type ChildMark struct {
	Task  task.ID
	State task.ChildState
	// Result is that of a done child with one step, if its parent uses it. Others are read later.
	Result []byte
}

// ChildRows keeps children of steps, and each step's progress through them (its fan-out).
//
// A transaction locks a fan-out to change it. A child's own transaction only changes the child's row and marks it as
// fresh, so thousands of children may end concurrently. A later transaction counts fresh ones: see
// Engine.AdvanceChildren.
type ChildRows interface {
	// Fan-outs.

	// WakeFanOuts marks fan-outs as fresh, adding missing ones without a list. Their Rev increases, which invalidates
	// plans.
	WakeFanOuts(ctx context.Context, tx Tx, steps []*task.Step) error
	// FanOutsIn returns fan-outs, locked, in any order.
	FanOutsIn(ctx context.Context, tx Tx, steps []task.ID) ([]*task.FanOut, error)
	SaveFanOuts(ctx context.Context, tx Tx, of []*task.FanOut) error
	// AddItems adds the list of items of a step, in windows of ItemWindow: JSON lists.
	AddItems(ctx context.Context, tx Tx, step task.ID, windows [][]byte) error

	// Children.

	// SaveChildren stores new and known children. A nil Result keeps a known child's.
	SaveChildren(ctx context.Context, tx Tx, children []Child) error
	// MarkChildren sets states and results by task, and marks the children as fresh. It ignores unknown tasks.
	MarkChildren(ctx context.Context, tx Tx, marks []ChildMark) error
	// LockFresh returns up to limit fresh children of a step by index, without results, locked; it skips locked rows.
	LockFresh(ctx context.Context, tx Tx, step task.ID, limit int) ([]Child, error)
}

// ChildReads reads a committed state.
type ChildReads interface {
	// DueFanOuts returns up to limit fan-outs that are or have fresh rows, in any order.
	DueFanOuts(ctx context.Context, limit int) ([]*task.FanOut, error)
	// FanOuts returns existing fan-outs, in any order.
	FanOuts(ctx context.Context, steps []task.ID) ([]*task.FanOut, error)
	// FreshChildren returns up to limit fresh children of a step by index, without results.
	FreshChildren(ctx context.Context, step task.ID, limit int) ([]Child, error)
	// ListChildren returns up to limit children of a step by index.
	ListChildren(ctx context.Context, step task.ID, f ChildFilter) ([]Child, error)
	ItemWindow(ctx context.Context, step task.ID, window int) ([]byte, error)
}

// ChildFilter selects children of a step.
type ChildFilter struct {
	States  []task.ChildState // nil: all
	From    int
	Limit   int
	Results bool
}

// ItemWindow is the number of items stored together, and of children submitted in one transaction at most.
const ItemWindow = 100

// ChildStore combines ChildRows and ChildReads.
type ChildStore interface {
	ChildRows
	ChildReads
}
