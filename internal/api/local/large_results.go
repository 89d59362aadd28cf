package local

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/kit/jsonstream"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/worker/protocol"
)

// maxSending bounds the large results in reception: each has a temporary file until it is in the blob store.
const maxSending = 16

var _ protocol.LargeResultBackend = (*Backend)(nil)

// SendLargeResult implements protocol.LargeResultBackend.
func (b *Backend) SendLargeResult(ctx context.Context, worker uuid.UUID, lease protocol.LeaseRef, result []byte,
) (*protocol.LargeResultReceipt, error) {
	return b.ReceiveLargeResult(ctx, worker, lease, func(to io.Writer) error {
		_, err := io.Copy(to, bytes.NewReader(result))
		return err
	})
}

// ReceiveLargeResult is SendLargeResult of a result that receive writes, part by part. It goes into a temporary file:
// nothing of it is in memory, and the blob store gets it with its size and checksum. An error of the writer that
// receive gets is returned as the reason. CodeInvalid: it is not JSON.
func (b *Backend) ReceiveLargeResult(ctx context.Context, worker uuid.UUID, lease protocol.LeaseRef,
	receive func(to io.Writer) error,
) (*protocol.LargeResultReceipt, error) {
	no, err := b.known(ctx, worker)
	if err != nil {
		return nil, err
	}
	most := b.engine.MaxLargeResult()
	if most == 0 {
		return nil, &tasker.Error{Code: tasker.CodeTooLarge,
			Message: fmt.Sprintf("the server takes results of up to %d bytes", b.engine.Config().Limits.PayloadBytes),
			Hint:    "with blobs.url it keeps larger ones"}
	}
	select {
	case b.sending <- struct{}{}:
		defer func() { <-b.sending }()
	default:
		return nil, &tasker.Error{Code: tasker.CodeExhausted, RetryAfter: time.Second,
			Message: "the server receives as many large results as it may at a time"}
	}
	file, err := newReceived(int64(most))
	if err != nil {
		return nil, err
	}
	defer file.remove()
	if err := receive(file); err != nil {
		return nil, cmp.Or(file.fault, err)
	}
	content, err := file.content()
	if err != nil {
		return nil, err
	}
	l, err := b.engine.SendLargeResult(ctx, b.engine.LeaseOf(toID(lease.StepUUID), no, lease.Token), content)
	if err != nil {
		return nil, ToError(err)
	}
	return &protocol.LargeResultReceipt{LargeResult: *fromLarge(l), Reference: l.Key}, nil
}

type received struct {
	file  *os.File
	check *jsonstream.Checker
	sum   hash.Hash
	size  int64
	most  int64
	fault error // *tasker.Error: why it is refused
}

func newReceived(most int64) (*received, error) {
	file, err := os.CreateTemp("", "tasker-large-result-*")
	if err != nil {
		return nil, noRoom(err)
	}
	_ = os.Remove(file.Name()) // leaves no file behind a killed process, on systems that allow it
	return &received{file: file, check: jsonstream.New(task.MaxDepth), sum: sha256.New(), most: most}, nil
}

func noRoom(err error) error {
	return &tasker.Error{Code: tasker.CodeUnavailable, RetryAfter: 5 * time.Second, Err: err,
		Message: "the server cannot keep a large result in a temporary file", Hint: "look at TMPDIR of the server"}
}

func (r *received) Write(p []byte) (int, error) {
	if r.fault != nil {
		return 0, r.fault
	}
	r.size += int64(len(p))
	if r.size > r.most {
		r.fault = tasker.Errorf(tasker.CodeTooLarge, "the result has more than %d bytes", r.most)
		return 0, r.fault
	}
	if _, err := r.check.Write(p); err != nil {
		r.fault = tasker.Errorf(tasker.CodeInvalid, "the result %v", err)
		return 0, r.fault
	}
	_, _ = r.sum.Write(p) // a hash takes everything
	n, err := r.file.Write(p)
	if err != nil {
		r.fault = noRoom(err)
	}
	return n, err
}

func (r *received) content() (engine.LargeContent, error) {
	c := engine.LargeContent{Content: r.file, Bytes: r.size}
	if err := r.check.Close(); err != nil {
		return c, tasker.Errorf(tasker.CodeInvalid, "the result %v", err)
	}
	if _, err := r.file.Seek(0, io.SeekStart); err != nil {
		return c, noRoom(err)
	}
	r.sum.Sum(c.Sum[:0])
	return c, nil
}

func (r *received) remove() {
	_ = errors.Join(r.file.Close(), os.Remove(r.file.Name())) // the system removes remaining temporary files
}

// LargeParentResult implements protocol.LargeResultBackend.
func (b *Backend) LargeParentResult(ctx context.Context, worker uuid.UUID, lease protocol.LeaseRef, parent string,
) (io.ReadCloser, error) {
	no, err := b.known(ctx, worker)
	if err != nil {
		return nil, err
	}
	content, _, err := b.engine.LargeParentResult(ctx, b.engine.LeaseOf(toID(lease.StepUUID), no, lease.Token), parent)
	if err != nil {
		return nil, ToError(err)
	}
	return content, nil
}

// LargeResult implements protocol.LargeResultBackend.
func (b *Backend) LargeResult(ctx context.Context, taskID, stepID uuid.UUID) (io.ReadCloser, error) {
	content, _, err := b.engine.LargeResult(ctx, toID(taskID), toID(stepID))
	if err != nil {
		return nil, ToError(err)
	}
	return content, nil
}

func fromLarge(l *task.LargeResult) *tasker.LargeResult {
	if l == nil {
		return nil
	}
	return &tasker.LargeResult{Bytes: l.Bytes, SHA256: l.SHA256}
}

// shownResult describes a large result as an object, for answers without a place for it.
func shownResult(s *task.Step) []byte {
	l := task.LargeResultOf(s.ID, s.Result)
	if l == nil {
		return s.Result
	}
	return fmt.Appendf(nil, `{"large_result":{"bytes":%d,"sha256":%q}}`, l.Bytes, l.SHA256)
}
