package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/kit/coalesce"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Engine carries out the verbs on a Store. It is safe for concurrent use. It has no goroutine and no Close: package
// upkeep calls the periodic verbs, and package node closes the store.
type Engine struct {
	// embedded, so that e.caseRows reads like a field
	domains
	kernel  *kernel
	store   Store
	cfg     settings.Config
	now     func() time.Time
	stepped func(since time.Time) time.Duration
	// suspected is a step of the clock that now does not believe yet.
	suspected func() time.Duration
	roll      func() float64
	schemas   SchemaCompiler
	grouper   Grouper
	hooks     EventHooks
	seals     Seals // nil: nothing is encrypted
	blobs     Blobs // nil: results above the limit are refused

	observer     Observer     // the meter, followed by the observer of Options
	transitions  *transitions // nil: single transitions are not observed
	meter        *meter
	pressure     *backpressure
	queueSamples queueSamples
	pools        pools
	peerReports  peerReports
	commits      sync.Pool // of *Commit

	// graceUntil is when heartbeats that could not be sent or stored for a while must have arrived.
	graceUntil atomic.Int64

	ordering atomic.Pointer[ordering]
	rekeying atomic.Bool // there may be steps with keys of another order
	follows  bool        // adopts the order in force

	cluster    Cluster // nil: the store belongs to this process
	peerEvents *peerMailbox

	queue       queue
	dispatch    *dispatchQueue // the queue, or nil
	coordinator *coordinator   // nil: the store belongs to this process
	leased      atomic.Int64   // the last lease number that is a time

	feed     *feed.Feed
	peerFeed feed.Publisher

	readiness readiness
	keys      keyring

	// Caches of rows; see forget.
	catalog *catalog
	pauses  pauses
	workers workerCache

	occupancy occupancy
	waiters   *waiters
	limits    limits

	lifecycles lifecycles

	breakers *breakers
	programs programs
	outages  outages
	// One group per verb: calls that arrive during a transaction share the next one.
	workerChanges *coalesce.Group[workerChange, changedWorker]

	submits     *coalesce.Group[[]*draft, submitted]
	claims      *coalesce.Group[*poller, []Lease]
	starts      *coalesce.Group[leaseCall, []LeaseAnswer]
	settles     *coalesce.Group[[]Result, []Answer]
	heartbeats  *coalesce.Group[leaseCall, []LeaseAnswer]
	turns       *coalesce.Group[struct{}, struct{}]
	children    *coalesce.Group[struct{}, struct{}]
	handOvers   *coalesce.Group[struct{}, struct{}]
	due         dueRows
	steppedOver steppedTold
	admits      *coalesce.Group[struct{}, struct{}]
	bursts      *coalesce.Group[struct{}, struct{}]

	byHand bool // nothing runs after commits; see Options

	signalCounts signalCounts
}

type domains struct {
	caseRows      CaseRows
	caseReader    CaseReader
	caseCounter   CaseCounter
	caseRetention CaseRetention
	evidences     Evidences

	queueCounts QueueCounts
	queuePlaces QueuePlaces

	watchStore  WatchStore
	noteStore   NoteStore
	expiryStore ExpiryStore
	actStore    ActStore
	keyStore    KeyStore

	sessionStore  SessionStore
	orderingStore OrderingStore
	childRows     ChildRows
	childReads    ChildReads
	pauseStore    PauseStore
	burstStore    BurstStore
	outageStore   OutageStore

	checkpointStore CheckpointStore
	logStore        LogStore
	largeResults    LargeResultStore

	waitStore   WaitStore
	waitReads   WaitReads
	signalStore SignalStore

	gateRows    GateRows
	gateReads   GateReads
	limitStore  OperatorLimitStore
	uniqueStore UniqueStore

	groupRows GroupRows

	settingsKeeper SettingsKeeper
}

