package sqlite

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/taskerhq/tasker/internal/store"
	"github.com/taskerhq/tasker/internal/store/nesting"
)

// databases numbers the databases in memory of this process: SQLite distinguishes them by name.
var databases atomic.Int64

// OpenMemory opens a new database in memory, which ends with Close. It is a Store as any other, on SQLite's "memdb":
// writes fail at a size of 1 GiB. Options.Migrate is ignored: a new database has the newest schema. The caller must
// call Close.
func OpenMemory(ctx context.Context, opts *Options) (*Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	s := &Store{path: "/tasker-" + strconv.FormatInt(databases.Add(1), 10), gate: &gate{}}
	if err := s.open(ctx, opts); err != nil {
		_ = s.Close() // the reason of the failure matters, not this error
		return nil, fmt.Errorf("open a database in memory: %w", err)
	}
	return s, nil
}

// The connections to a database in memory. There is no disk to sync, and no log: it would have to be shared.
var (
	memoryWriterPragmas = []string{"journal_mode(memory)", "synchronous(off)", "busy_timeout(10000)", "foreign_keys(off)",
		"temp_store(memory)"}
	memoryReaderPragmas = []string{"busy_timeout(10000)", "query_only(1)", "temp_store(memory)"}
)

// memoryDSN returns the driver's name of a database in memory. With a leading slash the connections of this process
// share it; it ends with the last of them.
func memoryDSN(name string, pragmas []string) string {
	q := url.Values{"vfs": {"memdb"}, "_pragma": pragmas}
	return (&url.URL{Scheme: "file", Path: name, RawQuery: q.Encode()}).String()
}

// gate lets readers and the writer of a database in memory take turns. Without a log, SQLite would refuse readers
// during a transaction, and its end during a read, with a retry after a sleep; a gate opens immediately. A nil gate is
// always open.
type gate struct{ sync.RWMutex }

func (g *gate) close() {
	if g != nil {
		g.Lock()
	}
}

func (g *gate) open() {
	if g != nil {
		g.Unlock()
	}
}

type gated struct {
	store.Pool
	gate *gate
}

func (g gated) Query(ctx context.Context, query string, args []any, each func(store.Row) error) error {
	if err := nesting.Check(ctx); err != nil { // before the gate, which the transaction has closed
		return err
	}
	g.gate.RLock()
	defer g.gate.RUnlock()
	return g.Pool.Query(ctx, query, args, each)
}
