package postgres

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
	"github.com/taskerhq/tasker/internal/store/migration"
	"github.com/taskerhq/tasker/internal/store/nesting"
)

// Options are the settings of a Store.
type Options struct {
	// Timeout bounds one transaction or query, with the wait for a connection. Defaults to 15 s.
	Timeout time.Duration
	// Migrate selects the handling of an outdated schema. Defaults to Auto.
	Migrate migration.Mode

	machine func() clock.Reading // for tests; nil: this machine's clocks
}

// Store is an engine.Store on PostgreSQL, and an engine.Cluster. It is safe for concurrent use. Its goroutines end with
// Close.
type Store struct {
	store.SQL

	pool     *pgxpool.Pool
	dialer   *dialer
	listens  *pgx.ConnConfig // for the connection that receives peer events; nil behind a pooler
	known    *statements
	settings *request // for each transaction; nil if the session has them
	rowCache *rowCache
	// cacheNew caches the rows of new tasks until they are settled.
	cacheNew atomic.Bool
	routes   *queues
	ids      *task.Source
	node     string
	schema   string
	channel  string
	// installation identifies our database; guests are the statements on external connections.
	installation string
	guests       *statements
	timeout      time.Duration
	clock        *clock.Remote
	looking      sync.Mutex
	beats        int64 // number of the last pulse; looking guards it
	identity     identity
	news         *outbox
	sweep        sweep

	closing sync.Once
	closed  atomic.Bool
	stop    context.CancelFunc
	ended   sync.WaitGroup
}

var (
	_ engine.Database = (*Store)(nil)
	_ engine.Cluster  = (*Store)(nil)
)

// CacheNewRows implements engine.Rememberer.
func (s *Store) CacheNewRows() { s.cacheNew.Store(true) }

// Open connects to the database of a DSN (see ParseDSN) and migrates it if necessary and allowed. Errors have the codes
// Invalid for a DSN, server or schema that cannot work, and Unavailable for a temporary one. The caller must call
// Close.
func Open(ctx context.Context, dsn string, opts *Options) (*Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	d, err := ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	s, err := open(ctx, d, opts)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", d, classify(err))
	}
	return s, nil
}

