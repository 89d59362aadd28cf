package remote

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/worker/protocol"
)

// leaseHeader has the token of the lease of a call without a JSON body.
const leaseHeader = "Tasker-Lease"

// slowest is the rate, in bytes per second, at which a large result must move.
const slowest = 256 << 10

func leasePath(worker, step uuid.UUID, rest string) string {
	return "/internal/workers/" + worker.String() + "/steps/" + step.String() + "/" + rest
}

// SendLargeResult bounds the request by the size of the content.
func (b *httpBackend) SendLargeResult(ctx context.Context, worker uuid.UUID, lease protocol.LeaseRef, result []byte,
) (*protocol.LargeResultReceipt, error) {
	return fetch[protocol.LargeResultReceipt](ctx, b, call{verb: "send a large result", method: http.MethodPost,
		path: leasePath(worker, lease.StepUUID, "large_result"), token: lease.Token, raw: result,
		wait: time.Duration(len(result)/slowest) * time.Second})
}

func (b *httpBackend) LargeParentResult(ctx context.Context, worker uuid.UUID, lease protocol.LeaseRef, parent string,
) (io.ReadCloser, error) {
	return b.open(ctx, call{verb: "read a large result", method: http.MethodGet, token: lease.Token,
		path: leasePath(worker, lease.StepUUID, "parent_results/"+url.PathEscape(parent))})
}

func (b *httpBackend) LargeResult(ctx context.Context, task, step uuid.UUID) (io.ReadCloser, error) {
	return b.open(ctx, call{verb: "read a large result", method: http.MethodGet,
		path: "/v1/tasks/" + task.String() + "/workflow_steps/" + step.String() + "/large_result"})
}

// open returns the body of a successful response as a stream, which ends with ctx, its Close, or the Backend.
func (b *httpBackend) open(ctx context.Context, c call) (io.ReadCloser, error) {
	bounded, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(b.ctx, cancel)
	end := func() {
		stop()
		cancel()
	}
	req, err := b.newRequest(bounded, c, nil)
	if err != nil {
		end()
		return nil, err
	}
	late := time.AfterFunc(b.opts.RequestTimeout, cancel) // for the head of the response
	resp, err := b.http.Do(req)
	late.Stop()
	if err != nil {
		end()
		return nil, b.explain(ctx, c, err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer end()
		defer resp.Body.Close()
		var answer bytes.Buffer
		if _, err := answer.ReadFrom(io.LimitReader(resp.Body, 64<<10)); err != nil {
			return nil, b.explain(ctx, c, err)
		}
		return nil, problemError(resp, answer.Bytes())
	}
	return &openBody{resp.Body, end}, nil
}

// openBody ends its request when it is closed.
type openBody struct {
	io.ReadCloser
	end func()
}

// Close also ends the request.
func (o *openBody) Close() error {
	defer o.end()
	return o.ReadCloser.Close()
}
