package sqlite

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store"
)

// tx is the transaction of the one writer. It outlives single transactions, because it caches rows between them.
type tx struct {
	sql  store.SQL
	conn *conn
	ids  *task.Source

	// nonEmpty holds the routes that may have ready steps, so that a worker of many routes reads few.
	nonEmpty map[int64]struct{}

	rows    *rows
	emptied []int64 // removed from nonEmpty by the current transaction
	// leaving counts the ready steps of routes that were all returned to the caller, but are not taken yet.
	leaving map[int64]int
	after   []func()     // after a commit
	failed  []func(bool) // after a rollback
}

var (
	_ engine.Tx    = (*tx)(nil)
	_ store.Handle = (*tx)(nil)
)

func newTx(c *conn, d store.Dialect, ids *task.Source) *tx {
	return &tx{sql: store.SQL{Conn: c, Dialect: d}, conn: c, ids: ids, nonEmpty: map[int64]struct{}{},
		leaving: map[int64]int{}, rows: newRows()}
}

func (t *tx) Handle() engine.Handle { return t }

func (t *tx) SQL() store.SQL { return t.sql }

func (t *tx) AfterCommit(fn func()) bool {
	t.after = append(t.after, fn)
	return true
}

func (t *tx) AfterRollback(fn func(sure bool)) { t.failed = append(t.failed, fn) }

func in(of engine.Tx) *tx { return of.Handle().(*tx) }

// WatchStore implements engine.Database.
func (s *Store) WatchStore() engine.WatchStore { return s }

// KeyStore implements engine.Database.
func (s *Store) KeyStore() engine.KeyStore { return s }

// begin resets the state of one transaction, before the first function of a batch, not before each.
func (t *tx) begin() {
	t.rows.trim()
	t.emptied = t.emptied[:0]
	clear(t.leaving)
	t.after, t.failed = nil, nil
}

// undo restores the caches after a rollback. Cached rows may be those of the failed transaction, so all are dropped.
// Routes added to nonEmpty may stay there: they may have ready steps, which is all that the set says.
func (t *tx) undo() {
	t.rows.forget()
	for _, r := range t.emptied {
		t.nonEmpty[r] = struct{}{}
	}
}

func (t *tx) empty(route int64) {
	delete(t.nonEmpty, route)
	t.emptied = append(t.emptied, route)
}

func (t *tx) loadQueues() error {
	const query = `SELECT route_id FROM tasker_routes r WHERE EXISTS (SELECT 1 FROM tasker_workflow_steps s
  WHERE s.queue = r.route_id)`
	return t.conn.Query(context.Background(), query, nil, func(r store.Row) error {
		var id int64
		err := r.Scan(&id)
		t.nonEmpty[id] = struct{}{}
		return err
	})
}

func (t *tx) queued(s *task.Step) {
	if s.Queue > 0 {
		t.nonEmpty[s.Queue] = struct{}{}
		delete(t.leaving, s.Queue)
	}
}

// taken records that a saved step left its route. If the transaction has read all ready steps of the route, the last
// one to leave empties it, and a later claim need not read.
func (t *tx) taken(was task.Step, s *task.Step) {
	left, ok := t.leaving[was.Queue]
	if !ok || s.Queue == was.Queue {
		return
	}
	if t.leaving[was.Queue] = left - 1; left == 1 {
		delete(t.leaving, was.Queue)
		t.empty(was.Queue)
	}
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

// ExpectKnown implements engine.Tx: there is no other writer.
func (t *tx) ExpectKnown(context.Context, map[int64]*task.Template, map[int64]*task.Route) error {
	return nil
}

func (t *tx) InsertRoute(ctx context.Context, r *task.Route) error { return t.sql.InsertRoute(ctx, r) }
func (t *tx) SaveWorker(ctx context.Context, w *task.Worker) error { return t.sql.SaveWorker(ctx, w) }

func (t *tx) Workers(ctx context.Context, nos []int64) ([]*task.Worker, error) {
	var list []*task.Worker
	for _, no := range nos {
		w, err := t.sql.FindWorkerByNo(ctx, no)
		if err != nil {
			return nil, err
		}
		if w != nil {
			list = append(list, w)
		}
	}
	return list, nil
}
