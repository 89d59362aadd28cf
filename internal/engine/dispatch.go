package engine

import (
	"context"
	"errors"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Dispatcher keeps the order of ready steps and the leases on them, next to the store and faster than it. Everything in
// it can be rebuilt from the store: its steps are enqueued there, whether they wait or are held, and only the verb that
// settles them is written there. All processes that share the store share the dispatcher.
//
// Every verb takes many items and needs one round trip, or a few. Every verb may return ErrDispatchLost, and then has
// changed nothing; any other error means that the dispatcher is out of reach, and that the request may or may not have
// been carried out. Times are the engine's; the dispatcher has no clock. All methods may be called
// concurrently.
type Dispatcher interface {
	// Offer makes steps claimable. A step that is already there stays unchanged, unless its entry is out of date: it
	// waits under an older token than the one offered, or is held under a token that is not newer.
	Offer(ctx context.Context, steps []Offered) error

	// Claim hands steps to each claim in turn, lowest key first across its routes, up to its capacity and no further
	// apart in priority than its window. The holds are those of each claim, in the order of the keys.
	Claim(ctx context.Context, claims []Claim, now task.Instant) ([][]Hold, error)

	// Start begins the attempts of assigned steps, and renews attempts that have begun. The answers are in the order of
	// refs: the zero Hold where the lease is not in force.
	Start(ctx context.Context, refs []LeaseRef, now, until task.Instant) ([]Hold, error)

	// Renew extends leases of attempts that have begun, and stores their progress; a step that is only assigned keeps
	// its time to start. The answers are like Start's.
	Renew(ctx context.Context, renewals []Renewal, until task.Instant) ([]Hold, error)

	// Find returns the holds of steps, under any token; the zero Hold for a step that is not held.
	Find(ctx context.Context, steps []task.ID) ([]Hold, error)

	// HeldBy returns up to limit holds of a worker.
	HeldBy(ctx context.Context, worker int64, limit int) ([]Hold, error)

	// Held counts the holds of workers. Workers without a hold are left out.
	Held(ctx context.Context) (map[int64]int, error)

	// Expired returns up to limit holds whose LookAt has come, the earliest first, and changes nothing.
	Expired(ctx context.Context, now task.Instant, limit int) ([]Hold, error)

	// Remove takes steps out, waiting or held. A held step is removed only if its token is not newer than the one
	// given, or if it has left: see Removal.
	Remove(ctx context.Context, steps []Removal) error

	// Missing returns the steps that are neither waiting under their key nor held under a token that is newer than
	// theirs.
	Missing(ctx context.Context, steps []Offered) ([]Offered, error)

	// Depth counts the waiting steps of a route before a position in the order of (key, ID); Waiting counts all of them
	// per route.
	Depth(ctx context.Context, route, key int64, id task.ID) (int, error)
	Waiting(ctx context.Context, routes []int64) (map[int64]int, error)

	// Reload begins to fill the dispatcher anew under a new epoch: it drops its content, and verbs other than Offer and
	// Remove return ErrDispatchLost until Loaded. Of several processes that call it at once, one gets true, for as long
	// as hold; the others get false, and call Check until the filling is done. The process that got true calls Reload
	// again to extend its turn, and gets false when the turn ran out meanwhile.
	Reload(ctx context.Context, hold time.Duration) (mine bool, err error)
	// Loaded ends the filling.
	Loaded(ctx context.Context) error

	// Check reports whether the dispatcher answers and is complete: nil, ErrDispatchLost (also when its server was
	// restarted meanwhile, and may have lost the last moments), or the reason why it is out of reach. When another
	// process has filled it anew, Check or another verb returns ErrDispatchLost once, and the Check after that nil. A
	// process calls it before anything else, unless it fills the dispatcher.
	Check(ctx context.Context) error

	// Content returns the name of the dispatcher's content that this process knows since the last Check or Loaded. The
	// name changes whenever the dispatcher is filled anew, and is the same for all processes. It is "" when the process
	// knows of no complete content. Content sends no request.
	Content() string

	// Listen calls hear with the routes on which other processes offered steps, and the number of steps, until ctx ends
	// or the connection is lost, and returns the reason. hear must not block.
	Listen(ctx context.Context, hear func(routes map[int64]int)) error

	Close()
}

// ErrDispatchLost means that a Dispatcher has lost its content, or does not have all of it yet.
var ErrDispatchLost = errors.New("the dispatcher has to be filled from the store")

// RowCacher is a Store that can cache the rows of new tasks until they are settled, because it will not be asked to
// hand them out in between.
type RowCacher interface {
	CacheNewRows()
}

// Offered is a step that is ready on its route.
type Offered struct {
	Step     task.ID
	Route    int64
	Key      int64         // lowest first; see task.Step
	Timeout  time.Duration // of an attempt; 0: none
	Token    int64         // of the last lease; the next one's is higher
	Priority int
}

// Removal takes an offer back.
type Removal struct {
	Offered
	// Left means that the step is no longer ready: a hold granted from the position with this key is void, under any
	// token, even if it was granted after the sender of the Removal had read the step. A step that becomes ready again
	// gets another key.
	Left bool
}

// Claim asks for steps for one worker.
type Claim struct {
	Worker   int64
	Routes   []int64
	Capacity int
	// Start begins the attempts at once: Until is then the end of the lease, else the time by which they must start.
	Start bool
	Until task.Instant
	// Window bounds how far apart in priority the steps may be; 0: no bound.
	Window int
	// Token is the lowest token that may be given out. See Offered.
	Token int64
	// Most bounds the steps of routes that all claims of one call get together; nil: no bound. The claims of a call have
	// the same one. A dispatcher may hand out more when it splits a call.
	Most map[int64]int
}

// Hold is a step held by a worker. LookAt is the time of its next check: the end of its lease, or of the attempt's
// time-out if that is earlier.
type Hold struct {
	Offered    // as it was offered; Token is the lease's
	Worker     int64
	AssignedAt task.Instant
	StartedAt  task.Instant // 0: not yet
	Until      task.Instant
	LookAt     task.Instant
	Progress   int
	Note       string
}

// Renewal is a heartbeat for one lease.
type Renewal struct {
	LeaseRef
	Progress *Progress // nil leaves it unchanged
}