func open(ctx context.Context, d DSN, opts *Options) (*Store, error) {
	var seed [8]byte
	if _, err := rand.Read(seed[:]); err != nil {
		return nil, err
	}
	cfg := d.Pool
	s := &Store{timeout: opts.Timeout, known: newStatements(d.PgBouncer), rowCache: newRowCache(), routes: newQueues(),
		ids: task.NewSource(binary.BigEndian.Uint64(seed[:]), 0), node: rand.Text()}
	if opts.machine == nil {
		opts.machine = clock.Machine()
	}
	s.clock = clock.NewRemote(opts.machine)
	if s.timeout <= 0 {
		s.timeout = 15 * time.Second
	}
	if d.PgBouncer {
		s.settings = transactionSettings(d.Schema)
		s.known.settings = s.settings
	} else {
		for name, value := range plans {
			cfg.ConnConfig.RuntimeParams[name] = value
		}
		s.listens = cfg.ConnConfig.Copy()
	}
	s.dialer = newDialer()
	cfg.ConnConfig.DialFunc = s.dialer.dial
	if s.listens != nil {
		s.listens.DialFunc = s.dialer.dial
	}
	s.identity.replaced, s.identity.table = []func(){s.forgetAll}, "tasker_meta"
	cfg.AfterConnect = s.checkIdentity
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s.pool = pool
	s.SQL = store.SQL{Conn: readers{s}, Dialect: dialect()}
	if err := s.ensure(ctx, d, opts.Migrate); err != nil {
		pool.Close()
		return nil, err
	}
	if err := s.start(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return s, nil
}

// start reads the database's time and identity, and starts the goroutines of the Store: the clock, the peer events and
// the watch over hung servers. The order matters: turns need the time of the database, and events the schema.
func (s *Store) start(ctx context.Context) error {
	bounded, cancel := s.bounded(ctx)
	defer cancel()
	if err := s.readClock(bounded); err != nil {
		return err
	}
	err := s.Query(bounded, `SELECT current_schema()::text, value FROM tasker_meta WHERE key = 'installation'`, nil,
		func(r store.Row) error {
			return r.Scan((*store.Text)(&s.schema), (*store.Text)(&s.installation))
		})
	if err != nil {
		return err
	}
	s.channel = "tasker:" + s.schema
	s.identity.named(quote(s.schema) + ".tasker_meta")
	_ = errors.Join(s.checkPool(bounded), s.pulse(bounded)) // as in followClock
	s.guests = newStatements(true)
	s.news = newOutbox()
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.ended.Go(func() { s.followClock(running) })
	s.ended.Go(func() { s.sendEvents(running) })
	s.ended.Go(func() { s.dialer.watch(running, s.pool.Reset) })
	return nil
}

// plans restricts the planner: every statement of ours has one good plan, along an index, even with outdated statistics
// of a table that was empty a minute ago. A sequence scan or hash join would be better for a small table and read a
// large one whole once it has grown.
var plans = map[string]string{
	"plan_cache_mode":   "force_generic_plan",
	"enable_seqscan":    "off",
	"enable_bitmapscan": "off",
	"enable_hashjoin":   "off",
	"enable_mergejoin":  "off",
	"jit":               "off",
	// workers take longer to start than most of our queries take
	"max_parallel_workers_per_gather": "0",
	"application_name":                "tasker",
}

// transactionSettings is the same for a transaction, if the session is shared, without application_name, which belongs
// to the session, and plan_cache_mode, as a shared session has no prepared statements.
func transactionSettings(schema string) *request {
	var calls []string
	var args []any
	set := func(name, value string) {
		calls = append(calls, fmt.Sprintf("set_config($%d, $%d, true)", len(args)+1, len(args)+2))
		args = append(args, name, value)
	}
	for name, value := range plans {
		if name != "application_name" && name != "plan_cache_mode" {
			set(name, value)
		}
	}
	if schema != "" {
		set("search_path", quote(schema))
	}
	return &request{sql: "SELECT " + strings.Join(calls, ", "), args: args}
}

type readers struct{ s *Store }

func (r readers) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	var n int64
	err := r.s.do(ctx, request{sql: query, args: args, rows: &n})
	return n, err
}

func (r readers) Send(ctx context.Context, query string, args ...any) error {
	return r.s.do(ctx, request{sql: query, args: args})
}

func (r readers) Query(ctx context.Context, query string, args []any, each func(store.Row) error) error {
	return r.s.do(ctx, request{sql: query, args: args, each: each})
}

// do runs one statement on a connection of the pool. It replaces a dead connection, but repeats the statement only if
// nothing can have been done: callbacks see the rows of one run.
func (s *Store) do(ctx context.Context, r request) error {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	for run := 1; ; run++ {
		err := s.once(ctx, r)
		if err == nil || run == maxRuns || !isStale(err) {
			return classify(err)
		}
	}
}

func (s *Store) once(ctx context.Context, r request) error {
	c, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	reqs := []request{r}
	if s.settings != nil {
		reqs = []request{*s.settings, r}
	}
	return connOf(c.Conn().PgConn(), s.known).run(ctx, reqs)
}

// acquire takes a connection out of the pool. It blocks while the pool is exhausted, until ctx ends. Unavailable: the
// store is closed. nesting.Err: ctx is that of an open transaction, which has a connection.
func (s *Store) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	if err := nesting.Check(ctx); err != nil {
		return nil, err
	}
	c, err := s.pool.Acquire(ctx)
	switch {
	case err != nil && s.closed.Load():
		return nil, task.Errorf(task.Unavailable, "the store is closed")
	case err != nil:
		return nil, fmt.Errorf("get a connection: %w", err)
	}
	return c, nil
}

// IDs implements engine.Store.
func (s *Store) IDs() *task.Source { return s.ids }

// Ping implements engine.Store.
func (s *Store) Ping(ctx context.Context) error {
	return s.Query(ctx, `SELECT 1`, nil, func(store.Row) error { return nil })
}

// Close implements engine.Store. It waits for the transactions in progress. Closing twice is harmless.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.closed.Store(true)
		s.stop()
		s.ended.Wait()
		s.pool.Close()
	})
	return nil
}

// isCut reports whether the network or the server ended a connection, which leaves the statement's outcome open.
func isCut(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) ||
		errors.Is(err, net.ErrClosed)
}
