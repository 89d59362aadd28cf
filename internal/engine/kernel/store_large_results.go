package kernel

import (
	"context"
	"io"

	"github.com/taskerhq/tasker/internal/model/task"
)

// LargeResultStore lists the objects in the blob store, so that none is forgotten.
type LargeResultStore interface {
	// AddLargeResult adds a large result before it is sent, in state LargeSent, or renews the time of an unused one
	// of the same key. It reports false, and adds nothing, if the key is taken or doomed, or the step has most
	// others.
	AddLargeResult(ctx context.Context, tx Tx, l *task.LargeResult, most int) (bool, error)
	// TakeLargeResult moves a large result from LargeSent to LargeTaken and returns it, or nil.
	TakeLargeResult(ctx context.Context, tx Tx, key string) (*task.LargeResult, error)
	// FindUnusedLargeResults returns up to limit unused results by key: doomed ones, those replaced in their step,
	// and those sent before a time and not taken whose step is gone, settled, or has had a later lease. A
	// dispatcher's lease is later than that of the step's row.
	FindUnusedLargeResults(ctx context.Context, sentBefore task.Instant, limit int) ([]task.LargeResult, error)
	// DoomLargeResult moves a large result from a state to LargeDoomed, and reports whether it was in that state.
	DoomLargeResult(ctx context.Context, tx Tx, key string, from task.LargeResultState) (bool, error)
	DropLargeResults(ctx context.Context, tx Tx, keys []string) error
}

// Blobs stores the objects: package blob declares the same methods.
type Blobs interface {
	Put(ctx context.Context, key string, content io.ReadSeeker, size int64, sum [32]byte) error
	Get(ctx context.Context, key string) (io.ReadCloser, error)
	Delete(ctx context.Context, key string) error
}
