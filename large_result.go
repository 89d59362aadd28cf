package tasker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/google/uuid"
)

// LargeResult describes a result above the inline limit of the server, which is kept apart in a blob store.
type LargeResult struct {
	Bytes  int64  `json:"bytes" doc:"Size of the JSON document."`
	SHA256 string `json:"sha256" doc:"SHA-256 of the document, in hexadecimal."`
}

// LargeResultReceipt is the answer to a large result that a worker has sent.
type LargeResultReceipt struct {
	LargeResult
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

// LargeResult opens the result of a step that has one above the inline limit (Step.LargeResult), to read it as a
// stream; Client.Result reads results of any size into memory. The caller closes it. A result that is not the one that
// was stored ends with an error in place of io.EOF. A codec of the Client does not decode it. CodeNotFound: the step
// has no large result.
func (c *Client) LargeResult(ctx context.Context, task uuid.UUID, step *Step) (io.ReadCloser, error) {
	b, can := c.Backend.(LargeResultBackend)
	if !can || step.LargeResult == nil {
		return nil, Errorf(CodeNotFound, "step %s of task %s has no large result", step.Name, task)
	}
	content, err := b.LargeResult(ctx, task, step.StepUUID)
	if err != nil {
		return nil, err
	}
	return verified(content, step.LargeResult), nil
}

// verified returns a reader of content that ends with an error unless it is what was described.
func verified(content io.ReadCloser, of *LargeResult) io.ReadCloser {
	return &verifier{ReadCloser: content, of: of, tee: sha256.New()}
}

// verifier is a reader that checks what it has read.
type verifier struct {
	io.ReadCloser
	of   *LargeResult
	tee  hash.Hash
	read int64
}

// Read implements io.Reader.
func (v *verifier) Read(p []byte) (int, error) {
	n, err := v.ReadCloser.Read(p)
	v.read += int64(n)
	_, _ = v.tee.Write(p[:n]) // a hash takes everything
	switch {
	case v.read > v.of.Bytes:
		return 0, Errorf(CodeInternal, "a large result is longer than the %d bytes that were stored", v.of.Bytes)
	case err == io.EOF && (v.read != v.of.Bytes || hex.EncodeToString(v.tee.Sum(nil)) != v.of.SHA256):
		return n, Errorf(CodeUnavailable, "a large result is not complete: %d of %d bytes came, or others than were stored",
			v.read, v.of.Bytes)
	}
	return n, err
}

// ReadAll reads a large result into memory and closes content. An error tells that it is not the one described.
func (l *LargeResult) ReadAll(content io.ReadCloser) (json.RawMessage, error) {
	defer content.Close()
	raw := make([]byte, l.Bytes)
	v := verified(content, l)
	if _, err := io.ReadFull(v, raw); err != nil {
		return nil, fmt.Errorf("read a large result: %w", err)
	}
	if _, err := v.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		if err == nil {
			err = Errorf(CodeInternal, "a large result is longer than its %d bytes", l.Bytes)
		}
		return nil, fmt.Errorf("read a large result: %w", err)
	}
	return raw, nil
}

// largeResult returns the result of a step that is kept apart.
func (c *Client) largeResult(ctx context.Context, task uuid.UUID, step *Step) (json.RawMessage, error) {
	b, can := c.Backend.(LargeResultBackend)
	if !can {
		return nil, Errorf(CodeInvalid, "the Backend of the client cannot read the large result of step %s", step.Name)
	}
	content, err := b.LargeResult(ctx, task, step.StepUUID)
	if err != nil {
		return nil, err
	}
	raw, err := step.LargeResult.ReadAll(content)
	if c.coder != nil && err == nil {
		c.coder.show(ctx, &raw)
	}
	return raw, err
}
