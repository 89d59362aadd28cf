// Package system is the page about the server: its build, readiness, and configuration.
package system

import (
	"context"
	"embed"
	"errors"
	"runtime"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/dashboard/live"
	"github.com/taskerhq/tasker/internal/dashboard/page"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/operate"
)

//go:embed *.html
var templates embed.FS

// About is the process's description of itself.
type About struct {
	Version string
	// Store is the address of the database, without a password.
	Store string
	Since time.Time
	// Ready returns why the server cannot work now, or nil.
	Ready func(ctx context.Context) error
	// Turns returns which process runs each exclusive loop; nil for a store of one process.
	Turns func(ctx context.Context) ([]operate.Turn, error)
	// Examine returns the checks of the database, worst first, and their time; nil without a database to examine.
	Examine func(ctx context.Context) ([]Check, time.Time, error)
	// Settings returns the effective configuration, without secrets. It may change while the server runs.
	Settings func() []Setting
}

// Setting is one setting with its origin.
type Setting struct{ Key, Value, Source string }

// Check is one check of the database. Do is the advice, "" for none.
type Check struct{ Name, Status, Seen, Do string }

// Add adds the pages to a site.
func Add(site *page.Site, api *tasker.Client, about About) {
	queue := queueapi.Of(api)
	f := site.Family(templates)
	page.Add(f, page.Page[doctor]{Path: "/system/doctor", File: "doctor.html", Section: "system",
		Needs: []access.Permission{access.Admin}, Load: about.doctor})
	page.Add(f, page.Page[state]{Path: "/system", File: "system.html", Section: "system",
		Needs: []access.Permission{access.Read}, Topics: []string{live.Clock},
		Load: func(r *page.Request) (out state, err error) {
			out.About, out.Go, out.Admin = about, runtime.Version(), runsIt(r)
			if about.Ready != nil {
				if err := about.Ready(r.Context()); err != nil {
					out.NotReady = reason(err)
				}
			}
			if about.Turns != nil && out.Admin {
				if out.Turns, err = about.Turns(r.Context()); err != nil {
					return out, err
				}
			}
			out.Stats, err = queue.QueueStats(r.Context(), queueapi.QueueFilter{})
			return out, err
		}})
}

// reason hides internal detail.
func reason(err error) string {
	var e *tasker.Error
	if errors.As(err, &e) && e.Code != tasker.CodeInternal {
		return e.Message
	}
	return "the store does not answer, or refuses writes; the log of the server has the reason"
}

type state struct {
	About
	Go       string
	NotReady string
	Stats    *queueapi.QueueStats
	Turns    []operate.Turn
	Admin    bool
}

// runsIt requires an unlimited admin: configuration and checks show keys, webhooks and work of all namespaces.
func runsIt(r *page.Request) bool { return r.Can(access.Admin) && !r.Viewer.Limited() }

type doctor struct {
	Checks []Check
	At     time.Time
	Store  string
}

func (a About) doctor(r *page.Request) (out doctor, err error) {
	if !runsIt(r) {
		return out, &tasker.Error{Code: tasker.CodeForbidden, Message: "the key " + r.Viewer.Name + " is limited to some " +
			"namespaces", Hint: "the checks are about all of them; use a key that is not limited"}
	}
	if a.Examine == nil {
		return out, tasker.Errorf(tasker.CodeUnavailable, "this database cannot be examined")
	}
	out.Store = a.Store
	out.Checks, out.At, err = a.Examine(r.Context())
	return out, err
}
