// Package post is the driver of sources whose letters are reported over HTTP. There is nothing to receive; a letter is
// sent back by a POST of its payload to a URL. An operator's allow-list decides which URLs (see
// deadletter.Source.Targets); the driver follows no redirects, so that it reaches no other.
package post

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/kit/outbound"
	"github.com/taskerhq/tasker/internal/model/posturl"
)

const (
	// drained bounds the bytes read of an answer, so that its connection can be reused.
	drained = 64 << 10
	// lanes is the number of concurrent requests. Messages of one key share a lane, in order.
	lanes = 8
)

// Driver sends messages to URLs. It is safe for concurrent use.
type Driver struct {
	driver.Basic
	client *http.Client
}

// Open returns a driver, which connects when it sends. A redirect refuses the message: it may lead to a host that no
// operator has allowed.
func Open() *Driver {
	return &Driver{client: &http.Client{
		Transport:     outbound.Transport(lanes),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Dial is Open as a driver.OpenFunc: the destinations of letters are URLs, so their source needs none.
func Dial(context.Context, string) (driver.Driver, error) { return Open(), nil }

// Open implements driver.Driver: letters are reported, not received.
func (d *Driver) Open(context.Context, string) (driver.Receiver, error) {
	return nil, fmt.Errorf("%w: letters of this source are reported over HTTP", driver.ErrNotFound)
}

// Stat implements driver.Driver without a request: only a send shows whether a URL takes messages.
func (d *Driver) Stat(_ context.Context, target string) (exists bool, depth int64, err error) {
	_, err = parse(target)
	return err == nil, -1, nil
}

// Close implements driver.Driver. Requests under way are not cut off.
func (d *Driver) Close() error {
	d.client.CloseIdleConnections()
	return nil
}

// parse reads a URL like the allow-list. Its error shows no part of the URL, which may be a secret.
func parse(target string) (*url.URL, error) {
	u, fault := posturl.Parse(target)
	if fault != "" {
		return nil, fmt.Errorf("%w: the destination %s", driver.ErrNotFound, fault)
	}
	return u.Net(), nil
}

// Send implements driver.Driver: one request after the other within a lane, with concurrent lanes.
func (d *Driver) Send(ctx context.Context, target string, messages []driver.Message, limits driver.Limits) []error {
	u, err := parse(target)
	if err != nil {
		return driver.Fail(len(messages), err)
	}
	errs := make([]error, len(messages))
	var wait sync.WaitGroup
	for _, lane := range inLanes(messages) {
		wait.Go(func() { d.lane(ctx, u, messages, lane, limits, errs) })
	}
	wait.Wait()
	return errs
}

func inLanes(messages []driver.Message) [lanes][]int {
	var of [lanes][]int
	for i := range messages {
		lane := uint32(i)
		if key := messages[i].Key; key != nil {
			lane = crc32.ChecksumIEEE(key)
		}
		of[lane%lanes] = append(of[lane%lanes], i)
	}
	return of
}

// lane sends messages in order. After a transient failure it sends no other of that key.
func (d *Driver) lane(ctx context.Context, u *url.URL, messages []driver.Message, lane []int, limits driver.Limits,
	errs []error,
) {
	held := map[string]bool{}
	for _, i := range lane {
		m := &messages[i]
		switch {
		case ctx.Err() != nil || limits.Over():
			errs[i] = driver.ErrUntried
		case m.Key != nil && held[string(m.Key)]:
			errs[i] = driver.ErrBehind
		default:
			each, cancel := limits.Message(ctx)
			errs[i] = d.post(each, u, m)
			cancel()
		}
		if m.Key != nil && errs[i] != nil && !driver.Permanent(errs[i]) {
			held[string(m.Key)] = true
		}
	}
}

// post sends a payload as the body, and headers as headers; the key decides only the order. A 2xx confirms it.
func (d *Driver) post(ctx context.Context, u *url.URL, m *driver.Message) error {
	var written progress
	ctx = httptrace.WithClientTrace(ctx, written.trace())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(m.Payload))
	if err != nil {
		return fmt.Errorf("%w: %w", driver.ErrRefused, err)
	}
	request.Header.Set("Content-Type", "application/octet-stream")
	if json.Valid(m.Payload) {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, h := range m.Headers {
		switch {
		case !carried(h.Name, h.Value):
		case strings.EqualFold(h.Name, "Content-Type"): // that of the letter, and no second one
			request.Header.Set("Content-Type", string(h.Value))
		default:
			request.Header.Add(h.Name, string(h.Value))
		}
	}
	answer, err := d.client.Do(request)
	if err != nil {
		return written.failure(err)
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, drained)
	return verdict(answer.StatusCode)
}

var headerName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// carried reports whether a letter's header may be in the request: none that HTTP itself uses, and no credentials: a
// letter's sender must not speak in the name of this server.
func carried(name string, value []byte) bool {
	switch strings.ToLower(name) {
	case "host", "connection", "content-length", "transfer-encoding", "upgrade", "te", "trailer", "expect",
		"authorization", "cookie", "proxy-authorization", "keep-alive":
		return false
	}
	return headerName.MatchString(name) &&
		!bytes.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c >= 0x7f })
}

// progress is the state of a request. The client writes from goroutines that may outlive the call.
type progress struct{ connected, written atomic.Bool }

func (p *progress) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GotConn:      func(httptrace.GotConnInfo) { p.connected.Store(true) },
		WroteHeaders: func() { p.written.Store(true) },
	}
}

// failure classifies an error without an answer: without a connection nothing was written; otherwise the message may
// have arrived. The text names no address, since the URL may hold a secret.
func (p *progress) failure(err error) error {
	var op *net.OpError
	again := errors.As(err, &op) && op.Op == "dial" // a kept connection had ended, and a new one failed
	switch {
	case p.written.Load() || p.connected.Load() && !again:
		return driver.ErrUncertain
	case errors.Is(err, context.Canceled):
		return driver.ErrUntried
	}
	return errors.New("the destination cannot be reached")
}

// verdict classifies a status: 429, 408 and 5xx are transient, other refusals are permanent.
func verdict(status int) error {
	switch {
	case status >= 200 && status < 300:
		return nil
	case status == http.StatusNotFound || status == http.StatusGone:
		return fmt.Errorf("%w: the destination answered %d", driver.ErrNotFound, status)
	case status == http.StatusRequestEntityTooLarge:
		return fmt.Errorf("%w: the destination answered %d", driver.ErrTooLarge, status)
	case status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status >= 500:
		return fmt.Errorf("the destination answered %d", status)
	default:
		return fmt.Errorf("%w: the destination answered %d", driver.ErrRefused, status)
	}
}
