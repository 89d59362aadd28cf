package store

import (
	"context"
	"database/sql"
	"sync"
)

// Prepared keeps the queries of a pool prepared, which costs SQLite more than running a small one. database/sql
// prepares each once for every connection. A query is kept from its second use, because those with long lists or rare
// filters hardly come again. It is safe for concurrent use.
type Prepared struct {
	db *sql.DB

	mu    sync.RWMutex
	kept  map[string]*sql.Stmt
	asked map[string]struct{} // used once
}

// Bounds of the kept queries. The code has fewer constants.
const (
	maxPrepared      = 250
	maxPreparedBytes = 4 << 10
	maxAsked         = 1000
)

// NewPrepared returns an empty Prepared for a pool, which closes the statements with itself.
func NewPrepared(db *sql.DB) *Prepared {
	return &Prepared{db: db, kept: map[string]*sql.Stmt{}, asked: map[string]struct{}{}}
}

func (p *Prepared) query(ctx context.Context, query string, args []any) (*sql.Rows, error) {
	if rows, ran, err := p.queryKept(ctx, query, args); ran {
		return rows, err
	}
	if p.again(query) {
		if err := p.keep(ctx, query); err != nil {
			return nil, err
		}
	}
	return p.db.QueryContext(ctx, query, args...)
}

// queryKept runs a kept query. The lock keeps its statement open until it runs; its rows keep it open then.
func (p *Prepared) queryKept(ctx context.Context, query string, args []any) (rows *sql.Rows, ran bool, err error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	s, ok := p.kept[query]
	if !ok {
		return nil, false, nil
	}
	rows, err = s.QueryContext(ctx, args...) //nolint:sqlclosecheck // the caller closes them
	return rows, true, err
}

func (p *Prepared) again(query string) bool {
	if len(query) > maxPreparedBytes {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, before := p.asked[query]; before {
		delete(p.asked, query)
		return true
	}
	if len(p.asked) >= maxAsked {
		clear(p.asked)
	}
	p.asked[query] = struct{}{}
	return false
}

// keep prepares a query. When there are too many, it drops all: the ones in use soon come back.
func (p *Prepared) keep(ctx context.Context, query string) error {
	s, err := p.db.PrepareContext(ctx, query)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept[query] != nil {
		return s.Close() //nolint:sqlclosecheck // another caller was first; else it is kept
	}
	if len(p.kept) >= maxPrepared {
		for _, old := range p.kept {
			_ = old.Close() // it only read
		}
		clear(p.kept)
	}
	p.kept[query] = s
	return nil
}
