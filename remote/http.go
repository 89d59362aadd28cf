package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/wire"
	"github.com/taskerhq/tasker/internal/kit/query"
	"github.com/taskerhq/tasker/worker/protocol"
)

// httpBackend is a Backend over HTTP. The other files hold its methods by subject; do sends all requests except
// streams. Only reads are retried, because a lost response does not tell whether a change was stored; the caller can
// retry with an idempotency key or a token.
type httpBackend struct {
	// base is the address without a trailing slash; every path begins with one.
	base string
	opts Options
	http http.Client
	// ownsConns is false for a client from the caller, who then closes its idle connections.
	ownsConns bool

	// ctx ends with Close. Requests that serve several callers use it, because no single caller may end them.
	ctx    context.Context
	cancel context.CancelCauseFunc

	submits *gatherer[tasker.TaskRequest, tasker.TaskReceipt]

	mu      sync.Mutex
	settles map[uuid.UUID]*gatherer[protocol.StepResult, protocol.SettleAnswer]
}

var _ protocol.Backend = (*httpBackend)(nil)

// Close ends the requests in flight; their callers get CodeUnavailable. A second Close does nothing. A client
// supplied in Options stays usable.
func (b *httpBackend) Close() error {
	b.cancel(tasker.ErrClosed)
	if b.ownsConns {
		b.http.CloseIdleConnections()
	}
	return nil
}

type call struct {
	verb   string // the caller's intention, for errors: "submit tasks"
	method string
	path   string
	query  url.Values
	body   any           // marshalled; nil sends none
	raw    []byte        // JSON to send as it is, instead of body
	token  string        // of the lease that the call is about, "" for none
	wait   time.Duration // how long the request asks the server to wait
}

func (b *httpBackend) Address() string { return b.base }

func (b *httpBackend) Call(ctx context.Context, r tasker.Request, out any) error {
	return b.do(ctx, call{verb: r.Verb, method: r.Method, path: r.Path, query: r.Query, body: r.Body}, out)
}

func (b *httpBackend) do(ctx context.Context, c call, out any) error {
	body := c.raw
	if c.body != nil {
		var err error
		if body, err = json.Marshal(c.body); err != nil {
			e := tasker.Errorf(tasker.CodeInvalid, "%s: %v", c.verb, err)
			e.Err = err
			return e
		}
	}
	limited, cancel := context.WithTimeout(ctx, b.opts.RequestTimeout+max(c.wait, 0))
	defer cancel()
	stop := context.AfterFunc(b.ctx, cancel)
	defer stop()

	answer, err := b.roundTrip(limited, c, body)
	if err != nil && c.method == http.MethodGet && limited.Err() == nil && wire.Unanswered(err) {
		// Reading twice does no harm, and the usual reason is a connection that the server closed while it was idle.
		answer, err = b.roundTrip(limited, c, body)
	}
	if err != nil {
		return b.explain(ctx, c, err)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		e := tasker.Errorf(tasker.CodeInternal, "%s: %s does not answer as a Tasker server does", c.verb, b.base)
		e.Hint = "check the address, and that client and server have the same version"
		e.Err = err
		return e
	}
	return nil
}

// roundTrip returns the body of a successful response, an *Error when the server answered otherwise, or the
// transport's error.
func (b *httpBackend) roundTrip(ctx context.Context, c call, body []byte) ([]byte, error) {
	req, err := b.newRequest(ctx, c, body)
	if err != nil {
		return nil, err
	}
	resp, err := b.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := readLimited(resp, b.opts.MaxResponseBytes)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, problemError(resp, answer)
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "application/json" {
		// Most likely a proxy's page. The decoder would only report "invalid character '<'".
		e := tasker.Errorf(tasker.CodeInternal, "%s answers with %q instead of JSON", b.base, kind)
		e.Hint = "check the address: it does not look like a Tasker server"
		return nil, e
	}
	return answer, nil
}

func (b *httpBackend) newRequest(ctx context.Context, c call, body []byte) (*http.Request, error) {
	target := b.base + c.path
	if query := asking(ctx, c.method, c.query); len(query) > 0 {
		target += "?" + query.Encode()
	}
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, c.method, target, reader)
	if err != nil {
		return nil, tasker.Errorf(tasker.CodeInvalid, "%s: %v", c.verb, err)
	}
	req.Header.Set("User-Agent", b.opts.UserAgent)
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if b.opts.APIKey != "" {
		req.Header.Set("X-API-Key", b.opts.APIKey)
	}
	if c.token != "" {
		req.Header.Set(leaseHeader, c.token)
	}
	return req, nil
}

// readLimited reads the body into one buffer of the announced size.
func readLimited(resp *http.Response, limit int64) ([]byte, error) {
	if resp.ContentLength > limit {
		return nil, tooLong(limit)
	}
	var buf bytes.Buffer
	if resp.ContentLength > 0 {
		// ReadFrom needs room for one more read to see the end without growing.
		buf.Grow(int(resp.ContentLength) + bytes.MinRead)
	}
	n, err := buf.ReadFrom(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, err
	}
	if n > limit {
		return nil, tooLong(limit)
	}
	return buf.Bytes(), nil
}

func tooLong(limit int64) error {
	e := tasker.Errorf(tasker.CodeTooLarge, "the answer is longer than %d bytes", limit)
	e.Hint = "ask for a smaller page, or raise Options.MaxResponseBytes"
	e.Err = wire.ErrTooLong
	return e
}

// explain converts a failed round trip to the error of the API. If the caller's ctx ended, the error says so and is
// no *Error.
func (b *httpBackend) explain(ctx context.Context, c call, err error) error {
	if !wire.Unanswered(err) {
		return err
	}
	if cause := context.Cause(b.ctx); cause != nil {
		return &tasker.Error{Code: tasker.CodeUnavailable, Message: c.verb + ": " + cause.Error(), Err: cause}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", c.verb, ctx.Err())
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // the message below has the URL, without the query
	}
	reason := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		reason = "no answer within " + (b.opts.RequestTimeout + max(c.wait, 0)).String()
	}
	return &tasker.Error{
		Code:    tasker.CodeUnavailable,
		Message: c.verb + ": " + b.base + ": " + reason,
		Hint:    "is the server running and reachable?",
		Err:     err,
	}
}

// pathOf joins segments to a path. It refuses a segment that HTTP would resolve or drop, so that the request does not
// reach another route.
func pathOf(segments ...string) (string, error) {
	var path strings.Builder
	for _, s := range segments {
		if s == "" || s == "." || s == ".." {
			return "", tasker.Errorf(tasker.CodeNotFound, "nothing is named %q", s)
		}
		path.WriteByte('/')
		path.WriteString(url.PathEscape(s))
	}
	return path.String(), nil
}

// asking returns the query of a request, which asks for sensitive values if ctx does.
func asking(ctx context.Context, method string, values url.Values) url.Values {
	if !query.ShowsSensitive(ctx) || method != http.MethodGet {
		return values
	}
	asked := url.Values{"sensitive": {"show"}}
	for name, of := range values {
		asked[name] = of
	}
	return asked
}
