package kernel

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/limit"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Gate is the place where a limit holds back the steps of one key.
type Gate struct {
	No        int64 // limit.Number of the next three
	Namespace string
	Name      string
	Key       string
	Permits   int // steps at once; 0 for a rate
	Rate      limit.Rate
	// Rev grows with every change of the limit: the highest is in force.
	Rev int64

	Bucket limit.Bucket // of a rate
	NextAt task.Instant // when to look again; 0: when signalled
	Freed  int          // freed permits in the taken signals
}

// Permit lets a step be past a gate.
type Permit struct {
	Gate int64
	Step task.ID
}

// GateRoom is how many steps may pass a gate.
type GateRoom struct {
	Gate  int64
	Steps int
}

// GateView is a gate with its parked steps.
type GateView struct {
	Gate
	Held    int // permits in use
	Waiting int // parked steps, bounded
}

// GateFilter selects gates. Zero fields match all.
type GateFilter struct {
	Namespace string
	Name      string
	Behind    int64 // No, exclusive
	Limit     int
	Counted   int // bound of the counted parked steps
}

// GateStore keeps the gates of limits, the permits of steps, and signals about changes.
//
// A transaction that stores a step at a gate, or frees a permit, only adds a signal, and does not touch the gate. The
// transaction that takes the signals locks their gates, and decides which steps pass.
type GateStore interface {
	GateRows
	GateReads
}

// Pass is a rate's count of a step.
type Pass struct {
	Permit
	Cost limit.Bucket // cost of one step
}

// GateRows changes gates in a transaction.
type GateRows interface {
	// Signal adds a signal for each gate. A gate without a Namespace exists already.
	Signal(ctx context.Context, tx Tx, gates []Gate) error
	// TakeSignals takes up to limit signals and adds up to as many gates due by now. It returns these gates by
	// number, locked; taken counts the signals. The highest Rev defines a gate.
	TakeSignals(ctx context.Context, tx Tx, now task.Instant, limit int) (gates []Gate, taken int, err error)
	SaveGates(ctx context.Context, tx Tx, gates []Gate) error

	// Passing.

	// FirstParked returns the first steps parked at each gate, up to its room. It skips locked steps.
	FirstParked(ctx context.Context, tx Tx, rooms []GateRoom) ([]Permit, error)
	// CountPasses counts the permits of rates, and freed ones with signals not taken yet, at one moment.
	CountPasses(ctx context.Context, tx Tx, gates []int64) (map[int64]int, error)
	// CountPermits leaves out gates without permits.
	CountPermits(ctx context.Context, tx Tx, gates []int64) (map[int64]int, error)

	// Permits.

	// AddPermits ignores existing permits.
	AddPermits(ctx context.Context, tx Tx, permits []Permit) error
	// FreePermits deletes the permits of steps, and signals their gates.
	FreePermits(ctx context.Context, tx Tx, steps []task.ID) error
	// FreePasses is FreePermits for rates.
	FreePasses(ctx context.Context, tx Tx, steps []task.ID) error
	// Refund deletes the permits of unused passes, returns them to their rates, and signals the gates.
	Refund(ctx context.Context, tx Tx, passes []Pass) error

	// Upkeep.

	// DropIdle deletes, of up to limit gates after a number, those without steps and permits whose rate has
	// recovered. It returns the last number; 0 at the end.
	DropIdle(ctx context.Context, tx Tx, now task.Instant, after int64, limit int) (int64, error)
}

// GateReads reads a committed state.
type GateReads interface {
	Signalled(ctx context.Context, now task.Instant) (bool, error)
	// NextGate returns the earliest due time of a gate; 0 for none.
	NextGate(ctx context.Context) (task.Instant, error)

	// Waiting and passed steps.

	CountParked(ctx context.Context, limit int) (int, error)
	FindGate(ctx context.Context, no int64) (*Gate, error)
	// ListGates returns a page by No.
	ListGates(ctx context.Context, f GateFilter) ([]GateView, error)
	// Holders returns up to limit tasks with a permit of a gate, by ID.
	Holders(ctx context.Context, gate int64, limit int) ([]task.ID, error)
	PermitsOf(ctx context.Context, step task.ID) ([]int64, error)

	// For repair.

	// StalledGates returns, of up to limit gates after a number, those with parked steps and room (for a rate, among
	// the steps that wait for a worker), and the last number; 0 at the end.
	StalledGates(ctx context.Context, after int64, limit int) (stalled []int64, last int64, err error)
	// StrayPermits returns, of up to limit permits after one by (gate, step), those of steps neither ready nor
	// leased, and the last permit examined; zero at the end. A permit of an operator's limit, with a negative number,
	// comes from a claim, so it may be stray if its step is ready.
	StrayPermits(ctx context.Context, after Permit, limit int) (stray []Permit, last Permit, err error)
}
