package remote

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/wire"
)

// The defaults of Options.
const (
	defaultRequestTimeout   = 30 * time.Second
	defaultMaxResponseBytes = 64 << 20
	defaultUserAgent        = "tasker-go"
)

// Options configures Dial. A zero field, or nil for the whole, selects the default.
type Options struct {
	// APIKey is the value of the header X-API-Key. Defaults to none.
	APIKey string
	// UserAgent is the value of the header User-Agent. Defaults to "tasker-go".
	UserAgent string
	// RequestTimeout bounds one request, in addition to the wait of a long poll. Defaults to 30 seconds.
	RequestTimeout time.Duration
	// MaxResponseBytes bounds the body of one response; a longer one fails with CodeTooLarge. Defaults to 64 MiB.
	MaxResponseBytes int64
	// HTTPClient sends the requests. Dial ignores its Timeout and redirect policy: the Client follows no redirect, so
	// that a key never reaches another host. Defaults to a client that keeps many connections alive.
	HTTPClient *http.Client
}

// Dial returns a Client of the server at rawURL, "http://host:port" with an optional path prefix. It does not
// connect: an unreachable server fails the first call with CodeUnavailable. CodeInvalid: rawURL has another form.
// Close the Client to release its connections.
func Dial(rawURL string, opts *Options) (*tasker.Client, error) {
	base, err := serverURL(rawURL)
	if err != nil {
		return nil, err
	}
	var o Options
	if opts != nil {
		o = *opts
	}
	o = o.withDefaults()

	b := &httpBackend{base: base, opts: o, ownsConns: opts == nil || opts.HTTPClient == nil}
	b.http = *o.HTTPClient
	b.http.Timeout = 0 // RequestTimeout replaces it and allows for long polls
	b.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	b.ctx, b.cancel = context.WithCancelCause(context.Background())
	b.submits = newGatherer(b.ctx, "submit task", gatherLanes, gatherWiden, wire.MaxItems, wire.MaxBytes, taskWeight,
		b.submitBatch)
	return tasker.NewClient(b), nil
}

// withDefaults counts a negative duration or size as unset, because no request could succeed with it.
func (o Options) withDefaults() Options {
	o.UserAgent = cmp.Or(o.UserAgent, defaultUserAgent)
	if o.RequestTimeout <= 0 {
		o.RequestTimeout = defaultRequestTimeout
	}
	if o.MaxResponseBytes <= 0 {
		o.MaxResponseBytes = defaultMaxResponseBytes
	}
	if o.HTTPClient == nil {
		o.HTTPClient = &http.Client{Transport: newTransport()}
	}
	return o
}

func serverURL(rawURL string) (string, error) {
	u, err := url.Parse(rawURL)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "":
		e := tasker.Errorf(tasker.CodeInvalid, "server address %q is not a URL", rawURL)
		e.Hint = "write it as http://host:port"
		return "", e
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		// Errors and logs repeat the address, so it must hold no secret.
		e := tasker.Errorf(tasker.CodeInvalid, "server address has a user, a query or a fragment")
		e.Hint = "write it as http://host:port; a key goes into Options.APIKey"
		return "", e
	}
	return strings.TrimRight(u.Scheme+"://"+u.Host+u.EscapedPath(), "/"), nil
}

// newTransport adapts the default transport to one server: all connections go to one host, and a loopback gains
// nothing from gzip.
func newTransport() http.RoundTripper {
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		// The program replaced the default transport, perhaps for tracing: use it.
		return http.DefaultTransport
	}
	t := base.Clone()
	t.MaxIdleConns = 0
	t.MaxIdleConnsPerHost = 256
	t.DisableCompression = true
	t.WriteBufferSize = 64 << 10
	t.ReadBufferSize = 64 << 10
	return t
}
