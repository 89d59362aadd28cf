package siege

import (
	"net/http"
	"strconv"
	"sync/atomic"
)

// witness is an http.RoundTripper that checks every answer.
type witness struct {
	next  http.RoundTripper
	notes *notes

	requests, refusals atomic.Int64 // refusals: 503
}

func (w *witness) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := w.next.RoundTrip(req)
	if err != nil {
		return resp, err
	}
	w.requests.Add(1)
	switch {
	case resp.StatusCode == http.StatusServiceUnavailable:
		w.refusals.Add(1)
		if !hasRetryAfter(resp) {
			w.notes.add("no Retry-After", "%s %s: 503 with Retry-After %q", req.Method, req.URL, resp.Header.Get("Retry-After"))
		}
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		w.notes.add("wrong status", "%s %s: %s", req.Method, req.URL, resp.Status)
	}
	return resp, nil
}

func hasRetryAfter(resp *http.Response) bool {
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	return err == nil && seconds > 0
}
