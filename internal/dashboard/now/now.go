// Package now is the first page: the most urgent work for a human, and the state of the queue.
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

type pages struct {
	api     *tasker.Client
	letters deadletters.Backend
	cases   operate.Backend
	queue   queueapi.Backend
	flow    flow.Backend
	waits   waits.Backend
	history *History
}

// Add adds the page to a site. The owner of history fills it.
func Add(site *page.Site, api *tasker.Client, history *History) {
	p := &pages{api: api, letters: deadletters.Of(api), cases: operate.Of(api), queue: queueapi.Of(api),
		flow: flow.Of(api), waits: waits.Of(api), history: history}
	f := site.Family(templates)
	f.Act("/outages/{outage}/close", []access.Permission{access.Operate}, p.closeOutage)
	page.Add(f, page.Page[first]{Path: "/{$}", File: "now.html", Section: "now",
		Topics: []string{live.Inbox, live.Cases, live.Redrives, live.Sources, live.Clock}, Load: p.now})
}

type first struct {
	Needs  []need
	Stats  *queueapi.QueueStats
	Charts []chart
	Spans  []page.Tab
	Since  time.Time
	// Quiet: nothing needs a human.
	Quiet   bool
	Operate bool
	// Blind names the parts that the viewer's key may not see.
	Blind []string
}

type need struct {
	Urgency int // 0 is the most urgent
	State   string
	What    string // one sentence
	Detail  string
	URL     string // where it is put right
	Act     string // the act behind the link
	At      time.Time
	Outage  *flow.Outage // an open outage, with its act
}

type chart struct {
	Title, Now string
	Drawing    template.HTML
}

// now looks at each part of the system. It names a part that the key may not see; an error fails the page, because it
// must not look like silence.
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

const shownOfKind = 8
