package tasker

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Defaults of DialOptions.
const (
	defaultRequestTimeout   = 30 * time.Second
	defaultMaxResponseBytes = 64 << 20
	defaultUserAgent        = "tasker-go"
)

// DialOptions tune Dial. The zero value of each field, and nil for the whole,
// mean the default.
type DialOptions struct {
	// APIKey is sent as the header X-API-Key. Defaults to none.
	APIKey string
	// UserAgent is sent with every request. Defaults to "tasker-go".
	UserAgent string
	// RequestTimeout bounds one request, on top of the time a long poll is
	// asked to wait. Defaults to 30 seconds.
	RequestTimeout time.Duration
	// MaxResponseBytes bounds what is read of one response; a longer one is
	// CodeTooLarge. Defaults to 64 MiB.
	MaxResponseBytes int64
	// HTTPClient carries the requests. Its Timeout is not used, nor its redirect
	// policy: no redirect is followed, so that a key never goes to another host.
	// Defaults to one that keeps many connections to the server alive.
	HTTPClient *http.Client
}

// Dial returns a Client of the server at rawURL, "http://host:port" with an
// optional path prefix. It does not connect: a server that is not there shows
// as CodeUnavailable in the first call. Close the Client to let go of its
// connections.
func Dial(rawURL string, opts *DialOptions) (*Client, error) {
	base, err := serverURL(rawURL)
	if err != nil {
		return nil, err
	}
	var o DialOptions
	if opts != nil {
		o = *opts
	}
	o = o.withDefaults()

	b := &httpBackend{base: base, opts: o, ownsConns: opts == nil || opts.HTTPClient == nil}
	b.http = *o.HTTPClient
	b.http.Timeout = 0 // RequestTimeout does it, and knows of long polls
	b.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	b.ctx, b.cancel = context.WithCancelCause(context.Background())
	b.submits = newGatherer(b.ctx, "submit task", gatherLanes, gatherWiden, gatherItems, gatherBytes, taskWeight,
		b.submitBatch)
	return &Client{Backend: b, server: b}, nil
}

func (o DialOptions) withDefaults() DialOptions {
	if o.UserAgent == "" {
		o.UserAgent = defaultUserAgent
	}
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

// serverURL checks rawURL and returns it without a slash at its end.
func serverURL(rawURL string) (string, error) {
	u, err := url.Parse(rawURL)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "":
		e := Errorf(CodeInvalid, "server address %q is not a URL", rawURL)
		e.Hint = "write it as http://host:port"
		return "", e
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		// The address is repeated in errors and logs, so it must hold no secret.
		e := Errorf(CodeInvalid, "server address has a user, a query or a fragment")
		e.Hint = "write it as http://host:port; a key goes into DialOptions.APIKey"
		return "", e
	}
	return strings.TrimRight(u.Scheme+"://"+u.Host+u.EscapedPath(), "/"), nil
}

// newTransport differs from the default transport where a client of one server
// does: all connections go to one host, and a loopback gains nothing from gzip.
func newTransport() http.RoundTripper {
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		// Somebody replaced it, for tracing perhaps: respect that.
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
