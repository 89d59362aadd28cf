package kernel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/kit/coalesce"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Kernel carries out the verbs on a Store. It is safe for concurrent use. It has no goroutine and no Close: package
// upkeep calls the periodic verbs, and package node closes the store.
type Kernel struct {
	Store  Store
	Cfg    settings.Config
	Points *points
	rooms  [maxRooms]any

	// Parts are embedded, so that e.Clock reads like a field.

	domains
	clocks
	helpers
	measures
	peering
	handing
	ordered
	caches
	sharedCalls

	breakers *breakers
	outages  outages
	// graceUntil is when heartbeats that could not be sent or stored for a while must have arrived.
	graceUntil atomic.Int64
	readiness  readiness
	keys       keyring

	due         dueRows
	steppedOver steppedTold
	ByHand      bool // nothing runs after commits; see Options
}

// Options configures an Engine.
type Options struct {
	// Config's zero fields take defaults. Without Scheduling the engine adopts the order in force, if any.
	Config settings.Config
	// Now is the clock. Defaults to that of a Cluster, else to time.Now.
	Now func() time.Time
	// Stepped returns how far Now was put forward since a time that it showed. Defaults to that of a Cluster, else to
	// never.
	Stepped func(since time.Time) time.Duration
	// Suspected returns a step of the underlying clock that Now does not believe yet; 0: none. Defaults as Stepped.
	Suspected func() time.Duration
	// Roll returns a random number in [0,1) for the jitter of retries. Defaults to math/rand.
	Roll func() float64
	// Schemas compiles input schemas. Without it, templates with one are refused.
	Schemas SchemaCompiler
	// Grouper puts failures into groups by rules. Without it, only fingerprints count.
	Grouper Grouper
	// Hooks store events for webhooks in the transaction in which they happen. Defaults to none.
	Hooks EventHooks
	// ByHand runs nothing after a commit: the caller calls AdvanceChildren, HandOverSignals, GiveTurns, AdmitAll and
	// CountBursts. For tests.
	ByHand bool
	// Seals encrypts sensitive values in the store. Defaults to clear text.
	Seals Seals
	// Observer receives the effects of transactions. Defaults to none.
	Observer Observer
	// Transitions reports each transition of a task or step to the Observer.
	Transitions bool
	// Blobs keeps results above Limits.PayloadBytes. Without it they are refused.
	Blobs Blobs
	// Without names features to leave out, for tests of their independence.
	Without []string
	// Dispatcher keeps the order of ready steps and their leases. Without it the store does.
	Dispatcher Dispatcher
}

// SchemaCompiler compiles a JSON Schema.
type SchemaCompiler func(schema []byte) (SchemaChecker, error)

// SchemaChecker checks a document and returns the problems, each with its JSON pointer.
type SchemaChecker interface {
	Check(document []byte) []task.Problem
}

// Callers bounds how long the first caller of a transaction waits for the last.
const Callers = 1024

// New returns a Kernel with the features of its rooms, which are made next, and the database that rooms must use: db
// behind the seals. Invalid: the configuration breaks a rule. Other errors are the store's. The order matters: the
// clock before its readers, the catalog before its routes.
func New(ctx context.Context, db Database, opts Options, list []Feature) (*Kernel, Database, error) {
	cfg := opts.Config.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, nil, &task.Error{Code: task.Invalid, Message: "the engine's configuration is not valid: " + err.Error(),
			Err: err}
	}
	points, err := newPoints(list)
	if err != nil {
		return nil, nil, err
	}
	cluster, _ := db.(Cluster)
	if opts.Seals != nil {
		db = opts.Seals.Database(db)
	}
	e := &Kernel{Points: points, Store: db, Cfg: cfg, domains: domainsOf(db),
		clocks:  clocks{opts.Now, opts.Stepped, opts.Suspected, opts.Roll},
		helpers: helpers{opts.Schemas, opts.Grouper, opts.Hooks, opts.Seals, opts.Blobs}, ByHand: opts.ByHand}
	if e.Queue = (storeQueue{e}); opts.Dispatcher != nil {
		e.dispatch = newDispatchQueue(e, opts.Dispatcher)
		e.Queue = e.dispatch
	}
	e.transitions = newTransitions(opts.Transitions)
	e.Meter = newMeter(opts.Observer)
	e.Observer = e.Meter
	e.Cluster = cluster
	e.peerEvents = newPeerMailbox()
	e.setClock()
	if e.roll == nil {
		e.roll = rand.Float64
	}
	if err := e.keys.load(ctx, e.Store, e.NoteStore); err != nil {
		return nil, nil, err
	}
	e.feed = feed.New(strconv.FormatUint(rand.Uint64(), 36), e.Now)
	if err := e.arrive(ctx); err != nil {
		return nil, nil, err
	}
	e.follows = opts.Config.Scheduling == settings.Scheduling{}
	if err := e.declareOrdering(ctx); err != nil {
		return nil, nil, err
	}
	e.Meter.clock, e.Meter.since = e.Now, e.Now()
	e.waiters = newWaiters()
	if e.coordinator = newCoordinator(e); e.coordinator != nil {
		if err := e.coordinator.observe(ctx); err != nil {
			return nil, nil, err
		}
	}
	e.Catalog = newCatalog(e.Store, e.ActStore, e.Cluster, e.waiters.wakeForRoutes)
	e.Catalog.eviction.dropped, e.Catalog.eviction.occupied = e.waiters.dropRoutes, e.occupied
	e.Meter.kindOf = e.Catalog.kindName
	if err := errors.Join(e.RefreshPauses(ctx), e.RefreshLimits(ctx)); err != nil {
		return nil, nil, err
	}
	if _, err := e.Catalog.ensureRead(ctx); err != nil {
		return nil, nil, fmt.Errorf("read routes: %w", err)
	}
	if e.Cluster != nil {
		e.Cluster.OnReplaced(e.Forget)
	}
	e.breakers = newBreakers(cfg.WorkerBreaker, cfg.Leases.Lease())
	e.due = newDueRows(e)
	e.outages.cfg = cfg.OutageBreaker
	e.group()
	return e, db, nil
}

