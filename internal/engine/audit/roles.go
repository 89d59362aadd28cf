package audit

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/kit/chain"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Database is a database of the engine, with the rows of the chain.
type Database interface {
	engine.Writer
	ActStore() engine.ActStore
	Chain() Store
}

// Store is the rows of the chain. Its methods are safe for concurrent use.
type Store interface {
	Sealing
	Reader
	Archiving
}

// Sealing adds links. It locks the acts that it takes, so that each is sealed once.
type Sealing interface {
	// AnyUnsealed reports whether acts wait for their link.
	AnyUnsealed(ctx context.Context) (bool, error)
	// Unsealed returns acts without a link, by number: up to limit and about bytes of data, but at least one.
	Unsealed(ctx context.Context, tx engine.Tx, limit, bytes int) ([]task.Act, error)
	// Head returns the head of the chain.
	Head(ctx context.Context, tx engine.Tx) (chain.Head, error)
	// AddLinks stores links; their acts are sealed then.
	AddLinks(ctx context.Context, tx engine.Tx, links []chain.Link) error
}

// Reader reads the chain, from which only archived links are removed.
type Reader interface {
	// Links returns links above a number, in order: up to limit and about bytes of acts' data, but at least one.
	Links(ctx context.Context, above int64, limit, bytes int) ([]Sealed, error)
	// Loose looks at up to limit acts above a number, and returns those without a link and the last number; 0 at the
	// end.
	Loose(ctx context.Context, above int64, limit int) (loose []Loose, through int64, err error)
	// Archives returns the heads of archives, the earliest first. The reader must check the sealed act: anyone with
	// access to the database can insert a row.
	Archives(ctx context.Context) ([]Archive, error)
}

// Archiving removes archived links.
type Archiving interface {
	// Link returns a link, or nil.
	Link(ctx context.Context, tx engine.Tx, seq int64) (*chain.Link, error)
	// Archived returns the last head that a sealed act calls archived, or the zero Head.
	Archived(ctx context.Context, tx engine.Tx) (chain.Head, error)
	// AddArchive stores that the chain was archived up to a link. Once its act is sealed, the database permits
	// DropArchived.
	AddArchive(ctx context.Context, tx engine.Tx, a Archive) error
	// DropArchived deletes up to limit archived links with their acts, and returns their number.
	DropArchived(ctx context.Context, tx engine.Tx, limit int) (int, error)
}

// Sealed is a link with its act.
type Sealed struct {
	Link chain.Link
	Act  *task.Act // nil: it does not exist
}

// Loose is an act outside of the chain.
type Loose struct {
	No      int64
	Waiting bool // for its link
	Exists  bool // false: removed before it was sealed
}

// Archive is a head up to which the chain was archived.
type Archive struct {
	Head chain.Head
	At   task.Instant
	Acts int64
}
