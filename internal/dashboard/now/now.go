// Package now is the first page: what needs a human, most urgent first, and how things go.
package now

import (
	"embed"
	"html/template"
	"slices"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/flow"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/dashboard/live"
	"github.com/taskerhq/tasker/internal/dashboard/page"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/waits"
)

//go:embed *.html
var templates embed.FS

// pages are the pages over one API.
type pages struct {
	api     *tasker.Client
	letters deadletters.Backend
	cases   operate.Backend
	queue   queueapi.Backend
	flow    flow.Backend
	waits   waits.Backend
	history *History
}

// Add adds the page to a site. history is what is drawn below; its owner fills it.
func Add(site *page.Site, api *tasker.Client, history *History) {
	p := &pages{api: api, letters: deadletters.Of(api), cases: operate.Of(api), queue: queueapi.Of(api),
		flow:    flow.Of(api),
		waits:   waits.Of(api),
		history: history}
	f := site.Family(templates)
	f.Act("/outages/{outage}/close", []access.Permission{access.Operate}, p.closeOutage)
	page.Add(f, page.Page[first]{Path: "/{$}", File: "now.html", Section: "now",
		Topics: []string{live.Inbox, live.Cases, live.Redrives, live.Sources, live.Clock}, Load: p.now})
}

// first is what the page shows.
type first struct {
	Needs  []need
	Stats  *queueapi.QueueStats
	Charts []chart
	Spans  []page.Tab
	Since  time.Time
	// Quiet reports that all was looked at, and nothing needs a human.
	Quiet   bool
	Operate bool
	// Blind names what the viewer's key may not see.
	Blind []string
}

// need is one thing that needs a human.
type need struct {
	Urgency int // 0 is the most urgent
	State   string
	What    string // one sentence
	Detail  string
	URL     string // where it is put right
	Act     string // what is done there
	At      time.Time
	Outage  *flow.Outage // an open one, with its act
}

// chart is a drawing of the last hour or day.
type chart struct {
	Title, Now string
	Drawing    template.HTML
}

// now asks each part of the system what needs a human. A part that the key may not see is named, and one that does not
// answer fails the page: an error must not look like silence.
func (p *pages) now(r *page.Request) (out first, err error) {
	looks := []struct {
		name string
		look func(*page.Request, *first) error
	}{{"outages", p.outages}, {"groups", p.groups}, {"redrives", p.redrives}, {"sources", p.sources},
		{"the queue", p.queues},
		{"approvals", p.approvals}, {"stale tasks", p.stale}, {"cases", p.investigations}}
	for _, l := range looks {
		switch err := l.look(r, &out); tasker.ErrorCode(err) {
		case "":
		case tasker.CodeForbidden:
			out.Blind = append(out.Blind, l.name)
		default:
			return out, err
		}
	}
	slices.SortStableFunc(out.Needs, func(a, b need) int {
		if a.Urgency != b.Urgency {
			return a.Urgency - b.Urgency
		}
		return b.At.Compare(a.At)
	})
	out.Operate = r.Can(access.Operate)
	out.Quiet = len(out.Needs) == 0 && len(out.Blind) == 0
	if !r.Viewer.Limited() && r.Can(access.Read) { // the numbers are about all namespaces
		day := r.Query("span") == "day"
		out.Charts, out.Since = p.history.charts(r.Now, day)
		out.Spans = []page.Tab{{Title: "Hour", URL: r.URL("span", ""), Here: !day},
			{Title: "Day", URL: r.URL("span", "day"), Here: day}}
	}
	return out, nil
}

// shownOfKind bounds what one part of the system adds to the page.
const shownOfKind = 8
