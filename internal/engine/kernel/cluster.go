package kernel

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Cluster is the part of a Store for several processes that share its database. A Store without it belongs to one
// process.
type Cluster interface {
	// Now estimates the database's clock without a round trip. Processes agree to within a few milliseconds, whatever
	// their own clocks show.
	Now() time.Time

	// ClockOffset is how far this machine's wall clock is ahead of the database's.
	ClockOffset() time.Duration

	// Stepped and Suspected are as in Options.
	Stepped(since time.Time) time.Duration
	Suspected() time.Duration

	// OnReplaced registers a function to call when the database is another one or went back in time (a late standby,
	// a restored backup), or Now goes back. forget is called before any other query to that database, and must not
	// query it.
	OnReplaced(forget func())

	// Turn reports whether this process has the turn at a loop that one process runs. It keeps it by calling again
	// within hold; with hold 0 it passes the turn on. The error means that this process does not know the time.
	Turn(ctx context.Context, loop string, hold time.Duration) (bool, error)

	// LastTurn is the time of any process's last turn, or zero.
	LastTurn(ctx context.Context) (task.Instant, error)

	// Turns returns the turns of all loops.
	Turns(ctx context.Context) ([]Turn, error)

	// Publish sends events to other processes a few times a second, without blocking and outside any transaction.
	// They may be lost.
	Publish(n PeerEvents)

	// Subscribe calls hear, which must not block, with other processes' events until ctx ends or the connection is
	// lost, and returns the reason. The first call, without events, means that the connection exists. A store that
	// cannot listen only blocks.
	Subscribe(ctx context.Context, hear func(PeerEvents)) error

	// Occupied counts the steps ready on each route, up to limit; empty routes are left out.
	Occupied(ctx context.Context, routes []int64, limit int) (map[int64]int, error)

	// PublishFeed sends changes committed here to the other processes. It returns once they are sent.
	PublishFeed(ctx context.Context, t feed.Batch) error

	// SubscribeFeed asks for other processes' changes for the duration hold. FeedSubscribed reports whether another
	// process has.
	SubscribeFeed(ctx context.Context, hold time.Duration) error
	FeedSubscribed(ctx context.Context) (bool, error)

	// NewestTemplates returns the number of the last version of each name, or 0.
	NewestTemplates(ctx context.Context, names []TemplateName) ([]int64, error)

	// Settled returns those of the tasks that are settled or deleted.
	Settled(ctx context.Context, ids []task.ID) ([]task.ID, error)
}

// Turn is which process has the turn at a loop.
type Turn struct {
	Loop, Node string
	// Taken is when the process took it, Until when another may.
	Taken, Until task.Instant
}

// PeerEvents are sent from one process to the others.
type PeerEvents struct {
	Routes   []int64 // steps became ready on them
	Workers  []int64 // asked to drain, or dead
	Registry bool    // a route is new
	Pauses   bool
	Limits   bool
	Freed    []int64 // limits whose permits were freed
	Feed     *feed.Batch
}