func domainsOf(db Database) domains {
	cases, queues, gates := db.CaseStore(), db.QueueStore(), db.GateStore()
	children, waits := db.ChildStore(), db.WaitStore()
	return domains{
		caseRows: cases, caseReader: cases, caseCounter: cases, caseRetention: cases, evidences: cases,
		queueCounts: queues, queuePlaces: queues,
		watchStore: db.WatchStore(), noteStore: db.NoteStore(), expiryStore: db.ExpiryStore(),
		actStore: db.ActStore(), keyStore: db.KeyStore(),
		sessionStore:  db.SessionStore(),
		orderingStore: db.OrderingStore(),
		pauseStore:    db.PauseStore(),
		burstStore:    db.BurstStore(),
		outageStore:   db.OutageStore(),

		checkpointStore: db.CheckpointStore(),
		logStore:        db.LogStore(),
		largeResults:    db.LargeResultStore(),

		childRows:   children,
		childReads:  children,
		waitStore:   waits,
		waitReads:   waits,
		signalStore: db.SignalStore(),

		gateRows:       gates,
		gateReads:      gates,
		limitStore:     db.OperatorLimitStore(),
		uniqueStore:    db.UniqueStore(),
		groupRows:      db.GroupRows(),
		settingsKeeper: db,
	}
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

// callers bounds how long the first caller of a transaction waits for the last.
const callers = 1024

// New returns an Engine. Invalid: the configuration breaks a rule. Other errors are the store's. The order matters:
// the clock before its readers, the catalog before its routes.
func New(ctx context.Context, db Database, opts Options) (*Engine, error) {
	cfg := opts.Config.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, &task.Error{Code: task.Invalid, Message: "the engine's configuration is not valid: " + err.Error(),
			Err: err}
	}
	list, err := featuresWithout(opts.Without)
	if err != nil {
		return nil, err
	}
	kernel, err := newKernel(list)
	if err != nil {
		return nil, err
	}
	cluster, _ := db.(Cluster)
	if opts.Seals != nil {
		db = opts.Seals.Database(db)
	}
	e := &Engine{kernel: kernel, store: db, domains: domainsOf(db), cfg: cfg,
		now: opts.Now, stepped: opts.Stepped, roll: opts.Roll,
		schemas: opts.Schemas, grouper: opts.Grouper, hooks: opts.Hooks, seals: opts.Seals, blobs: opts.Blobs}
	if e.queue = (storeQueue{e}); opts.Dispatcher != nil {
		e.dispatch = newDispatchQueue(e, opts.Dispatcher)
		e.queue = e.dispatch
	}
	e.pressure = newBackpressure(e)
	e.transitions = newTransitions(opts.Transitions)
	e.meter = newMeter(opts.Observer, e.pressure.moved)
	e.observer = e.meter
	e.cluster = cluster
	e.peerEvents = newPeerMailbox()
	e.suspected = opts.Suspected
	if e.now == nil && e.cluster != nil {
		e.now, e.stepped, e.suspected = e.cluster.Now, e.cluster.Stepped, e.cluster.Suspected
	}
	if e.now == nil {
		e.now = time.Now //nolint:forbidigo // the one place where the clock comes in
	}
	if e.stepped == nil {
		e.stepped = func(time.Time) time.Duration { return 0 }
	}
	if e.suspected == nil {
		e.suspected = func() time.Duration { return 0 }
	}
	if e.roll == nil {
		e.roll = rand.Float64
	}
	if err := e.keys.load(ctx, e.store, e.noteStore); err != nil {
		return nil, err
	}
	e.feed = feed.New(strconv.FormatUint(rand.Uint64(), 36), e.instant)
	if err := e.arrive(ctx); err != nil {
		return nil, err
	}
	e.follows = opts.Config.Scheduling == settings.Scheduling{}
	if err := e.declareOrdering(ctx); err != nil {
		return nil, err
	}
	e.meter.clock, e.meter.since = e.instant, e.instant()
	e.waiters, e.queueSamples.turn = newWaiters(), make(chan struct{}, 1)
	if e.coordinator = newCoordinator(e); e.coordinator != nil {
		if err := e.coordinator.observe(ctx); err != nil {
			return nil, err
		}
	}
	e.catalog = newCatalog(e.store, e.actStore, e.cluster, e.waiters.wakeForRoutes)
	e.catalog.eviction.dropped, e.catalog.eviction.occupied = e.waiters.dropRoutes, e.occupied
	e.meter.kindOf = e.catalog.kindName
	if err := errors.Join(e.RefreshPauses(ctx), e.RefreshLimits(ctx)); err != nil {
		return nil, err
	}
	if _, err := e.catalog.ensureRead(ctx); err != nil {
		return nil, fmt.Errorf("read routes: %w", err)
	}
	if e.cluster != nil {
		e.cluster.OnReplaced(e.forget)
	}
	e.breakers = newBreakers(cfg.WorkerBreaker, cfg.Leases.Lease())
	e.workerChanges = coalesce.New(callers, 1, e.runChanges)
	e.submits = coalesce.New(callers, 1, e.runSubmits)
	e.turns = coalesce.New(callers, 1, e.giveTurns)
	e.due = newDueRows(e)
	e.children = coalesce.New(callers, 1, e.advanceChildren)
	e.byHand = opts.ByHand
	e.handOvers = coalesce.New(callers, 1, e.handOverSignals)
	e.outages.cfg = cfg.OutageBreaker
	e.bursts = coalesce.New(callers, 1, e.runBursts)
	e.admits = coalesce.New(callers, 1, e.admitAll)
	e.claims = coalesce.New(callers, 1, e.runClaims)
	e.starts = coalesce.New(callers, 1, e.runStarts)
	e.settles = coalesce.New(callers, 1, e.runSettles)
	e.heartbeats = coalesce.New(callers, 1, e.runHeartbeats)
	return e, nil
}

