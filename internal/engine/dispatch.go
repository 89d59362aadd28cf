package engine

import (
	"context"
	"errors"
	"time"

	"github.com/taskerhq/tasker/internal/task"
)

// Dispatcher keeps the order of ready steps and who holds them, beside the store
// and quicker than it. All that it knows can be rebuilt from the store: steps that
// it has are enqueued there, whether they wait or are held, and only what settles
// them is written there. It is shared by all processes that share the store.
//
// Every verb takes many items and is one round trip, or a few. Every verb may
// answer ErrDispatchLost, and then has changed nothing; any other error means that
// the dispatcher is out of reach, and what was asked may have been done or not.
// Times are the engine's; the dispatcher has no clock of its own. All methods may
// be called concurrently.
type Dispatcher interface {
	// Offer lets steps be claimed. One that is there already stays as it is, unless what
	// is there is out of date: it waits under an older token than the one offered, or is
	// held under one that is not newer.
	Offer(ctx context.Context, steps []Offered) error

	// Claim hands steps to each claim in turn, lowest key first across its routes,
	// up to its capacity and not further apart in priority than its window.
	// The holds are those of each claim, in the order of the keys.
	Claim(ctx context.Context, claims []Claim, now task.Instant) ([][]Hold, error)

	// Start begins the attempts of what is assigned, and renews what has begun.
	// The answers are in the order asked: the zero Hold where the lease is not in force.
	Start(ctx context.Context, refs []LeaseRef, now, until task.Instant) ([]Hold, error)

	// Renew extends leases of attempts that have begun, and stores their progress;
	// what is only assigned keeps its time to start. The answers are like Start's.
	Renew(ctx context.Context, renewals []Renewal, until task.Instant) ([]Hold, error)

	// Find returns the holds of steps, under whichever token; the zero Hold for
	// one that nobody holds.
	Find(ctx context.Context, steps []task.ID) ([]Hold, error)

	// HeldBy returns up to limit holds of a worker.
	HeldBy(ctx context.Context, worker int64, limit int) ([]Hold, error)

	// Held counts the holds of workers. Who holds none is left out.
	Held(ctx context.Context) (map[int64]int, error)

	// Expired returns up to limit holds whose time to be looked after has come,
	// the earliest first, and changes nothing.
	Expired(ctx context.Context, now task.Instant, limit int) ([]Hold, error)

	// Remove takes steps out, waiting or held. A held one goes only if its token is
	// not newer than the one given, or if it has left: see Removal.
	Remove(ctx context.Context, steps []Removal) error

	// Missing returns those of the steps that are neither waiting under their key nor
	// held under a token that is newer than theirs.
	Missing(ctx context.Context, steps []Offered) ([]Offered, error)

	// Depth counts the waiting steps of a route that stand before a place in the order
	// of (key, ID); Waiting counts all of them per route.
	Depth(ctx context.Context, route, key int64, id task.ID) (int, error)
	Waiting(ctx context.Context, routes []int64) (map[int64]int, error)

	// Reload begins to fill the dispatcher anew under a new epoch: what it had is
	// gone, and verbs other than Offer and Remove answer ErrDispatchLost
	// until Loaded. Of several processes that call it at once one is told true, for
	// as long as hold; the others are told false, and ask Check until it is done. Who
	// was told true calls it again to go on for as long, and is told false when the
	// turn ran out meanwhile.
	Reload(ctx context.Context, hold time.Duration) (mine bool, err error)
	// Loaded ends it.
	Loaded(ctx context.Context) error

	// Check reports whether the dispatcher answers and is complete: nil,
	// ErrDispatchLost (also when its server was restarted meanwhile, and may have lost
	// the last moments), or why it is out of reach. When another process has filled it
	// anew, Check or another verb says ErrDispatchLost once, and the Check after that
	// nil. A process asks it before anything else, unless it fills the dispatcher.
	Check(ctx context.Context) error

	// Content names what the dispatcher has, as this process knows it since the last Check or
	// Loaded: another name whenever it was filled anew, and the same for all processes. It is
	// "" when the process knows of nothing complete. It asks nobody.
	Content() string

	// Listen calls hear with the routes on which other processes offered steps, and
	// how many, until ctx ends or the connection is lost, and returns why. hear must
	// not block.
	Listen(ctx context.Context, hear func(routes map[int64]int)) error

	Close()
}

// ErrDispatchLost says that a Dispatcher has lost what it knew, or does not have
// all of it yet.
var ErrDispatchLost = errors.New("the dispatcher has to be filled from the store")

// RowCacher is a Store that can keep the rows of new tasks in mind until they are
// settled, because it will not be asked to hand them out in between.
type RowCacher interface {
	CacheNewRows()
}

// Offered is a step that is ready on its route.
type Offered struct {
	Step     task.ID
	Route    int64
	Key      int64         // lowest first; see task.Step
	Timeout  time.Duration // of an attempt; 0 is none
	Token    int64         // of the last lease; the next one's is higher
	Priority int
}

// Removal takes an offer back.
type Removal struct {
	Offered
	// Left says that the step is not ready any more: whoever was granted it from the place
	// with this key, even after the one who says so had looked, has got it in vain, under
	// whichever token. A step that becomes ready again gets another key.
	Left bool
}

// Claim asks for steps for one worker.
type Claim struct {
	Worker   int64
	Routes   []int64
	Capacity int
	// Start begins the attempts at once: Until is then the end of the lease, else
	// the time by which they have to be started.
	Start bool
	Until task.Instant
	// Window is how far apart in priority the steps may be; 0 is no bound.
	Window int
	// Token is the lowest that may be given out. See Offered.
	Token int64
}

// Hold is a step in the hands of a worker. LookAt is when somebody has to look
// after it: the end of its lease, or of the attempt's time-out if that is earlier.
type Hold struct {
	Offered    // as it was offered; the Token is that of the lease
	Worker     int64
	AssignedAt task.Instant
	StartedAt  task.Instant // 0: not yet
	Until      task.Instant
	LookAt     task.Instant
	Progress   int
	Note       string
}

// Renewal is a sign of life.
type Renewal struct {
	LeaseRef
	Progress *Progress // nil leaves it
}
