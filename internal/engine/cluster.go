package engine

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/feed"
	"github.com/taskerhq/tasker/internal/task"
)

// Cluster is what a Store offers besides when several processes share its
// database. A Store that does not implement it belongs to one process, and what
// that process knows is all there is to know.
type Cluster interface {
	// Now is the database's clock, as well as this process knows it. It costs no
	// round trip. All processes that share a database agree on it to within a few
	// milliseconds, whatever their own clocks say and however these are stepped.
	Now() time.Time

	// ClockOffset is how far this machine's wall clock is ahead of the database's.
	ClockOffset() time.Duration

	// OnReplaced has forget called when the database turns out to be another one than this process
	// knows, or to have gone back in time: a standby that was behind took over, or a backup was
	// swapped in. It is called before anything is asked of that database, and may not ask itself.
	OnReplaced(forget func())

	// Turn reports whether it is this process's turn at a loop that must run in
	// one process only. Who has the turn keeps it by asking again within hold;
	// when it stops asking, or asks with hold 0, another process gets it. A process
	// that cannot tell the time gets an error instead.
	Turn(ctx context.Context, loop string, hold time.Duration) (bool, error)

	// LastTurn is when any process had a turn last; zero when none ever had.
	LastTurn(ctx context.Context) (task.Instant, error)

	// Publish tells the other processes what they may want to look at. It
	// returns at once: news are gathered and sent a few times a second, outside
	// any transaction. They may be lost.
	Publish(n PeerEvents)

	// Subscribe calls hear with the events of other processes until ctx ends or the
	// connection is lost, and returns why. hear must not block. It is called with
	// no news once the connection is there. A store that cannot listen hears nothing,
	// and blocks all the same.
	Subscribe(ctx context.Context, hear func(PeerEvents)) error

	// Occupied counts the steps ready on each of the routes, up to limit each;
	// routes without any are left out.
	Occupied(ctx context.Context, routes []int64, limit int) (map[int64]int, error)

	// PublishFeed tells the other processes what was committed here. It returns once that
	// is on its way.
	PublishFeed(ctx context.Context, t feed.Batch) error

	// SubscribeFeed says that this process wants to be told, for as long as hold. Attended
	// reports whether any other does.
	SubscribeFeed(ctx context.Context, hold time.Duration) error
	FeedSubscribed(ctx context.Context) (bool, error)

	// Settled returns those of the tasks that are settled, or gone.
	Settled(ctx context.Context, ids []task.ID) ([]task.ID, error)
}

// PeerEvents is what one process tells the others.
type PeerEvents struct {
	Routes   []int64 // steps became ready on them
	Workers  []int64 // numbers of workers that were told to drain, or died
	Registry bool    // a route is new
	Feed     *feed.Batch
}
