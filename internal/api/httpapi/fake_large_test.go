package httpapi_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker/protocol"
)

func (f *fake) SendLargeResult(ctx context.Context, worker uuid.UUID, lease protocol.LeaseRef, result []byte,
) (*protocol.LargeResultReceipt, error) {
	return f.ReceiveLargeResult(ctx, worker, lease, func(to io.Writer) error {
		_, err := to.Write(result)
		return err
	})
}

func (f *fake) ReceiveLargeResult(ctx context.Context, worker uuid.UUID, _ protocol.LeaseRef,
	receive func(io.Writer) error,
) (*protocol.LargeResultReceipt, error) {
	if err := f.noteOf(ctx, worker, worker); err != nil {
		return nil, err
	}
	var got bytes.Buffer
	if err := receive(&got); err != nil {
		return nil, err
	}
	return &protocol.LargeResultReceipt{LargeResult: tasker.LargeResult{Bytes: int64(got.Len()), SHA256: "ab"},
		Reference: fmt.Sprint(got.Len(), " bytes")}, nil
}

func (f *fake) LargeParentResult(ctx context.Context, worker uuid.UUID, _ protocol.LeaseRef, _ string,
) (io.ReadCloser, error) {
	return f.LargeResult(ctx, worker, worker)
}

func (f *fake) LargeResult(ctx context.Context, task, _ uuid.UUID) (io.ReadCloser, error) {
	if err := f.noteOf(ctx, task, task); err != nil {
		return nil, err
	}
	return io.NopCloser(strings.NewReader(`"large"`)), nil
}
