package postgres

import (
	"context"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
)

// tx is one run of a unit of work; a repetition gets a new one. Its writes wait for a query or the commit: then all are
// sent in one pipeline. A unit without queries is a single pipeline, which PostgreSQL runs as one transaction.
type tx struct {
	store *Store
	conn  *conn
	// locking: an earlier run lost a race. Rows are read afresh, and locked.
	locking bool
	// doubting: the next read of the queues includes those seen empty.
	doubting bool
	// guest: the transaction belongs to an external caller, who commits it.
	guest bool

	sql     store.SQL
	begun   bool
	pending []request

	steps map[task.ID]*seenStep
	tasks map[task.ID]*seenTask
	// contexts that came with a step, or were inserted
	contexts map[task.ID][]byte
	wrote    bool
	// queued are the routes on which steps became ready, before ahead of when
	queued map[int64]struct{}
	begin  time.Time
	after  []func()     // after a commit
	undone []func(bool) // after a rollback
}

var (
	_ engine.Tx    = (*tx)(nil)
	_ store.Handle = (*tx)(nil)
)

type seenStep struct {
	row        stepRow
	remembered bool // not read in this transaction: checked at its end
	saved      bool
}

type seenTask struct {
	row        taskRow
	remembered bool
	saved      bool
	inserted   bool
}

func (t *tx) Handle() engine.Handle { return t }

func (t *tx) SQL() store.SQL { return t.sql }

// AfterCommit implements engine.Handle. false: an external caller commits, unseen by this process.
func (t *tx) AfterCommit(fn func()) bool {
	if t.guest {
		return false
	}
	t.after = append(t.after, fn)
	return true
}

func (t *tx) AfterRollback(fn func(sure bool)) { t.undone = append(t.undone, fn) }

func in(of engine.Tx) *tx { return of.Handle().(*tx) }

// WatchStore implements engine.Database.
func (s *Store) WatchStore() engine.WatchStore { return s }

// KeyStore implements engine.Database.
func (s *Store) KeyStore() engine.KeyStore { return s }

// UniqueStore implements engine.Database.
func (s *Store) UniqueStore() engine.UniqueStore { return s }

// newTx returns a transaction that has not begun: BEGIN travels with its first query. A careful one locks the rows that
// it reads.
func (s *Store) newTx(c *conn, careful bool) *tx {
	t := &tx{store: s, conn: c, locking: careful, begin: s.Now(),
		steps: map[task.ID]*seenStep{}, tasks: map[task.ID]*seenTask{}, contexts: map[task.ID][]byte{},
		queued: map[int64]struct{}{}}
	t.sql = store.SQL{Conn: portable{t}, Dialect: dialect()}
	if s.settings != nil {
		t.later(*s.settings)
	}
	return t
}

// later sends a statement with the next query, or with the commit.
func (t *tx) later(r request) { t.pending = append(t.pending, r) }

func (t *tx) exec(sql string, args ...any) {
	t.wrote = true
	t.later(request{sql: sql, args: args})
}

func (t *tx) ask(ctx context.Context, sql string, args []any, each func(store.Row) error) error {
	return t.send(ctx, request{sql: sql, args: args, each: each})
}

// send sends all waiting statements and a request, in one round trip. An error may be that of an earlier statement.
func (t *tx) send(ctx context.Context, r request) error {
	if !t.begun && !t.guest {
		t.pending = append([]request{{sql: "BEGIN"}}, t.pending...)
	}
	t.begun = true
	reqs := append(t.pending, r)
	t.pending = nil
	return t.conn.run(ctx, reqs)
}

// commit verifies that every row is unchanged, and ends the transaction. It returns the version of the rows that it
// wrote; 0 if the cache needs none.
func (t *tx) commit(ctx context.Context) (version uint32, err error) {
	t.check()
	if t.wrote && !t.guest && t.leavesRows() {
		// the rows written have the transaction's number as their version
		t.later(request{sql: `SELECT pg_current_xact_id()::xid`, each: func(r store.Row) error { return r.Scan(&version) }})
	}
	if t.begun && !t.guest {
		t.later(request{sql: "COMMIT"})
	}
	if len(t.pending) == 0 {
		return 0, nil
	}
	reqs := t.pending
	t.pending = nil
	err = t.conn.run(ctx, reqs) // sets version
	return version, err
}

// leavesRows reports whether the cache may keep a saved row. It keeps none of settled tasks, nor new ones without a
// lease, which are not seen here: most results and submissions do without the query.
func (t *tx) leavesRows() bool {
	for _, k := range t.tasks {
		if k.saved && !k.row.State.Settled() {
			return true
		}
	}
	for _, s := range t.steps {
		if s.saved {
			if k := t.tasks[s.row.TaskID]; k == nil || !k.row.State.Settled() {
				return true
			}
		}
	}
	return false
}

