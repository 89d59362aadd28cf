package kernel

import (
	"context"
	"errors"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Dispatcher keeps the order of ready steps and their leases, faster than the store, from which it can be rebuilt:
// steps stay enqueued there until a verb settles them. All processes that share the store share it.
//
// Verbs take many items in a few round trips. ErrDispatchLost means that nothing changed; after any other error the
// request may or may not have been carried out. The engine passes all times. Methods may be called concurrently.
type Dispatcher interface {
	// Offer makes steps claimable. It replaces an entry only if that waits under an older token, or is held under one
	// that is not newer.
	Offer(ctx context.Context, steps []Offered) error

	// Claim serves each claim in turn: lowest key first across its routes, within its capacity and its window of
	// priorities.
	Claim(ctx context.Context, claims []Claim, now task.Instant) ([][]Hold, error)

	// Start begins assigned attempts, and renews begun ones. Answers are in the order of refs; the zero Hold: not in
	// force.
	Start(ctx context.Context, refs []LeaseRef, now, until task.Instant) ([]Hold, error)

	// Renew extends begun attempts, and stores progress; an assigned step keeps its time to start. Answers are like
	// Start's.
	Renew(ctx context.Context, renewals []Renewal, until task.Instant) ([]Hold, error)

	// Find returns the holds of steps under any token; the zero Hold for none.
	Find(ctx context.Context, steps []task.ID) ([]Hold, error)

	// HeldBy returns up to limit holds of a worker.
	HeldBy(ctx context.Context, worker int64, limit int) ([]Hold, error)

	// Held counts holds by worker, without zeros.
	Held(ctx context.Context) (map[int64]int, error)

	// Expired returns up to limit holds whose LookAt has come, the earliest first. It changes nothing.
	Expired(ctx context.Context, now task.Instant, limit int) ([]Hold, error)

	// Remove takes steps out; a held one only if its token is not newer than the given one, or if it has left (see
	// Removal).
	Remove(ctx context.Context, steps []Removal) error

	// Missing returns the steps that neither wait under their key nor are held under a newer token.
	Missing(ctx context.Context, steps []Offered) ([]Offered, error)

	// Depth counts the steps of a route before a position (key, ID); Waiting counts all, by route.
	Depth(ctx context.Context, route, key int64, id task.ID) (int, error)
	Waiting(ctx context.Context, routes []int64) (map[int64]int, error)

	// Reload begins to fill the dispatcher under a new epoch: verbs other than Offer and Remove return
	// ErrDispatchLost until Loaded. One process gets true, for the duration hold, and calls Reload again to extend
	// its turn; false then means that it ran out. Others call Check until Loaded.
	Reload(ctx context.Context, hold time.Duration) (mine bool, err error)
	// Loaded ends the filling.
	Loaded(ctx context.Context) error

	// Check returns nil if the dispatcher is complete, ErrDispatchLost (also after a restart of its server, and once
	// after another process has filled it), or why it is out of reach. A process that does not fill the dispatcher
	// calls it first.
	Check(ctx context.Context) error

	// Content names the content as of the last Check or Loaded; "": not complete. Each filling has a new name, the
	// same for all processes. It sends no request.
	Content() string

	// Listen calls hear, which must not block, with the numbers of steps offered by other processes, by route, until
	// ctx ends or the connection is lost, and returns the reason.
	Listen(ctx context.Context, hear func(routes map[int64]int)) error

	Close()
}

// ErrDispatchLost means that a Dispatcher does not have all of its content.
var ErrDispatchLost = errors.New("the dispatcher has to be filled from the store")

// RowCacher is a Store that can cache rows of new tasks until they are settled, because a dispatcher hands them out.
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
	// Left: the step is not ready. A hold granted for this key is void under any token, even if granted later than
	// the sender's read. A step that becomes ready again gets another key.
	Left bool
}

// Claim asks for steps for one worker.
type Claim struct {
	Worker   int64
	Routes   []int64
	Capacity int
	// Start begins attempts immediately: Until is then the end of the lease, else the time by which to start.
	Start bool
	Until task.Instant
	// Window bounds the difference in priority of the steps; 0: no bound.
	Window int
	// Token is the lowest token to grant. See Offered.
	Token int64
	// Most bounds the steps of routes for all claims of one call, which share the map; nil: no bound. A dispatcher
	// that splits a call may exceed it.
	Most map[int64]int
}

// Hold is a step held by a worker. LookAt is the earlier of the end of its lease and of its time-out.
type Hold struct {
	Offered    // as offered; Token is the lease's
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
	Progress *Progress // nil: unchanged
}
