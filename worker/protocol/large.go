package protocol

import (
	"context"
	"io"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// LargeResultReceipt is the answer to a large result that a worker has sent.
type LargeResultReceipt struct {
	tasker.LargeResult
	Reference string `json:"large_result" doc:"Name of the result in the call that settles the step, as large_result."`
}

// LargeResultBackend is the part of a Backend that moves large results. The Backends of this module have it, and Job
// and Client use it; it is not part of Backend, so that those of others continue to compile.
type LargeResultBackend interface {
	// SendLargeResult stores a result of a step that the worker holds, and renews its lease. The step then settles with
	// the Reference. CodeTooLarge: the server does not take it. CodeUnavailable: the blob store does not work; send it
	// again. CodeStaleToken: the lease is over.
	SendLargeResult(ctx context.Context, worker uuid.UUID, lease LeaseRef, result []byte) (*LargeResultReceipt, error)
	// LargeParentResult opens the large result of a direct dependency of a step that the worker holds. The caller closes
	// it, and compares the SHA-256. CodeNotFound: there is none.
	LargeParentResult(ctx context.Context, worker uuid.UUID, lease LeaseRef, parent string) (io.ReadCloser, error)
	// LargeResult opens the large result of a step, likewise.
	LargeResult(ctx context.Context, task, step uuid.UUID) (io.ReadCloser, error)
}
