// Package dashboard is the web pages for operators: what needs a human, and the acts that put it right. It is served by
// the same process as the API, at /.
//
// Every page is HTML made at the server; links and forms work through htmx, and pages stay current through
// server-sent events. Pages call the API in this process with the principal of the session, so they show and do what
// the API does for the same key, and have no rules of their own (docs/design/0039-dashboard.md).
//
// # Reading
//
// dashboard.go lists the pages. Package page is the kit that they are made of; package live tells browsers what has
// changed; every other package below this one is a family of pages, with its templates beside its Go files.
package dashboard

import (
	"net/http"
	"strings"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/web"
	"github.com/taskerhq/tasker/internal/dashboard/audit"
	"github.com/taskerhq/tasker/internal/dashboard/fleet"
	"github.com/taskerhq/tasker/internal/dashboard/inbox"
	"github.com/taskerhq/tasker/internal/dashboard/live"
	"github.com/taskerhq/tasker/internal/dashboard/now"
	"github.com/taskerhq/tasker/internal/dashboard/page"
	"github.com/taskerhq/tasker/internal/dashboard/redrives"
	"github.com/taskerhq/tasker/internal/dashboard/schedules"
	"github.com/taskerhq/tasker/internal/dashboard/sources"
	"github.com/taskerhq/tasker/internal/dashboard/static"
	"github.com/taskerhq/tasker/internal/dashboard/system"
	"github.com/taskerhq/tasker/internal/dashboard/tasks"
	"github.com/taskerhq/tasker/internal/dashboard/templates"
	"github.com/taskerhq/tasker/internal/model/access"
)

// Options configure New.
type Options struct {
	Front *web.Front
	// API is a client of the API in this process, which acts for the principal of a context.
	API *tasker.Client
	// Events are the events of the engine, of all namespaces.
	Events live.Stream
	// History is how the queue stood lately; the caller runs it.
	History *now.History
	// Sessions knows who is signed in. Not used on an Open server.
	Sessions Sessions
	// Open is a server without keys: nobody signs in.
	Open bool
	// LoopbackOnly refuses requests that are not addressed to this machine.
	LoopbackOnly bool
	// About is what the process knows of itself.
	About system.About
	// MaxStreams bounds the pages that are open at one time. Defaults to 1,000.
	MaxStreams int
}

// New returns the dashboard. Requests that are not for it go to next, the API.
func New(opts Options, next http.Handler) http.Handler {
	if opts.MaxStreams <= 0 {
		opts.MaxStreams = 1000
	}
	files := static.New()
	site := page.New(page.Options{Front: opts.Front, Sessions: opts.Sessions, Open: opts.Open, Version: opts.About.Version,
		Static: files.Address, Menu: menu()})
	site.Handle("GET /static/{hash}/{name...}", files)
	hub := live.New(opts.Events, opts.Front.Log(), opts.MaxStreams)
	site.Stream("GET /live", hub.Serve)
	signIn(site, opts)
	now.Add(site, opts.API, opts.History)
	inbox.Add(site, opts.API)
	redrives.Add(site, opts.API)
	tasks.Add(site, opts.API)
	fleet.Add(site, opts.API)
	templates.Add(site, opts.API)
	system.Add(site, opts.API, opts.About)
	sources.Add(site, opts.API)
	schedules.Add(site, opts.API)
	audit.Add(site, opts.API)

	mounted := opts.Front.Mount(web.Policy{Observe: true, Quiet: quiet, SameOrigin: true, LoopbackOnly: opts.LoopbackOnly},
		site)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if site.Knows(r) || lost(r) {
			mounted.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// menu is the navigation.
func menu() []page.Entry {
	read := []access.Permission{access.Read}
	letters := []access.Permission{access.Read, access.DeadLettersRead}
	return []page.Entry{
		{Title: "Now", Path: "/", Section: "now", Icon: "now"},
		{Title: "Inbox", Path: "/inbox", Section: "inbox", Icon: "inbox", Needs: letters},
		{Title: "Redrives", Path: "/redrives", Section: "redrives", Icon: "redrive", Needs: letters},
		{Title: "Tasks", Path: "/tasks", Section: "tasks", Icon: "tasks", Needs: read},
		{Title: "Schedules", Path: "/schedules", Section: "schedules", Icon: "schedules", Needs: read},
		{Title: "Queue", Path: "/queues", Section: "queues", Icon: "queues", Needs: read},
		{Title: "Workers", Path: "/workers", Section: "workers", Icon: "workers", Needs: read},
		{Title: "Templates", Path: "/templates", Section: "templates", Icon: "templates", Needs: read},
		{Title: "Sources", Path: "/sources", Section: "sources", Icon: "sources",
			Needs: append([]access.Permission{access.SourcesAdmin}, letters...)},
		{Title: "Audit", Path: "/audit", Section: "audit", Icon: "audit", Needs: read},
		{Title: "System", Path: "/system", Section: "system", Icon: "system", Needs: read},
	}
}

// quiet reports which requests are logged at level debug: those that every open page makes all the time.
func quiet(pattern string) bool {
	return strings.HasPrefix(pattern, "GET /static/") || pattern == "GET /live"
}

// lost reports whether a person asks for a page that does not exist. Programs get the answer of the API.
func lost(r *http.Request) bool {
	if r.Method != http.MethodGet || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		return false
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch first {
	case "v1", "api", "internal", "docs", "health", "metrics", "version", "openapi.json", "openapi.yaml":
		return false
	}
	return true
}
