// Package sources is the pages about sources with their policies, and webhooks.
package sources

import (
	"embed"
	"net/url"
	"strconv"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/dashboard/live"
	"github.com/taskerhq/tasker/internal/dashboard/page"
	"github.com/taskerhq/tasker/internal/model/access"
)

//go:embed *.html
var templates embed.FS

type pages struct {
	letters deadletters.Backend
}

// Permissions of viewers and operators; the API decides.
var (
	reads       = []access.Permission{access.Read, access.DeadLettersRead, access.SourcesAdmin}
	manages     = []access.Permission{access.SourcesAdmin}
	seesLetters = []access.Permission{access.DeadLettersRead}
	admins      = []access.Permission{access.Admin}
)

// Add adds the pages to a site.
func Add(site *page.Site, api *tasker.Client) {
	p := &pages{letters: deadletters.Of(api)}
	f := site.Family(templates)
	topics := []string{live.Sources, live.Inbox, live.Clock}
	page.AddList(f, page.ListPage[deadletters.SourceStatus, sourceList]{
		Page: page.Page[sourceList]{Path: "/sources", File: "list.html", Section: "sources", Needs: reads, Topics: topics},
		Rows: p.list, Show: p.showList,
		Columns: []string{"namespace", "name", "driver", "url", "queue", "state", "error", "open", "open_capped"},
		Record:  record,
	})
	page.Add(f, page.Page[sourcePage]{Path: "/sources/{namespace}/{name}", File: "source.html", Section: "sources",
		Needs: reads, Topics: topics, Load: p.source})
	page.Fragment(f, "POST /sources/{namespace}/{name}/test", "source.html", "tested", manages, p.test)
	f.Act("/sources/{namespace}/{name}/pause", manages, p.pause)
	f.Act("/sources/{namespace}/{name}/policy", manages, p.setPolicy)
	page.Fragment(f, "POST /webhooks/{name}/test", "list.html", "answered", admins, p.testWebhook)
}

type row struct {
	deadletters.SourceStatus
}

func (s row) At() string { return at(s.Namespace, s.Name) }

// Names may have any character.
func at(namespace, name string) string {
	return "/sources/" + url.PathEscape(namespace) + "/" + url.PathEscape(name)
}

func (s row) LettersURL() string {
	return "/letters?" + url.Values{"source": {s.Name}, "namespace": {s.Namespace}}.Encode()
}

func (s row) RedriveURL() string {
	return "/redrives/new?" + url.Values{"source": {s.Name}, "namespace": {s.Namespace}, "state": {"open"}}.Encode()
}

type sourceList struct {
	Sources  []row
	Pager    page.Pager
	Tests    bool
	Webhooks []webhook
	Admin    bool
}

type webhook struct {
	deadletters.Webhook
}

func (w webhook) At() string { return "/webhooks/" + url.PathEscape(w.Name) + "/test" }

// The API has no pages of sources.
func (p *pages) list(r *page.Request, _ string) (page.List[deadletters.SourceStatus], error) {
	got, err := p.letters.Sources(r.Context(), r.Namespace())
	return page.List[deadletters.SourceStatus]{Items: got}, err
}

func (p *pages) showList(r *page.Request, of page.List[deadletters.SourceStatus]) (sourceList, error) {
	out := sourceList{Pager: of.Pager(r), Tests: r.Can(manages...), Admin: r.Can(admins...)}
	for _, s := range of.Items {
		out.Sources = append(out.Sources, row{s})
	}
	if out.Admin {
		hooks, err := p.letters.Webhooks(r.Context())
		if err != nil {
			return out, err
		}
		for _, w := range hooks {
			out.Webhooks = append(out.Webhooks, webhook{w})
		}
	}
	return out, nil
}

func record(s deadletters.SourceStatus) []string {
	return []string{s.Namespace, s.Name, s.Driver, s.URL, s.Queue, string(s.State), s.Error, strconv.Itoa(s.Open),
		strconv.FormatBool(s.OpenCapped)}
}

func (p *pages) testWebhook(r *page.Request) (*deadletters.WebhookAnswer, error) {
	return p.letters.TestWebhook(r.Context(), r.Path("name"))
}
