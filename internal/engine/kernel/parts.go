package kernel

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/kit/coalesce"
)

type clocks struct {
	Clock   func() time.Time
	Stepped func(since time.Time) time.Duration
	// Suspected is a step of the clock that Clock does not believe yet.
	Suspected func() time.Duration
	roll      func() float64
}

// helpers come with Options.
type helpers struct {
	Schemas SchemaCompiler
	grouper Grouper
	hooks   EventHooks
	seals   Seals // nil: nothing is encrypted
	blobs   Blobs // nil: results above the limit are refused
}

type measures struct {
	Observer    Observer     // the meter, followed by the observer of Options
	transitions *transitions // nil: single transitions are not observed
	Meter       *meter
	pools       pools
	commits     sync.Pool // of *Commit
	// CountQueue counts ready steps for streams.
	CountQueue func(ctx context.Context, namespaces []string) (*feed.QueueCount, error)
}

type peering struct {
	Cluster     Cluster // nil: the store belongs to this process
	peerEvents  *peerMailbox
	PeerReports peerReports
	feed        *feed.Feed
	peerFeed    feed.Publisher
}

type handing struct {
	Queue       queue
	dispatch    *dispatchQueue // the queue, or nil
	coordinator *coordinator   // nil: the store belongs to this process
	waiters     *waiters
	leased      atomic.Int64 // the last lease number that is a time
}

type ordered struct {
	ordering atomic.Pointer[ordering]
	rekeying atomic.Bool // there may be steps with keys of another order
	follows  bool        // adopts the order in force
}

// caches are of rows; see forget.
type caches struct {
	Catalog   *catalog
	pauses    pauses
	workers   workerCache
	occupancy occupancy
	limits    limits
	Forgets   []func() // of caches outside of the kernel
}

// sharedCalls has one group per verb: calls that arrive during a transaction share the next one.
type sharedCalls struct {
	workerChanges *coalesce.Group[workerChange, changedWorker]

	claims     *coalesce.Group[*poller, []Lease]
	starts     *coalesce.Group[leaseCall, []LeaseAnswer]
	settles    *coalesce.Group[[]Result, []Answer]
	heartbeats *coalesce.Group[leaseCall, []LeaseAnswer]
	turns      *coalesce.Group[struct{}, struct{}]
	admits     *coalesce.Group[struct{}, struct{}]
	bursts     *coalesce.Group[struct{}, struct{}]
}

type domains struct {
	Evidences Evidences

	QueueCounts QueueCounts
	Places      QueuePlaces

	NoteStore   NoteStore
	expiryStore ExpiryStore
	ActStore    ActStore

	SessionStore  SessionStore
	OrderingStore OrderingStore
	pauseStore    PauseStore
	burstStore    BurstStore
	outageStore   OutageStore

	checkpointStore CheckpointStore
	logStore        LogStore
	largeResults    LargeResultStore

	WaitReads   WaitReads
	SignalStore SignalStore

	gateRows   GateRows
	GateReads  GateReads
	limitStore OperatorLimitStore

	settingsKeeper SettingsKeeper
}

func domainsOf(db Database) domains {
	cases, queues, gates := db.CaseStore(), db.QueueStore(), db.GateStore()
	waits := db.WaitStore()
	return domains{
		Evidences:   cases,
		QueueCounts: queues, Places: queues,
		NoteStore: db.NoteStore(), expiryStore: db.ExpiryStore(),
		ActStore: db.ActStore(), SessionStore: db.SessionStore(),
		OrderingStore: db.OrderingStore(),
		pauseStore:    db.PauseStore(),
		burstStore:    db.BurstStore(),
		outageStore:   db.OutageStore(),

		checkpointStore: db.CheckpointStore(),
		logStore:        db.LogStore(),
		largeResults:    db.LargeResultStore(),

		WaitReads:   waits,
		SignalStore: db.SignalStore(),

		gateRows:       gates,
		GateReads:      gates,
		limitStore:     db.OperatorLimitStore(),
		settingsKeeper: db,
	}
}
