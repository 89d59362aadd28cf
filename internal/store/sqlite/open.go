package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	_ "modernc.org/sqlite"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/kit/coalesce"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
	"github.com/taskerhq/tasker/internal/store/migration"
)

// Options are the settings of a Store.
type Options struct {
	// Readers bounds the connections for queries. Defaults to 4.
	Readers int
	// for a new file's IDs; 0 draws one at random
	Seed uint64
	// Migrate selects the handling of an outdated schema or a missing file. Defaults to Auto.
	Migrate migration.Mode
}

// Store is an engine.Store on a SQLite file, or on a database in memory. It is safe for concurrent use. Readers run on
// a pool of connections, all writes on one. The lock file is beside the file, with the suffix ".lock".
type Store struct {
	store.SQL

	path string
	lock *fileLock // nil in memory
	gate *gate     // nil for a file
	pool *sql.DB
	// conn, ids and tx belong to the goroutine that runs a commit of group.
	conn  *conn
	ids   *task.Source
	tx    *tx
	group *coalesce.Group[write, error]

	closing sync.Once
	closed  atomic.Bool
}

var _ engine.Database = (*Store)(nil)

// maxFused bounds the writes in one transaction, and so the repeated work after one failing write.
const maxFused = 256

// Open opens a file. If opts allow it, Open creates the file with its directory and migrates it. It fails with
// task.Unavailable if another process has the file open. The caller must call Close.
func Open(ctx context.Context, path string, opts *Options) (*Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	lock, err := takeFile(path, opts.Migrate != migration.Never)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	s := &Store{path: path, lock: lock}
	if err := s.open(ctx, opts); err != nil {
		_ = s.Close() // the reason of the failure matters, not this error
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return s, nil
}

// open continues after the file is locked. After an error the caller closes the store.
func (s *Store) open(ctx context.Context, opts *Options) error {
	var err error
	reader, writer := dsn(s.path, readerPragmas), dsn(s.path, writerPragmas)
	if s.gate != nil {
		reader, writer = memoryDSN(s.path, memoryReaderPragmas), memoryDSN(s.path, memoryWriterPragmas)
	}
	if s.pool, err = sql.Open("sqlite", reader); err != nil {
		return err
	}
	most := opts.Readers
	if most <= 0 {
		most = 4
	}
	s.pool.SetMaxOpenConns(most)
	s.pool.SetMaxIdleConns(most)
	if s.gate == nil { // a file is migrated before the writer opens it
		if err := migrate(ctx, s.path, opts.Migrate); err != nil {
			return err
		}
	}
	if s.conn, err = dial(s.pool.Driver(), writer); err != nil {
		return err
	}
	if s.gate != nil { // a database in memory lives while a connection does
		if err := fill(ctx, writer); err != nil {
			return err
		}
	}
	if s.ids, err = s.openIDs(ctx, opts.Seed); err != nil {
		return err
	}
	d := dialect(s.ids)
	readers := store.Pool{DB: s.pool, Prepared: store.NewPrepared(s.pool), Classify: s.classify}
	s.SQL = store.SQL{Conn: readers, Dialect: d}
	if s.gate != nil {
		s.SQL.Conn = gated{readers, s.gate}
	}
	s.tx = newTx(s.conn, d, s.ids)
	// One commit runs at a time: SQLite has one writer.
	s.group = coalesce.New(maxFused, 1, s.commit)
	return s.tx.loadQueues()
}

// The writer syncs every commit and moves the log into the file a few times a second under load. Readers cannot write.
var (
	writerPragmas = []string{"journal_mode(wal)", "synchronous(full)", "busy_timeout(10000)", "foreign_keys(off)",
		"cache_size(-65536)", "wal_autocheckpoint(" + strconv.Itoa(checkpointPages) + ")", "temp_store(memory)",
		"journal_size_limit(67108864)"}
	readerPragmas = []string{"busy_timeout(10000)", "query_only(1)", "cache_size(-8192)", "temp_store(memory)"}
)

// checkpointPages is the length of the log, in pages of 4 KiB, at which a commit moves it into the file. A longer log
// makes readers slower, a shorter one writes hot pages more often.
const checkpointPages = 4000

// dsn returns the driver's name of a file. The pragmas apply to each connection that is opened with it.
func dsn(path string, pragmas []string) string {
	q := url.Values{"_pragma": pragmas}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

// openIDs continues the IDs of the file after the largest one in use. The seed of a new file is stored in it, so that
// the IDs computed from rowids never change. A restarted process must not reuse an ID, even if the clock was set back.
func (s *Store) openIDs(ctx context.Context, seed uint64) (*task.Source, error) {
	if seed == 0 {
		var b [8]byte
		if _, err := rand.Read(b[:]); err != nil {
			return nil, err
		}
		seed = binary.BigEndian.Uint64(b[:])
	}
	const keep = `INSERT INTO tasker_meta (key, value) VALUES ('id_seed', $1) ON CONFLICT DO NOTHING`
	if _, err := s.conn.Exec(ctx, keep, strconv.FormatUint(seed, 16)); err != nil {
		return nil, err
	}
	var kept store.Text
	var last int64
	// Every table whose key is an ID of this source must be listed here.
	const find = `SELECT value, max(coalesce((SELECT max(id) FROM tasker_tasks), 0),
  coalesce((SELECT max(id) FROM tasker_workflow_steps), 0), coalesce((SELECT max(id) FROM tasker_workers), 0),
  coalesce((SELECT max(dlq_entry_uuid) FROM tasker_tasks_dlq), 0),
  coalesce((SELECT max(letter_id) FROM tasker_letters), 0),
  coalesce((SELECT max(redrive_id) FROM tasker_redrives), 0),
  coalesce((SELECT max(replay_id) FROM tasker_replays), 0)) FROM tasker_meta WHERE key = 'id_seed'`
	err := s.conn.Query(ctx, find, nil, func(row store.Row) error { return row.Scan(&kept, &last) })
	if err != nil {
		return nil, err
	}
	if seed, err = strconv.ParseUint(string(kept), 16, 64); err != nil {
		return nil, fmt.Errorf("read the seed of IDs: %w", err)
	}
	return task.NewSource(seed, last), nil
}

// dialect stores an ID as its 60-bit sequence, which is the rowid: half the size, and no second index.
func dialect(ids *task.Source) store.Dialect {
	return store.Dialect{
		ID:       func(id task.ID) any { return id.Seq() },
		ScanID:   func(id *task.ID) sql.Scanner { return scanID{ids, id} },
		Contains: func(column, arg string) string { return "instr(" + column + ", " + arg + ") > 0" },
	}
}

type scanID struct {
	ids *task.Source
	dst *task.ID
}

// Scan implements sql.Scanner; NULL is the zero ID.
func (s scanID) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*s.dst = task.ID{}
	case int64:
		*s.dst = s.ids.ID(v)
	default:
		return fmt.Errorf("an ID column holds %T", v)
	}
	return nil
}

// IDs implements engine.Store.
func (s *Store) IDs() *task.Source { return s.ids }

// Ping implements engine.Store.
func (s *Store) Ping(ctx context.Context) error { return s.classify(s.pool.PingContext(ctx)) }

// Close implements engine.Store. It waits for the accepted writes. Closing twice is harmless.
func (s *Store) Close() error {
	var err error
	s.closing.Do(func() { err = s.close() })
	return err
}

func (s *Store) close() error {
	var errs []error
	if s.group != nil {
		// the last accepted write: every write before it is committed too
		_, err := s.group.Do(context.Background(), write{ctx: context.Background(),
			fn: func(context.Context, engine.Tx) error {
				s.closed.Store(true)
				return nil
			}})
		errs = append(errs, err)
	}
	if s.pool != nil {
		errs = append(errs, s.pool.Close())
	}
	if s.conn != nil {
		errs = append(errs, s.conn.close())
	}
	s.lock.release()
	return joinErrors(errs)
}
