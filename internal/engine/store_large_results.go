package engine

import (
	"context"
	"io"

	"github.com/taskerhq/tasker/internal/model/task"
)

// LargeResultStore keeps the list of the objects in the blob store, so that none is forgotten there.
type LargeResultStore interface {
	// AddLargeResult adds a large result that is about to be sent, in state LargeSent. One of the same key that nothing
	// refers to is sent again: its time changes. It reports false, and adds nothing, if one of the same key is taken or
	// doomed, or if the step has most others.
	AddLargeResult(ctx context.Context, tx Tx, l *task.LargeResult, most int) (bool, error)
	// TakeLargeResult moves a large result from LargeSent to LargeTaken and returns it; nil if there is none of this key
	// in that state.
	TakeLargeResult(ctx context.Context, tx Tx, key string) (*task.LargeResult, error)
	// FindUnusedLargeResults returns up to limit that nothing refers to, by key, in any state: doomed ones, those that
	// their step no longer has as its result, and those that were sent before a time and not taken, if the step is gone,
	// is settled, or has had a later lease. A lease that only a dispatcher knows is later than that of the step's row.
	FindUnusedLargeResults(ctx context.Context, sentBefore task.Instant, limit int) ([]task.LargeResult, error)
	// DoomLargeResult moves a large result from a state to LargeDoomed, and reports whether it was in that state.
	DoomLargeResult(ctx context.Context, tx Tx, key string, from task.LargeResultState) (bool, error)
	// DropLargeResults removes doomed ones from the list.
	DropLargeResults(ctx context.Context, tx Tx, keys []string) error
}

// Blobs is the store of the objects themselves: see package blob, which declares the same methods.
type Blobs interface {
	Put(ctx context.Context, key string, content io.ReadSeeker, size int64, sum [32]byte) error
	Get(ctx context.Context, key string) (io.ReadCloser, error)
	Delete(ctx context.Context, key string) error
}
