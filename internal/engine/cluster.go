package engine

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Cluster is the part of a Store for several processes that share its database. A Store that does not implement it
// belongs to one process, which then knows everything.
type Cluster interface {
	// Now is the database's clock, as estimated by this process. It costs no round trip. All processes that share a
	// database agree on it to within a few milliseconds, whatever their own clocks show and however these are stepped.
	Now() time.Time

	// ClockOffset is how far this machine's wall clock is ahead of the database's.
	ClockOffset() time.Duration

	// Stepped and Suspected are as in Options.
	Stepped(since time.Time) time.Duration
	Suspected() time.Duration

	// OnReplaced registers forget to be called when the database turns out to be another one than this process knows,
	// or to have gone back in time: a standby that was behind took over, or a backup was swapped in. forget is called
	// before any other query to that database, and must not query it. It is also called when Now goes back, because
	// remembered times are then in the future.
	OnReplaced(forget func())

	// Turn reports whether this process has the turn at a loop that must run in one process only. The process keeps the
	// turn by asking again within hold. When it stops asking, or asks with hold 0, another process gets it. A process
	// that does not know the time gets an error instead.
	Turn(ctx context.Context, loop string, hold time.Duration) (bool, error)

	// LastTurn is the time of the last turn of any process; zero when there was none.
	LastTurn(ctx context.Context) (task.Instant, error)

	// Turns returns the turns of all loops, by loop.
	Turns(ctx context.Context) ([]Turn, error)

	// Publish sends the other processes events that may concern them. It returns at once: events are collected and sent
	// a few times a second, outside any transaction. They may be lost.
	Publish(n PeerEvents)

	// Subscribe calls hear with the events of other processes until ctx ends or the connection is lost, and returns the
	// reason. hear must not block. It is called without events once the connection exists. A store that cannot listen
	// never calls it, but blocks all the same.
	Subscribe(ctx context.Context, hear func(PeerEvents)) error

	// Occupied counts the steps ready on each of the routes, up to limit each; routes without any are left out.
	Occupied(ctx context.Context, routes []int64, limit int) (map[int64]int, error)

	// PublishFeed sends the changes committed here to the other processes. It returns once they are on their way.
	PublishFeed(ctx context.Context, t feed.Batch) error

	// SubscribeFeed declares for the duration hold that this process wants the changes of others. Attended reports
	// whether any other process does.
	SubscribeFeed(ctx context.Context, hold time.Duration) error
	FeedSubscribed(ctx context.Context) (bool, error)

	// NewestTemplates returns the numbers of the versions registered last, in the order of the names; 0 for none.
	NewestTemplates(ctx context.Context, names []TemplateName) ([]int64, error)

	// Settled returns those of the tasks that are settled or deleted.
	Settled(ctx context.Context, ids []task.ID) ([]task.ID, error)
}

// Turn is which process runs a loop that must run in one process only.
type Turn struct {
	Loop, Node string
	// Taken is when the process last asked for it, Until when another process may take it.
	Taken, Until task.Instant
}

// PeerEvents are events that one process sends the others.
type PeerEvents struct {
	Routes   []int64 // steps became ready on them
	Workers  []int64 // numbers of workers that were asked to drain, or died
	Registry bool    // a route is new
	Pauses   bool    // something was paused or resumed
	Limits   bool    // a limit was set, changed or deleted
	Freed    []int64 // numbers of limits whose permits were freed
	Feed     *feed.Batch
}
