package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/model/limit"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Gate is the place where a limit holds back the steps of one key: its definition and its state.
type Gate struct {
	No        int64 // limit.Number of the next three
	Namespace string
	Name      string // of the limit
	Key       string
	Permits   int // steps at once; 0 for a rate
	Rate      limit.Rate
	// Rev grows with every change of the limit: of two definitions the one with the higher number is in force.
	Rev int64

	Bucket limit.Bucket // of a rate
	NextAt task.Instant // when to look at the gate again; 0: when it is signalled
	Freed  int          // the freed permits that the signals tell of which were taken
}

// Permit is the right of a step to be past a gate.
type Permit struct {
	Gate int64
	Step task.ID
}

// GateRoom is how many steps may pass a gate.
type GateRoom struct {
	Gate  int64
	Steps int
}

// GateView is a gate with what it holds back.
type GateView struct {
	Gate
	Held    int // permits in use
	Waiting int // parked steps, up to a limit
}

// GateFilter selects gates. Zero fields do not restrict.
type GateFilter struct {
	Namespace string
	Name      string
	Behind    int64 // No, exclusive
	Limit     int
	Counted   int // the most parked steps that are counted of a gate
}

// GateStore keeps the gates of limits, the permits of steps, and signals that say at which gates something has changed.
//
// Anyone who stores a step at a gate, or frees a permit, only adds a signal, in the transaction that does it: nothing
// of the gate is read or locked. Anyone who takes the signals locks their gates, and decides who passes.
type GateStore interface {
	GateRows
	GateReads
}

// Pass is what a rate has counted of a step.
type Pass struct {
	Permit
	Cost limit.Bucket // what it adds to one
}

// GateRows changes gates in a transaction.
type GateRows interface {
	// Signal adds a signal for each gate. A gate without a Namespace is one that exists.
	Signal(ctx context.Context, tx Tx, gates []Gate) error
	// TakeSignals takes up to limit signals away and adds the gates to look at by now, up to as many. It returns these
	// gates, locked until the end, in the order of their numbers; taken counts the signals. A gate gets the definition
	// of the signal with the highest Rev.
	TakeSignals(ctx context.Context, tx Tx, now task.Instant, limit int) (gates []Gate, taken int, err error)
	// SaveGates stores gates.
	SaveGates(ctx context.Context, tx Tx, gates []Gate) error

	// Who passes.

	// FirstParked returns the first steps parked at each gate, up to its room. It skips steps that others have locked.
	FirstParked(ctx context.Context, tx Tx, rooms []GateRoom) ([]Permit, error)
	// CountPasses counts the permits of rates, and those that were freed and whose signals are not taken, as of one
	// moment.
	CountPasses(ctx context.Context, tx Tx, gates []int64) (map[int64]int, error)
	// CountPermits counts the permits of gates; those without any are left out.
	CountPermits(ctx context.Context, tx Tx, gates []int64) (map[int64]int, error)

	// Who is past a gate, and no longer.

	// AddPermits adds permits; those that exist stay.
	AddPermits(ctx context.Context, tx Tx, permits []Permit) error
	// FreePermits deletes the permits of steps, and signals their gates.
	FreePermits(ctx context.Context, tx Tx, steps []task.ID) error
	// FreePasses is FreePermits for those of rates.
	FreePasses(ctx context.Context, tx Tx, steps []task.ID) error
	// Refund deletes the permits of passes that were not used, takes them out of the buckets of their rates, and signals
	// the gates. The rates do not count them as begun.
	Refund(ctx context.Context, tx Tx, passes []Pass) error

	// Upkeep.

	// DropIdle deletes those of up to limit gates after a number that hold no steps and no permits and whose rate is
	// rested. It returns the number that it reached; 0 at the end.
	DropIdle(ctx context.Context, tx Tx, now task.Instant, after int64, limit int) (int64, error)
}

// GateReads reads gates from a committed state.
type GateReads interface {
	// Signalled reports whether there are signals, or gates to look at by now.
	Signalled(ctx context.Context, now task.Instant) (bool, error)
	// NextGate returns the earliest time to look at a gate again; 0 for none.
	NextGate(ctx context.Context) (task.Instant, error)

	// What waits, and what has passed.

	// CountParked counts the steps at all gates, up to limit.
	CountParked(ctx context.Context, limit int) (int, error)
	// FindGate returns a gate, or nil.
	FindGate(ctx context.Context, no int64) (*Gate, error)
	// ListGates returns a page of gates, by No.
	ListGates(ctx context.Context, f GateFilter) ([]GateView, error)
	// Holders returns up to limit tasks with a permit of a gate, each once and by ID.
	Holders(ctx context.Context, gate int64, limit int) ([]task.ID, error)
	// PermitsOf returns the gates that a step is past.
	PermitsOf(ctx context.Context, step task.ID) ([]int64, error)

	// What is out of step, for repair.

	// StalledGates returns those of up to limit gates after a number at which steps are parked though there is room,
	// for a rate among the steps that wait for a worker, and the number that it reached; 0 at the end.
	StalledGates(ctx context.Context, after int64, limit int) (stalled []int64, last int64, err error)
	// StrayPermits returns up to limit permits after one, in the order of (gate, step), of steps that are neither
	// ready nor leased, and the last permit that it looked at; the zero Permit when it has looked at all. A permit of a
	// limit of an operator, whose number is negative, may be stray if its step is ready: a claim gave it.
	StrayPermits(ctx context.Context, after Permit, limit int) (stray []Permit, last Permit, err error)
}