// group makes the groups of calls that share transactions.
func (e *Kernel) group() {
	e.workerChanges = coalesce.New(Callers, 1, e.runChanges)
	e.turns = coalesce.New(Callers, 1, e.giveTurns)
	e.bursts = coalesce.New(Callers, 1, e.runBursts)
	e.admits = coalesce.New(Callers, 1, e.admitAll)
	e.claims = coalesce.New(Callers, 1, e.runClaims)
	e.starts = coalesce.New(Callers, 1, e.runStarts).Apart(e.RowAtFault)
	e.settles = coalesce.New(Callers, 1, e.runSettles).Apart(e.RowAtFault)
	e.heartbeats = coalesce.New(Callers, 1, e.runHeartbeats).Apart(e.RowAtFault)
}

func (e *Kernel) setClock() {
	if e.Clock == nil && e.Cluster != nil {
		e.Clock, e.Stepped, e.Suspected = e.Cluster.Now, e.Cluster.Stepped, e.Cluster.Suspected
	}
	if e.Clock == nil {
		e.Clock = time.Now //nolint:forbidigo // the one place where the clock comes in
	}
	if e.Stepped == nil {
		e.Stepped = func(time.Time) time.Duration { return 0 }
	}
	if e.Suspected == nil {
		e.Suspected = func() time.Duration { return 0 }
	}
}

// Config returns the configuration in force.
func (e *Kernel) Config() settings.Config { return e.Cfg }

// Read returns a reader of the committed state.
func (e *Kernel) Read() Reader { return e.Store }

// Now returns the time of the engine's clock, in the resolution of the stores: microseconds since 1970.
func (e *Kernel) Now() task.Instant { return task.At(e.Clock()) }

// Write runs fn in one transaction on a fresh unit and, after the commit, wakes waiters. If the store repeats the
// transaction, the pollers of the earlier run are released first. fn must change nothing outside of its unit except
// variables that it sets in each run.
//
// A transaction that fails with steps handed to waiting polls is tried again without: a step that cannot be handed out
// must not fail what made it ready.
func (e *Kernel) Write(ctx context.Context, verb string, fn func(u *Unit) error) error {
	handed, err := e.writeOnce(ctx, verb, false, fn)
	if err != nil && handed && ctx.Err() == nil && task.CodeOf(err) != task.Unavailable {
		_, err = e.writeOnce(ctx, verb, true, fn)
	}
	return err
}

func (e *Kernel) writeOnce(ctx context.Context, verb string, queues bool, fn func(u *Unit) error) (handed bool,
	err error,
) {
	began, pass := e.startObserving(), e.feed.Begin()
	defer pass.End(verb, feed.ErrPanicked)
	var last *Unit // a transaction may run again
	runs := 0
	err = e.Transact(ctx, func(ctx context.Context, tx Tx) error {
		runs++
		if last != nil {
			last.Ready.releasePollers()
			last.Ready.permit.leave()
			pass.Restart()
		}
		last = NewUnit(ctx, e, tx)
		last.Key, last.Queues = KeyOf(ctx), queues
		last.Observed.recording = pass.Recorded
		if err := fn(last); err != nil {
			return err
		}
		if err := last.flush(); err != nil {
			return err
		}
		pass.Enter(last.Observed.changes)
		return nil
	})
	pass.End(verb, err)
	if last != nil {
		defer last.Ready.permit.leave()
	}
	if err != nil {
		if last != nil {
			handed = len(last.Ready.pollers) > 0
			last.Ready.releasePollers()
		}
		e.observeFailure(verb, began, err)
		return handed, err
	}
	last.Observed.verb, last.Observed.began, last.Observed.repeats = verb, began, runs-1
	last.committed()
	return false, nil
}

// nextToken returns increasing times.
func (e *Kernel) nextToken(now task.Instant) int64 {
	for {
		last := e.leased.Load()
		next := max(last+1, int64(now))
		if e.leased.CompareAndSwap(last, next) {
			return next
		}
	}
}
