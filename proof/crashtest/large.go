package crashtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker/protocol"
)

// A journal has the content of large results, so the rules about results hold for them, too, byte by byte.

var _ protocol.LargeResultBackend = (*Recorder)(nil)

// largeBackend returns the part of the Backend that moves large results.
func (r *Recorder) largeBackend() (protocol.LargeResultBackend, error) {
	b, can := r.Backend.(protocol.LargeResultBackend)
	if !can {
		return nil, errors.New("the Backend has no large results")
	}
	return b, nil
}

// SendLargeResult implements protocol.LargeResultBackend. Who settles with a reference has its answer.
func (r *Recorder) SendLargeResult(ctx context.Context, worker uuid.UUID, lease protocol.LeaseRef, result []byte,
) (*protocol.LargeResultReceipt, error) {
	b, err := r.largeBackend()
	if err != nil {
		return nil, err
	}
	r.tell(LargeSent)
	receipt, err := b.SendLargeResult(ctx, worker, lease, result)
	if err != nil {
		return nil, err
	}
	r.tell(LargeAcked)
	r.journal.mu.Lock()
	defer r.journal.mu.Unlock()
	r.journal.large[receipt.Reference], r.journal.large[receipt.SHA256] = result, result
	return receipt, nil
}

// LargeParentResult implements protocol.LargeResultBackend.
func (r *Recorder) LargeParentResult(ctx context.Context, worker uuid.UUID, lease protocol.LeaseRef, parent string,
) (io.ReadCloser, error) {
	b, err := r.largeBackend()
	if err != nil {
		return nil, err
	}
	return b.LargeParentResult(ctx, worker, lease, parent)
}

// LargeResult implements protocol.LargeResultBackend.
func (r *Recorder) LargeResult(ctx context.Context, task, step uuid.UUID) (io.ReadCloser, error) {
	b, err := r.largeBackend()
	if err != nil {
		return nil, err
	}
	return b.LargeResult(ctx, task, step)
}

// parents are the results of the dependencies of a step, with those that come apart. The caller holds j.mu.
func (j *Journal) parents(a *protocol.Assignment) map[string]json.RawMessage {
	if len(a.LargeResults) == 0 {
		return a.ParentResults
	}
	all := map[string]json.RawMessage{}
	for name, raw := range a.ParentResults {
		all[name] = raw
	}
	for name, l := range a.LargeResults {
		all[name] = j.large[l.SHA256]
	}
	return all
}

// LargeResults counts the large results that were acknowledged.
func (j *Journal) LargeResults() int { return len(j.large) / 2 }

func (f *Found) readLarge(ctx context.Context, b tasker.Backend) error {
	for i := range f.Steps {
		s := &f.Steps[i]
		if s.LargeResult == nil {
			continue
		}
		content, err := tasker.NewClient(b).LargeResult(ctx, s.TaskUUID, s)
		if err != nil {
			return fmt.Errorf("read the large result of step %s: %w", s.StepUUID, err)
		}
		s.Results, err = io.ReadAll(content)
		if err := errors.Join(err, content.Close()); err != nil {
			return fmt.Errorf("read the large result of step %s: %w", s.StepUUID, err)
		}
	}
	return nil
}
