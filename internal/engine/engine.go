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

// Engine carries out the verbs on a Store. It is safe for concurrent use. It has no goroutine
// and no Close: package upkeep calls the verbs that must run from time to time (ReapLeases,
// FireTimers and the like), and package node closes the store.
//
// The fields are grouped: what Options gives, the parts that measure and limit, the parts about
// several processes and a dispatcher, the caches, and one coalesce.Group per verb of the hot
// path.
type Engine struct {
	// the roles of the store for other rows, embedded so that e.caseRows reads like a field
	domains
	kernel  *kernel // the features, by what they do
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

	observer    Observer     // the meter, followed by the observer of Options
	transitions *transitions // nil: the observer does not want single transitions
	meter       *meter
	// decides which submissions are accepted
	pressure     *backpressure
	queueSamples queueSamples
	pools        pools
	peerReports  peerReports
	commits      sync.Pool // of *Commit

	// graceUntil is the instant by which heartbeats that could not be sent or stored for a while must have arrived.
	graceUntil atomic.Int64

	ordering atomic.Pointer[ordering] // in force
	rekeying atomic.Bool              // there may be steps with keys of another order
	follows  bool                     // adopts the order in force

	cluster    Cluster // nil: the store belongs to this process
	peerEvents *peerMailbox

	queue       queue
	dispatch    *dispatchQueue // the queue if there is a dispatcher, else nil
	coordinator *coordinator   // nil: the store belongs to this process
	leased      atomic.Int64   // the last lease number that is a time

	feed     *feed.Feed
	peerFeed feed.Publisher

	readiness readiness
	keys      keyring

	// Caches of rows. Each forgets everything when the database turns out to be another one;
	// see forget.
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
	// One group per verb: calls that arrive while a transaction runs share the next one.
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

// domains are the roles for the rows that an Engine keeps next to tasks and steps.
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

// domainsOf takes the roles from a database once, so that verbs need no calls to reach them.
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

// Options configures an Engine, apart from its store.
type Options struct {
	// Config's zero fields take their defaults. A Config without Scheduling adopts the order in force, if there is one.
	Config settings.Config
	// Now is the clock. Defaults to the clock of a store that is a Cluster, else to time.Now.
	Now func() time.Time
	// Stepped returns how far Now was put forward since a time that it showed: really elapsed time is shorter by that
	// much. Defaults to that of the clock of a Cluster, else to never.
	Stepped func(since time.Time) time.Duration
	// Suspected returns how far the clock that Now follows is ahead of it: a step that Now does not believe yet; 0 for
	// none. Defaults as Stepped.
	Suspected func() time.Duration
	// Roll returns a random number in [0,1) for the jitter of retries.
	// Defaults to math/rand.
	Roll func() float64
	// Schemas compiles input schemas. Without it, templates with an input schema are refused.
	Schemas SchemaCompiler
	// Grouper puts failures into groups by rules. Without it, a fingerprint alone decides.
	Grouper Grouper
	// Hooks store events for webhooks, in the transaction in which they happen. Defaults to none.
	Hooks EventHooks
	// ByHand leaves AdvanceChildren, HandOverSignals, GiveTurns, AdmitAll and CountBursts to their callers: nothing runs
	// them after a commit. For tests that compare runs, or decide about the order of transactions.
	ByHand bool
	// Seals encrypts what is sensitive in the store. Defaults to none: it is stored in clear text.
	Seals Seals
	// Observer receives the effects of transactions. Defaults to none.
	Observer Observer
	// Transitions reports each single transition of a task or step to the Observer.
	Transitions bool
	// Blobs keeps results above Limits.PayloadBytes. Defaults to none: they are refused.
	Blobs Blobs
	// Without names features that the engine does not have. For tests that show that nothing else needs them.
	Without []string
	// Dispatcher keeps the order of ready steps and their leases. Without it the store keeps both.
	Dispatcher Dispatcher
}

// SchemaCompiler compiles a JSON Schema.
type SchemaCompiler func(schema []byte) (SchemaChecker, error)

// SchemaChecker checks a document and returns the problems found, each with its JSON pointer.
type SchemaChecker interface {
	Check(document []byte) []task.Problem
}

// callers bounds how many callers share one transaction. It bounds the time that the first
// caller of a batch waits for the last.
const callers = 1024

// New returns an Engine on a database. It reads the routes that the store knows. Invalid: the
// configuration breaks a rule. Other errors are the store's. The parts are made in the order in
// which they need each other: the clock before anything that reads it, the catalog before the
// routes are loaded.
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

// instant returns the time of the clock, in the resolution of the stores. It is microseconds
// since 1970.
func (e *Engine) instant() task.Instant { return task.At(e.now()) }

// write runs fn as one transaction on a fresh unit of work and, once it is committed, wakes the
// waiters that it concerns. The verb is for the observer. A unit belongs to one run of the
// transaction: when the store runs it again, after a serialization failure, the pollers
// reserved by the earlier run are released first. fn must not change anything outside of its
// unit except variables that it sets anew in each run.
func (e *Engine) write(ctx context.Context, verb string, fn func(u *unit) error) error {
	began, pass := e.startObserving(), e.feed.Begin()
	defer pass.End(verb, feed.ErrPanicked)
	var last *unit // of the last run: a transaction may run again
	runs := 0
	err := e.transact(ctx, func(ctx context.Context, tx Tx) error {
		runs++
		if last != nil {
			last.ready.releasePollers()
			last.ready.permit.leave()
			pass.Restart()
		}
		last = newUnit(ctx, e, tx)
		last.key = KeyOf(ctx)
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
			last.ready.releasePollers()
		}
		e.observeFailure(verb, began, err)
		return err
	}
	last.observed.verb, last.observed.began, last.observed.repeats = verb, began, runs-1
	last.committed()
	return nil
}

// nextToken returns a time that is later than all that it has returned before.
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
