package web

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/taskerhq/tasker"
)

func (f *Front) addressedHere(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isLoopback(r.Host) {
			next.ServeHTTP(w, r)
			return
		}
		f.Refuse(w, r, "foreign host", &tasker.Error{Code: tasker.CodeForbidden,
			Message: "a server without API keys answers only to localhost and loopback addresses",
			Hint:    "use http://127.0.0.1, add an API key, or set server.allow_open"})
	})
}

// isLoopback reports whether the Host, with or without a port, is a name that only this machine has for itself.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// sameOrigin refuses requests of web pages of another origin: any page in a browser can reach an open server on the
// user's machine.
func (f *Front) sameOrigin(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.Refuse(w, r, "cross-origin", tasker.Errorf(tasker.CodeForbidden,
			"requests from web pages of another origin are refused"))
	}))
	return protection.Handler(next)
}
