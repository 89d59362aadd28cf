// Package probe checks over HTTP whether workers are healthy. The engine decides which workers to probe and acts on the
// answers.
//
// A worker registers its own address, so the address is not trusted. Only networks on a configured list are probed,
// redirects are not followed, a response is read up to a small bound, and operators see only its status. Otherwise a
// worker could make the server send requests into a network that the worker cannot reach itself.
//
// Begin with New and Client.Ask.
package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Bounds of an answer.
const (
	maxBody   = 16 << 10
	maxHeader = 16 << 10
)

// Client sends health probes. It is safe for concurrent use.
type Client struct {
	http    *http.Client
	timeout time.Duration
}

// New returns a Client that connects to addresses in the networks (CIDR) only, and bounds each probe by timeout. The
// check is on the resolved address, at the moment of connecting, so that a name cannot change in between.
func New(allow []string, timeout time.Duration) (*Client, error) {
	networks := make([]netip.Prefix, len(allow))
	for i, text := range allow {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("parse network %q: %w", text, err)
		}
		networks[i] = p.Masked()
	}
	dialer := &net.Dialer{Timeout: timeout, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !contains(networks, at.Addr().Unmap().WithZone("")) {
			return errNotAllowed
		}
		return nil
	}}
	return &Client{timeout: timeout, http: &http.Client{
		Transport: &http.Transport{
			Proxy:                  nil, // it would be the one that connects
			DialContext:            dialer.DialContext,
			DisableKeepAlives:      true, // thousands of workers, a minute apart
			DisableCompression:     true,
			MaxResponseHeaderBytes: maxHeader,
			TLSHandshakeTimeout:    timeout,
			ResponseHeaderTimeout:  timeout,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

var errNotAllowed = errors.New("its address is in no network that may be asked (engine.worker_probes.allow)")

// contains is false without networks.
func contains(networks []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Ask probes <base>/health and returns the fault, "" for none. The text contains neither the address nor the response.
func (c *Client) Ask(ctx context.Context, base string) string {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return "the address is none of http or https"
	}
	u.RawQuery, u.Fragment = "", ""
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(u.String(), "/")+"/health", http.NoBody)
	if err != nil {
		return "the address is not valid"
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "tasker-probe")
	resp, err := c.http.Do(req)
	if err != nil {
		return c.why(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if resp.StatusCode == http.StatusOK {
		if err != nil {
			return c.why(err)
		}
		return ""
	}
	return "status " + strconv.Itoa(resp.StatusCode) + failing(body)
}

// why words an error: a library's text may contain the address.
func (c *Client) why(err error) string {
	var timeout net.Error
	var dns *net.DNSError
	switch {
	case errors.Is(err, errNotAllowed):
		return errNotAllowed.Error()
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer within " + c.timeout.String()
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.As(err, &dns):
		return "the name of its host is not known"
	case errors.Is(err, context.Canceled):
		return "the server stopped asking"
	}
	return "the connection failed, or the answer was not HTTP"
}

// checks are the repeatable names of failing checks, from the SDK.
var checks = []string{"memory", "cpu", "goroutines", "heartbeat"}

// failing names the failing checks of an answer in the SDK's form.
func failing(body []byte) string {
	var answer struct {
		Checks map[string]struct {
			OK bool `json:"ok"`
		} `json:"checks"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return ""
	}
	var names []string
	for _, name := range checks {
		if c, there := answer.Checks[name]; there && !c.OK {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ": " + strings.Join(names, ", ")
}
