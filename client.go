package tasker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/internal/backoff"
	"github.com/taskerhq/tasker/internal/kit/query"
)

// Client submits tasks and reads their state. It is safe for concurrent use, and one Client per
// process is enough: it keeps connections and gathers concurrent submissions. It promotes the
// methods of its Backend and adds convenience.
type Client struct {
	Backend

	server server // nil for an engine in this process
	coder  *coder // nil without a codec
}

// NewClient returns a Client of b. remote.Dial and embedded.Open call it.
func NewClient(b Backend) *Client {
	s, _ := b.(server)
	return &Client{Backend: b, server: s}
}

// server is a Backend at the other end of a network; package remote has one.
type server interface {
	Call(ctx context.Context, r Request, out any) error
	Stream(ctx context.Context, r Request, contentType string) (io.ReadCloser, error)
}

// Request is one request to a server, for the part of its API that a Backend lacks.
type Request struct {
	Verb   string // the caller's intention, for errors: "list cases"
	Method string
	Path   string // escaped, "/v1/dlq"
	Query  url.Values
	Body   any // sent as JSON; nil sends none
}

// Call sends a request to the server of a Client that remote.Dial made, and decodes the response into out unless that
// is nil. It is for packages that add a part of the API, such as operate. It returns the server's errors,
// CodeUnavailable when the server does not answer, and CodeInvalid for other Clients.
func (c *Client) Call(ctx context.Context, r Request, out any) error {
	if c.server == nil {
		return Errorf(CodeInvalid, "%s: the client is not connected to a server, and its Backend cannot do it", r.Verb)
	}
	return c.server.Call(ctx, r, out)
}

// Stream sends a request to the server of a Client that remote.Dial made, and returns the body of the response, which
// the caller reads and closes. It is Call for responses that are too long to hold: RequestTimeout bounds the time until
// the response begins, and then the time of each Read. The response must have the content type.
func (c *Client) Stream(ctx context.Context, r Request, contentType string) (io.ReadCloser, error) {
	if c.server == nil {
		return nil, Errorf(CodeInvalid, "%s: the client is not connected to a server, and its Backend cannot do it", r.Verb)
	}
	return c.server.Stream(ctx, r, contentType)
}

// ShowSensitive returns a context for calls that read values which templates and sources mark as sensitive in clear
// text. Without it a server masks them for every key. The key needs the permission sensitive, and the audit trail
// records the calls. It changes only calls that read tasks, steps, cases, letters or the audit trail over HTTP: other
// reads are refused with CodeInvalid, and an engine in this process masks nothing.
func ShowSensitive(ctx context.Context) context.Context {
	return query.ShowSensitive(ctx)
}

// waitRound bounds one long poll of Wait. It stays below the idle timeout of common proxies,
// which is 60 seconds.
const waitRound = 30 * time.Second

// Wait blocks until the task is settled and returns it. A task in error comes without a Go
// error: check its State. Wait holds a request for a few seconds, then follows a stream of
// events, and goes on polling only where the server offers no stream. When the server becomes
// unavailable, Wait retries for a minute; when it is unavailable at the first call, Wait returns
// the error at once. To bound the wait, pass a ctx with a deadline; the error then wraps
// ctx.Err(). CodeNotFound: no such task.
func (c *Client) Wait(ctx context.Context, id uuid.UUID) (*Task, error) {
	early := 0 // consecutive answers before the end of the long poll
	var pause backoff.Pauses
	w := c.newWatcher(id)
	for {
		begun := time.Now()
		t, err := w.look(ctx)
		switch {
		case err == nil:
			pause = backoff.Pauses{}
		case ErrorCode(err) == CodeUnavailable && !errors.Is(err, ErrClosed) && !w.there.IsZero() &&
			time.Since(w.there) < backoff.Patience:
			if !pause.Wait(ctx, ErrorRetryAfter(err)) {
				return nil, fmt.Errorf("wait for task %s: %w", id, ctx.Err())
			}
			continue
		default:
			return nil, err
		}
		if t.State.Settled() {
			return t, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("wait for task %s: %w", id, err)
		}
		if time.Since(begun) >= time.Second {
			early = 0
			continue
		}
		// A Backend that is closing does not hold the call: pause instead of spinning.
		early++
		backoff.Sleep(ctx, backoff.Early(early, time.Second))
	}
}