// Config returns the configuration in force.
func (e *Engine) Config() settings.Config { return e.cfg }

// Read returns a reader of the committed state.
func (e *Engine) Read() Reader { return e.store }

// instant has the resolution of the stores, microseconds since 1970.
func (e *Engine) instant() task.Instant { return task.At(e.now()) }

// write runs fn in one transaction on a fresh unit and, after the commit, wakes waiters. If the store repeats the
// transaction, the pollers of the earlier run are released first. fn must change nothing outside of its unit except
// variables that it sets in each run.
//
// A transaction that fails with steps handed to waiting polls is tried again without: a step that cannot be handed out
// must not fail what made it ready.
func (e *Engine) write(ctx context.Context, verb string, fn func(u *unit) error) error {
	handed, err := e.writeOnce(ctx, verb, false, fn)
	if err != nil && handed && ctx.Err() == nil && task.CodeOf(err) != task.Unavailable {
		_, err = e.writeOnce(ctx, verb, true, fn)
	}
	return err
}

func (e *Engine) writeOnce(ctx context.Context, verb string, queues bool, fn func(u *unit) error) (handed bool,
	err error,
) {
	began, pass := e.startObserving(), e.feed.Begin()
	defer pass.End(verb, feed.ErrPanicked)
	var last *unit // a transaction may run again
	runs := 0
	err = e.transact(ctx, func(ctx context.Context, tx Tx) error {
		runs++
		if last != nil {
			last.ready.releasePollers()
			last.ready.permit.leave()
			pass.Restart()
		}
		last = newUnit(ctx, e, tx)
		last.key, last.queues = KeyOf(ctx), queues
		last.observed.recording = pass.Recorded
		if err := fn(last); err != nil {
			return err
		}
		if err := last.flush(); err != nil {
			return err
		}
		pass.Enter(last.observed.changes)
		return nil
	})
	pass.End(verb, err)
	if last != nil {
		defer last.ready.permit.leave()
	}
	if err != nil {
		if last != nil {
			handed = len(last.ready.pollers) > 0
			last.ready.releasePollers()
		}
		e.observeFailure(verb, began, err)
		return handed, err
	}
	last.observed.verb, last.observed.began, last.observed.repeats = verb, began, runs-1
	last.committed()
	return false, nil
}

// nextToken returns increasing times.
func (e *Engine) nextToken(now task.Instant) int64 {
	for {
		last := e.leased.Load()
		next := max(last+1, int64(now))
		if e.leased.CompareAndSwap(last, next) {
			return next
		}
	}
}

// Now returns the time of the engine's clock.
func (e *Engine) Now() task.Instant { return e.instant() }
