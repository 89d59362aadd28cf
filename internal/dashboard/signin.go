package dashboard

import (
	"net/http"

	"github.com/taskerhq/tasker/internal/dashboard/page"
)

// Sessions signs viewers in and out. *session.Keeper implements it.
type Sessions interface {
	page.Sessions
	// SignIn begins a session for an API key.
	SignIn(w http.ResponseWriter, r *http.Request, secret string) error
	// SignOutEverywhere ends all sessions of the request's key.
	SignOut(w http.ResponseWriter, r *http.Request) error
	SignOutEverywhere(w http.ResponseWriter, r *http.Request) error
}

// signIn adds the pages for signing in and out, on a server with keys.
func signIn(site *page.Site, opts Options) {
	if opts.Open {
		return
	}
	site.SignIn(opts.Sessions.SignIn)
	site.SignOut("/signout", opts.Sessions.SignOut)
	site.SignOut("/signout/everywhere", opts.Sessions.SignOutEverywhere)
}
