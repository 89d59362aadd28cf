// Package system is the page about the server itself: its build, whether it is ready, and its configuration.
package system

import (
	"context"
	"embed"
	"errors"
	"runtime"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/access"
	"github.com/taskerhq/tasker/internal/dashboard/live"
	"github.com/taskerhq/tasker/internal/dashboard/page"
	"github.com/taskerhq/tasker/internal/queueapi"
)

//go:embed *.html
var templates embed.FS

// About is what the process knows of itself.
type About struct {
	Version string
	// Store is the address of the database, without a password.
	Store string
	Since time.Time
	// Ready returns why the server cannot work now, or nil.
	Ready func(ctx context.Context) error
	// Settings are the effective configuration. Secrets are left out.
	Settings []Setting
}

// Setting is one setting, and where it comes from.
type Setting struct{ Key, Value, Source string }

// Add adds the page to a site.
func Add(site *page.Site, api *tasker.Client, about About) {
	queue := queueapi.Of(api)
	page.Add(site.Family(templates), page.Page[state]{Path: "/system", File: "system.html", Section: "system",
		Needs: []access.Permission{access.Read}, Topics: []string{live.Clock},
		Load: func(r *page.Request) (out state, err error) {
			out.About, out.Go, out.Admin = about, runtime.Version(), r.Can(access.Admin)
			if about.Ready != nil {
				if err := about.Ready(r.Context()); err != nil {
					out.NotReady = reason(err)
				}
			}
			out.Stats, err = queue.QueueStats(r.Context(), queueapi.QueueFilter{})
			return out, err
		}})
}

// reason returns why the server is not ready; of what may hold internal detail only that it is so.
func reason(err error) string {
	var e *tasker.Error
	if errors.As(err, &e) && e.Code != tasker.CodeInternal {
		return e.Message
	}
	return "the store does not answer, or refuses writes; the log of the server has the reason"
}

// state is what the page shows.
type state struct {
	About
	Go       string
	NotReady string
	Stats    *queueapi.QueueStats
	// Admin shows the configuration.
	Admin bool
}