// check fails the transaction if it decided on an outdated cached row without saving it. A step in a final state never
// changes again.
func (t *tx) check() {
	var tasks, steps seenRows
	for id, k := range t.tasks {
		if k.remembered && !k.saved {
			tasks.add(id, k.row.version)
		}
	}
	for id, s := range t.steps {
		if s.remembered && !s.saved && !s.row.State.Terminal() {
			steps.add(id, s.row.version)
		}
	}
	const unchanged = `SELECT tasker_expect(count(*), $3) FROM unnest($1::uuid[], $2::xid[]) AS u(id, seen) JOIN `
	if n := len(tasks.ids); n > 0 {
		t.later(request{sql: unchanged + `tasker_tasks t ON t.id = u.id AND t.xmin = u.seen`,
			args: []any{tasks.ids, tasks.versions, n}})
	}
	if n := len(steps.ids); n > 0 {
		t.later(request{sql: unchanged + `tasker_workflow_steps t ON t.id = u.id AND t.xmin = u.seen`,
			args: []any{steps.ids, steps.versions, n}})
	}
}

// seenRows are IDs of rows with the versions that they must still have; 0 for rows that this transaction has written.
type seenRows struct {
	ids      []task.ID
	versions []uint32
}

func (s *seenRows) add(id task.ID, version uint32) {
	s.ids, s.versions = append(s.ids, id), append(s.versions, version)
}

// committed caches the rows that this process will need: those with a lease, those it had cached, and new ones if
// configured.
func (t *tx) committed(version uint32) {
	kept := map[task.ID]struct{}{}
	for _, s := range t.steps {
		if s.row.State.Leased() && s.saved {
			kept[s.row.TaskID] = struct{}{}
		}
	}
	tasks := make([]*taskRow, 0, len(t.tasks))
	keepNew := t.store.cacheNew.Load() && t.store.rowCache.hasRoom()
	for id, k := range t.tasks {
		if k.saved {
			k.row.version = version
		}
		_, keep := kept[id]
		keep = keep || keepNew && k.inserted
		if keep || k.remembered || k.saved && t.store.rowCache.remembers(id) {
			tasks = append(tasks, &k.row)
		}
	}
	steps := make([]*stepRow, 0, len(t.steps))
	for _, s := range t.steps {
		if s.saved {
			s.row.version = version
		}
		steps = append(steps, &s.row)
	}
	t.store.rowCache.keep(tasks, t.contexts, steps)
	t.store.routes.occupied(t.queued, t.store.Now())
	for _, fn := range t.after {
		fn()
	}
}

// failed drops the cached rows that the transaction relied on, with other rows of the same tasks, which costs a read
// and is always right.
func (t *tx) failed() {
	ids := make([]task.ID, 0, len(t.tasks))
	for id := range t.tasks {
		ids = append(ids, id)
	}
	for _, s := range t.steps {
		ids = append(ids, s.row.TaskID)
	}
	t.store.rowCache.forget(ids)
}

type portable struct{ t *tx }

// Exec implements store.Conn. The number of rows needs an answer, so it is a query.
func (p portable) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	var n int64
	p.t.wrote = true
	err := p.t.send(ctx, request{sql: query, args: args, rows: &n})
	return n, err
}

// Send implements store.Conn: the statement is sent with the next query, or with the commit.
func (p portable) Send(_ context.Context, query string, args ...any) error {
	p.t.exec(query, args...)
	return nil
}

// Query implements store.Conn. each must not use the transaction: the pipeline is being read.
func (p portable) Query(ctx context.Context, query string, args []any, each func(store.Row) error) error {
	return p.t.ask(ctx, query, args, each)
}

func (t *tx) AddAttempts(ctx context.Context, a []task.Attempt) error {
	return t.sql.AddAttempts(ctx, a)
}
func (t *tx) AddEvents(ctx context.Context, e []task.Event) error { return t.sql.AddEvents(ctx, e) }

func (t *tx) InsertTemplate(ctx context.Context, tpl *task.Template) (*task.Template, error) {
	return t.sql.InsertTemplate(ctx, tpl)
}

func (t *tx) Template(ctx context.Context, def int64) (*task.Template, error) {
	return t.sql.FindTemplateByDef(ctx, def)
}
func (t *tx) InsertRoute(ctx context.Context, r *task.Route) error { return t.sql.InsertRoute(ctx, r) }

func (t *tx) SaveWorker(ctx context.Context, w *task.Worker) error {
	return t.sql.SaveWorker(ctx, w)
}

// Workers implements engine.Tx with locks, because heartbeats of any node change the rows.
func (t *tx) Workers(ctx context.Context, nos []int64) ([]*task.Worker, error) {
	const query = `SELECT ` + store.WorkerColumns +
		` FROM tasker_workers WHERE worker_no = ANY($1) ORDER BY worker_no FOR UPDATE`
	var list []*task.Worker
	err := t.ask(ctx, query, []any{nos}, func(r store.Row) error {
		w, err := t.sql.ScanWorker(r)
		list = append(list, w)
		return err
	})
	return list, err
}
