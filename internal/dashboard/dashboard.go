// Package dashboard is the web pages for operators. The process of the API serves it, at /.
//
// Every page is HTML made at the server; links and forms work through htmx, and pages stay current through server-sent
// events. Pages call the API in this process with the principal of the session, so they show and do what the API does
// for the same key, without rules (docs/design/0039-dashboard.md).
//
// dashboard.go lists the pages. Package page is their kit; package live notifies browsers of changes; every other
// package below is a family of pages, with its templates beside its Go files.
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
	// Events are those of all namespaces.
	Events live.Stream
	// The caller runs the History.
	History *now.History
	// Not used on an Open server.
	Sessions Sessions
	// Open: a server without keys, without sign-in.
	Open         bool
	LoopbackOnly bool
	About        system.About
	// MaxStreams bounds the open pages. Defaults to 1,000.
	MaxStreams int
}

// New returns the dashboard. Other requests go to next, the API.
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

// quiet selects requests for the level debug: those that every open page repeats.
func quiet(pattern string) bool {
	return strings.HasPrefix(pattern, "GET /static/") || pattern == "GET /live"
}

// lost reports whether a person requests a missing page. Programs get the answer of the API.
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
