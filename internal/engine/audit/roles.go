package audit

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/kit/chain"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Database is where the chain is stored: a database of the engine, with the rows of the chain.
type Database interface {
	engine.Writer
	ActStore() engine.ActStore
	Chain() Store
}

// Store are the rows of the chain. Its methods are safe for concurrent use.
type Store interface {
	Sealing
	Reader
	Archiving
}

// Sealing is what adds links. A transaction that seals locks the acts that it takes, so that two of them seal each act
// once.
type Sealing interface {
	// AnyUnsealed reports whether acts wait for their link.
	AnyUnsealed(ctx context.Context) (bool, error)
	// Unsealed returns acts that wait for their link, with their data, in the order of their numbers: up to limit, and
	// fewer if their data is longer than about bytes, but at least one if there is one.
	Unsealed(ctx context.Context, tx engine.Tx, limit, bytes int) ([]task.Act, error)
	// Head returns the head of the chain.
	Head(ctx context.Context, tx engine.Tx) (chain.Head, error)
	// AddLinks stores links; their acts wait no more.
	AddLinks(ctx context.Context, tx engine.Tx, links []chain.Link) error
}

// Reader reads the chain. Nothing is removed from it but what has been archived.
type Reader interface {
	// Links returns links above a number, in order: up to limit, and fewer if the data of their acts is longer than
	// about bytes, but at least one if there is one.
	Links(ctx context.Context, above int64, limit, bytes int) ([]Sealed, error)
	// Loose examines up to limit acts above a number and returns those without a link, and the number up to which it has
	// looked; 0 at the end of the acts.
	Loose(ctx context.Context, above int64, limit int) (loose []Loose, through int64, err error)
	// Archives returns the heads up to which the chain was archived, the earliest first. The last one has an act that is
	// sealed, or else its link is gone, which the reader must judge: anyone who has access to the database can insert a
	// row.
	Archives(ctx context.Context) ([]Archive, error)
}

// Archiving removes what has been archived.
type Archiving interface {
	// Link returns a link, or nil.
	Link(ctx context.Context, tx engine.Tx, seq int64) (*chain.Link, error)
	// Archived returns the last head that a sealed act says was archived; the zero Head without one.
	Archived(ctx context.Context, tx engine.Tx) (chain.Head, error)
	// AddArchive stores that the chain has been archived up to a link. Once the act that says so is sealed, the database
	// permits to delete it.
	AddArchive(ctx context.Context, tx engine.Tx, a Archive) error
	// DropArchived deletes up to limit links that have been archived, with their acts, and returns their number.
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
	Exists  bool // false: it was removed while it was waiting
}

// Archive is a head up to which the chain was archived.
type Archive struct {
	Head chain.Head
	At   task.Instant
	Acts int64 // in this archive
}
