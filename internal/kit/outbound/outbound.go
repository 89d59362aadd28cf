// Package outbound makes connections to servers of others: webhooks, destinations of letters, collectors of telemetry.
package outbound

import "net/http"

// Transport returns a copy of the default transport with separate connections, up to idle of them kept for each host:
// shared connections can be closed by any code in the process, which cuts requests off. It returns a replaced default
// transport unchanged.
func Transport(idle int) http.RoundTripper {
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	own := base.Clone()
	own.MaxIdleConnsPerHost = idle
	return own
}
