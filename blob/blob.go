// Package blob is the seam to a store of large objects, where results above the inline limit are kept. A server has
// drivers for a directory and for S3-compatible services; a program that embeds the engine may bring its own.
package blob

import (
	"context"
	"io"
)

// MaxKey bounds a key, in bytes.
const MaxKey = 200

// Store keeps objects by key. It is safe for concurrent use. A key has letters, digits, '-' and '/', and is at most
// MaxKey bytes long. The engine stores an object under a key once, or again with the same content, and never changes
// it.
//
// An error of a Store means that the call may succeed later: the engine tries again.
type Store interface {
	// Put stores an object of size bytes, whose SHA-256 is sum, and returns once it is durable. A reader sees the whole
	// object or none. Put may read content several times, each time from its start.
	Put(ctx context.Context, key string, content io.ReadSeeker, size int64, sum [32]byte) error
	// Get opens an object. The error of one that does not exist wraps fs.ErrNotExist.
	Get(ctx context.Context, key string) (io.ReadCloser, error)
	// Delete removes an object. It returns nil if there is none.
	Delete(ctx context.Context, key string) error
}
