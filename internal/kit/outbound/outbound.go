// Package outbound makes the connections of clients that call servers of others: webhooks, destinations of letters,
// collectors of telemetry.
package outbound

import "net/http"

// Transport returns a copy of the default transport, with connections of its own and up to idle of them kept for each
// host. Whoever shares those of the default transport has a request cut off when anybody in the process closes them.
// A default transport that the program has replaced is returned as it is.
func Transport(idle int) http.RoundTripper {
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	own := base.Clone()
	own.MaxIdleConnsPerHost = idle
	return own
}
