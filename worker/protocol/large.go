package protocol

import (
	"context"
	"io"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// LargeResultReceipt is the answer to a large result.
type LargeResultReceipt struct {
	tasker.LargeResult
	Reference string `json:"large_result" doc:"Name of the result in the call that settles the step, as large_result."`
}

// LargeResultBackend moves large results. The Backends of this module implement it. It is separate from Backend, so
// that other implementations continue to compile.
type LargeResultBackend interface {
	// SendLargeResult stores a result of a held step and renews its lease. The step then settles with the Reference.
	// CodeTooLarge: the server does not take it. CodeUnavailable: the blob store fails; send it again.
	// CodeStaleToken: the lease is over.
	SendLargeResult(ctx context.Context, worker uuid.UUID, lease LeaseRef, result []byte) (*LargeResultReceipt, error)
	// LargeParentResult opens the large result of a direct dependency of a held step. The caller closes it and
	// compares the SHA-256. CodeNotFound: there is none.
	LargeParentResult(ctx context.Context, worker uuid.UUID, lease LeaseRef, parent string) (io.ReadCloser, error)
	// LargeResult opens the large result of a step, likewise.
	LargeResult(ctx context.Context, task, step uuid.UUID) (io.ReadCloser, error)
}
