package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Child is a child of a step: the task that carries out the item of an index.
type Child struct {
	Step  task.ID
	Index int
	Task  task.ID // zero for a child that could not be submitted
	// State follows the task; Counted is the state that its fan-out has counted.
	State, Counted task.ChildState
	// Fresh: the fan-out has yet to count State.
	Fresh bool
	// Result is that of a child that is done, if its step wants results; Size is its length, also where Result is left
	// out.
	Result []byte
	Size   int
	// Note says why the child could not be submitted.
	Note string
}

// ChildMark is the change of the state of a child with its task.
type ChildMark struct {
	Task  task.ID
	State task.ChildState
	// Result is that of a done child with one step, if its parent wants it. Those of others are read later.
	Result []byte
}

// ChildRows keeps the children of steps, and the progress of each step through them (its fan-out).
//
// A fan-out is changed only by a transaction that has locked it. A child's own transaction changes only the row
// of the child, and marks it as fresh; so thousands of children may end at once without waiting for each other. A later
// transaction counts what is fresh: see Engine.AdvanceChildren.
type ChildRows interface {
	// Fan-outs.

	// WakeFanOuts marks the fan-outs of steps as fresh; it adds those that do not exist, without a list. What was planned
	// for the others before does not hold any more: their Rev increases.
	WakeFanOuts(ctx context.Context, tx Tx, steps []*task.Step) error
	// FanOutsIn returns the fan-outs of steps, locked, in any order.
	FanOutsIn(ctx context.Context, tx Tx, steps []task.ID) ([]*task.FanOut, error)
	// SaveFanOuts stores fan-outs that exist.
	SaveFanOuts(ctx context.Context, tx Tx, of []*task.FanOut) error
	// AddItems adds the list of items of a step, in windows of ItemWindow: JSON lists.
	AddItems(ctx context.Context, tx Tx, step task.ID, windows [][]byte) error

	// Children.

	// SaveChildren stores children, new and known ones. A nil Result leaves that of a known child as it is.
	SaveChildren(ctx context.Context, tx Tx, children []Child) error
	// MarkChildren sets the states and results of children by their tasks, and marks them as fresh. Unknown tasks are
	// ignored.
	MarkChildren(ctx context.Context, tx Tx, marks []ChildMark) error
	// LockFresh returns up to limit fresh children of a step by index, without their results, locked; it skips those
	// that another transaction is changing.
	LockFresh(ctx context.Context, tx Tx, step task.ID, limit int) ([]Child, error)
}

// ChildReads reads a committed state.
type ChildReads interface {
	// DueFanOuts returns up to limit fan-outs that are fresh, or have fresh children, in any order.
	DueFanOuts(ctx context.Context, limit int) ([]*task.FanOut, error)
	// FanOuts returns those fan-outs of steps that exist, in any order.
	FanOuts(ctx context.Context, steps []task.ID) ([]*task.FanOut, error)
	// FreshChildren returns up to limit fresh children of a step by index, without their results.
	FreshChildren(ctx context.Context, step task.ID, limit int) ([]Child, error)
	// ListChildren returns up to limit children of a step by index, from an index on; only those in one of the states,
	// if there are any. Results are included on demand.
	ListChildren(ctx context.Context, step task.ID, f ChildFilter) ([]Child, error)
	// ItemWindow returns a window of the list of items of a step, nil for one that does not exist.
	ItemWindow(ctx context.Context, step task.ID, window int) ([]byte, error)
}

// ChildFilter selects children of a step.
type ChildFilter struct {
	States  []task.ChildState // nil: all
	From    int               // the lowest index
	Limit   int
	Results bool
}

// ItemWindow is the number of items that are stored together, and the largest number of children that one transaction
// submits.
const ItemWindow = 100

// ChildStore is both.
type ChildStore interface {
	ChildRows
	ChildReads
}
