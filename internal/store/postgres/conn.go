package postgres

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/taskerhq/tasker/internal/store"
)

type request struct {
	sql  string
	args []any
	each func(store.Row) error // nil: no answer needed
	rows *int64                // affected rows; may be nil
}

// statements is this process's view of its statements. The code has a bounded number of constants, so none is ever
// dropped.
type statements struct {
	// unnamed: behind a pooler, which gives the connection to others between transactions, each statement is parsed
	// again, with the parameter types learned the first time.
	unnamed bool
	// settings make our schema visible in a transaction if the session does not; else nil.
	settings *request

	mu    sync.Mutex
	known map[string]*statement
}

// statement is the text of one statement and, behind a pooler, the types of its parameters.
type statement struct {
	name  string
	sql   string
	mu    sync.Mutex
	oids  []uint32 // nil until learned
	ready bool
}

func newStatements(unnamed bool) *statements {
	return &statements{unnamed: unnamed, known: map[string]*statement{}}
}

// of returns the statement of a text, with the same name on all connections of the process.
func (s *statements) of(sql string) *statement {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, ok := s.known[sql]
	if !ok {
		st = &statement{name: "tasker_" + strconv.Itoa(len(s.known)), sql: sql}
		s.known[sql] = st
	}
	return st
}

// conn speaks the extended protocol on one connection. One goroutine at a time uses it.
type conn struct {
	pg    *pgconn.PgConn
	known *statements
	// of this connection; nil if it keeps none
	prepared map[string]*pgconn.StatementDescription
	encoder  encoder
}

const dataKey = "tasker"

// connOf always returns the same conn for a connection, which keeps its prepared statements in the pool.
func connOf(pg *pgconn.PgConn, known *statements) *conn {
	// A guest's connection may be shared by two Stores, each with its own statements.
	if c, ok := pg.CustomData()[dataKey].(*conn); ok && c.known == known {
		return c
	}
	c := &conn{pg: pg, known: known}
	if !known.unnamed {
		c.prepared = map[string]*pgconn.StatementDescription{}
	}
	pg.CustomData()[dataKey] = c
	return c
}

var binaryFormat = []int16{1}

// run sends the requests as one pipeline and distributes their answers: one round trip, and one transaction unless one
// is open. The first error ends it on the server; run reports callback errors after it has read everything. Every
// statement of this package passes here, because pgx's own query functions would need a round trip per statement in a
// transaction.
func (c *conn) run(ctx context.Context, reqs []request) error {
	descriptions, err := c.prepare(ctx, reqs)
	if err != nil {
		return err
	}
	// The buffer may move while it grows: slices of the old array stay valid.
	c.encoder.reset()
	values := make([][][]byte, len(reqs))
	for i, r := range reqs {
		if values[i], err = c.encoder.values(descriptions[i].ParamOIDs, r.args); err != nil {
			return fmt.Errorf("%s: %w", r.sql, err)
		}
	}
	p := c.pg.StartPipeline(ctx)
	for i, r := range reqs {
		if c.prepared == nil {
			p.SendQueryParams(r.sql, values[i], descriptions[i].ParamOIDs, binaryFormat, binaryFormat)
		} else {
			p.SendQueryStatement(descriptions[i], values[i], binaryFormat, binaryFormat)
		}
	}
	// Sync ends the pipeline on the server; the answers follow.
	err = p.Sync()
	for i := 0; i < len(reqs) && err == nil; i++ {
		var failed error
		if failed, err = receive(p, &reqs[i]); err == nil {
			err = failed
		}
	}
	return first(err, p.Close())
}

// first returns the first error: the cause of most others.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// receive reads the answer to a request. failed is the callback's error, err the server's. After a failed callback it
// drops the remaining rows, so that the pipeline stays usable.
func receive(p *pgconn.Pipeline, r *request) (failed, err error) {
	results, err := p.GetResults()
	if err != nil {
		return nil, err
	}
	rr, ok := results.(*pgconn.ResultReader)
	if !ok {
		return nil, fmt.Errorf("the server answered a statement with %T", results)
	}
	for rr.NextRow() {
		if r.each != nil && failed == nil {
			failed = r.each(row{rr.FieldDescriptions(), rr.Values()})
		}
	}
	tag, err := rr.Close()
	if r.rows != nil {
		*r.rows = tag.RowsAffected()
	}
	return failed, err
}

func (c *conn) prepare(ctx context.Context, reqs []request) ([]*pgconn.StatementDescription, error) {
	out := make([]*pgconn.StatementDescription, len(reqs))
	var missing []string
	for i, r := range reqs {
		if out[i] = c.description(r.sql); out[i] == nil {
			missing = append(missing, r.sql)
		}
	}
	if len(missing) == 0 {
		return out, nil
	}
	if err := c.describe(ctx, missing); err != nil {
		return nil, err
	}
	for i, r := range reqs {
		if out[i] == nil {
			out[i] = c.description(r.sql)
		}
	}
	return out, nil
}

func (c *conn) description(sql string) *pgconn.StatementDescription {
	if c.prepared != nil {
		return c.prepared[sql]
	}
	st := c.known.of(sql)
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.ready {
		return nil
	}
	return &pgconn.StatementDescription{SQL: sql, ParamOIDs: st.oids}
}

// describe prepares statements, in one round trip and one transaction. On an error, none counts as prepared. The
// settings go first because a statement is parsed with the search path of its transaction.
func (c *conn) describe(ctx context.Context, sqls []string) error {
	p := c.pg.StartPipeline(ctx)
	if s := c.known.settings; s != nil {
		values := make([][]byte, len(s.args))
		for i, arg := range s.args {
			values[i] = fmt.Append(nil, arg)
		}
		p.SendQueryParams(s.sql, values, nil, nil, nil)
	}
	var sent []*statement
	for _, sql := range sqls {
		st := c.known.of(sql)
		name := st.name
		if c.prepared == nil {
			name = ""
		}
		if c.prepared != nil && c.prepared[sql] != nil {
			continue // twice in one pipeline
		}
		if c.prepared != nil {
			// A placeholder, so that the same text later in the list is skipped; learn replaces it.
			c.prepared[sql] = &pgconn.StatementDescription{}
		}
		p.SendPrepare(name, sql, nil)
		sent = append(sent, st)
	}
	err := p.Sync()
	if err == nil && c.known.settings != nil {
		_, err = receive(p, &request{})
	}
	for _, st := range sent {
		if err != nil {
			break
		}
		err = c.learn(p, st)
	}
	if err = first(err, p.Close()); err != nil {
		for _, st := range sent {
			delete(c.prepared, st.sql)
		}
	}
	return err
}

// learn reads the answer to one preparation: for this connection, or behind a pooler only the parameter types, for all.
func (c *conn) learn(p *pgconn.Pipeline, st *statement) error {
	results, err := p.GetResults()
	if err != nil {
		return fmt.Errorf("prepare %q: %w", st.sql, err)
	}
	d, ok := results.(*pgconn.StatementDescription)
	if !ok {
		return fmt.Errorf("the server answered a preparation with %T", results)
	}
	if c.prepared != nil {
		kept := *d
		kept.Name, kept.SQL = st.name, st.sql
		c.prepared[st.sql] = &kept
		return nil
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.oids, st.ready = d.ParamOIDs, true
	return nil
}
