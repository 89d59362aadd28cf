package tasker

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
)

// httpBackend is a Backend whose work is on a server.
type httpBackend struct {
	base      string
	opts      DialOptions
	http      http.Client
	ownsConns bool

	// ctx ends with Close. Requests that serve several callers run under it,
	// because none of those callers may end it for the others.
	ctx    context.Context
	cancel context.CancelCauseFunc

	submits *gatherer[TaskRequest, TaskReceipt]

	mu      sync.Mutex
	settles map[uuid.UUID]*gatherer[StepResult, SettleAnswer] // by worker
}

var _ Backend = (*httpBackend)(nil)

// errAnswerTooLong marks an answer over DialOptions.MaxResponseBytes.
var errAnswerTooLong = errors.New("answer over the limit of the client")

// errClosed is the cause of every request that Close ended.
var errClosed = errors.New("client is closed")

// Close ends the requests in flight; their callers get CodeUnavailable.
func (b *httpBackend) Close() error {
	b.cancel(errClosed)
	if b.ownsConns {
		b.http.CloseIdleConnections()
	}
	return nil
}

// call is one request: what for, where to, what with.
type call struct {
	verb   string // what the caller wanted, for errors: "submit tasks"
	method string
	path   string
	query  url.Values
	body   any           // marshalled; nil sends none
	wait   time.Duration // how long the server was asked to wait
}

// Request is one request to a server, for what its API has and a Backend has not.
type Request struct {
	Verb   string // what the caller wants, for errors: "list cases"
	Method string
	Path   string // escaped, "/v1/dlq"
	Query  url.Values
	Body   any // is sent as JSON; nil sends none
}

// Call sends a request to the server that Dial named, and decodes the answer into out,
// unless out is nil. Packages use it that add a part of the API, such as operate. Errors:
// those of the server, CodeUnavailable when it does not answer, CodeInvalid for a client
// that Dial did not make.
func (c *Client) Call(ctx context.Context, r Request, out any) error {
	if c.server == nil {
		return Errorf(CodeInvalid, "%s: the client is not connected to a server, and its Backend cannot do it", r.Verb)
	}
	return c.server.do(ctx, call{verb: r.Verb, method: r.Method, path: r.Path, query: r.Query, body: r.Body}, out)
}

// do carries out c and decodes the answer into out.
func (b *httpBackend) do(ctx context.Context, c call, out any) error {
	var body []byte
	if c.body != nil {
		var err error
		if body, err = json.Marshal(c.body); err != nil {
			e := Errorf(CodeInvalid, "%s: %v", c.verb, err)
			e.Err = err
			return e
		}
	}
	limited, cancel := context.WithTimeout(ctx, b.opts.RequestTimeout+max(c.wait, 0))
	defer cancel()
	stop := context.AfterFunc(b.ctx, cancel)
	defer stop()

	answer, err := b.roundTrip(limited, c, body)
	if err != nil && c.method == http.MethodGet && limited.Err() == nil && isNetworkError(err) {
		// Reading twice does no harm, and a connection that the server closed
		// while it was idle is the usual reason.
		answer, err = b.roundTrip(limited, c, body)
	}
	if err != nil {
		return b.explain(ctx, c, err)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		e := Errorf(CodeInternal, "%s: %s does not answer as a Tasker server does", c.verb, b.base)
		e.Hint = "check the address, and that client and server have the same version"
		e.Err = err
		return e
	}
	return nil
}

// roundTrip returns the body of a successful answer. Anything else is an error:
// an *Error when the server spoke, the transport's own when it did not.
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
		// A proxy's page, most likely. The decoder would only say "invalid character '<'".
		e := Errorf(CodeInternal, "%s answers with %q instead of JSON", b.base, kind)
		e.Hint = "check the address: it does not look like a Tasker server"
		return nil, e
	}
	return answer, nil
}

func (b *httpBackend) newRequest(ctx context.Context, c call, body []byte) (*http.Request, error) {
	target := b.base + c.path
	if len(c.query) > 0 {
		target += "?" + c.query.Encode()
	}
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, c.method, target, reader)
	if err != nil {
		return nil, Errorf(CodeInvalid, "%s: %v", c.verb, err)
	}
	req.Header.Set("User-Agent", b.opts.UserAgent)
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if b.opts.APIKey != "" {
		req.Header.Set("X-API-Key", b.opts.APIKey)
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
		// ReadFrom wants room for one more read to see the end without growing.
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
	e := Errorf(CodeTooLarge, "the answer is longer than %d bytes", limit)
	e.Hint = "ask for a smaller page, or raise DialOptions.MaxResponseBytes"
	e.Err = errAnswerTooLong
	return e
}

// isNetworkError reports whether the server did not speak.
func isNetworkError(err error) bool {
	var spoke *Error
	return !errors.As(err, &spoke)
}

// explain turns a failed round trip into the error of the API. ctx is the
// caller's: when that ended, the error says so and is no *Error.
func (b *httpBackend) explain(ctx context.Context, c call, err error) error {
	if !isNetworkError(err) {
		return err
	}
	if cause := context.Cause(b.ctx); cause != nil {
		return &Error{Code: CodeUnavailable, Message: c.verb + ": " + cause.Error(), Err: cause}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", c.verb, ctx.Err())
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // the URL is said below, without the query
	}
	reason := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		reason = "no answer within " + (b.opts.RequestTimeout + max(c.wait, 0)).String()
	}
	return &Error{
		Code:    CodeUnavailable,
		Message: c.verb + ": " + b.base + ": " + reason,
		Hint:    "is the server running and reachable?",
		Err:     err,
	}
}

// pathOf joins segments to a path. A segment that HTTP would resolve or drop
// names nothing, so it is refused here instead of reaching another route.
func pathOf(segments ...string) (string, error) {
	var path strings.Builder
	for _, s := range segments {
		if s == "" || s == "." || s == ".." {
			return "", Errorf(CodeNotFound, "nothing is named %q", s)
		}
		path.WriteByte('/')
		path.WriteString(url.PathEscape(s))
	}
	return path.String(), nil
}
