// Package redrives is the pages about operations on many letters and cases: the list, the plan of a new one with its
// preview, and one in progress.
package redrives

import (
	"embed"
	"fmt"
	"strconv"
	"strings"
	"time"

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
	reads = []access.Permission{access.Read, access.DeadLettersRead}
	acts  = []access.Permission{access.DeadLettersRedrive, access.DeadLettersDiscard, access.Operate}
)

// Add adds the pages to a site.
func Add(site *page.Site, api *tasker.Client) {
	p := &pages{letters: deadletters.Of(api)}
	f := site.Family(templates)
	page.AddList(f, page.ListPage[deadletters.Redrive, redriveList]{
		Page: page.Page[redriveList]{Path: "/redrives", File: "list.html", Section: "redrives", Needs: reads,
			Topics: []string{live.Redrives, live.Clock}},
		Rows: p.list, Show: p.showList,
		Columns: []string{"redrive_uuid", "namespace", "operation", "state", "selection", "total", "actor", "created_at",
			"ended_at", "halt_reason"},
		Record: record,
	})
	page.Add(f, page.Page[draft]{Path: "/redrives/new", File: "new.html", Section: "redrives", Needs: acts, Load: p.draft})
	page.Fragment(f, "POST /redrives/preview", "new.html", "preview", acts, p.preview)
	f.Act("/redrives", acts, p.create)
	page.Add(f, page.Page[progress]{Path: "/redrives/{redrive}", File: "redrive.html", Section: "redrives", Needs: reads,
		Topics: []string{live.Redrives, live.Clock}, Load: p.redrive})
	f.Act("/redrives/{redrive}/act", acts, p.act)
	p.addReplays(f)
}

type redriveList struct {
	Redrives []deadletters.Redrive
	Pager    page.Pager
	Tabs     []page.Tab
}

var views = []struct {
	title, name string
	states      []deadletters.RedriveState
}{
	{"All", "", nil},
	{"Under way", "live", []deadletters.RedriveState{deadletters.RedriveRunning, deadletters.RedriveObserving,
		deadletters.RedrivePaused}},
	{"Halted", "halted", []deadletters.RedriveState{deadletters.RedriveHalted}},
	{"Drafts", "draft", []deadletters.RedriveState{deadletters.RedriveDraft}},
	{"Ended", "ended", []deadletters.RedriveState{deadletters.RedriveDone, deadletters.RedriveCancelled}},
}

func (p *pages) list(r *page.Request, cursor string) (page.List[deadletters.Redrive], error) {
	filter := deadletters.RedriveFilter{Namespace: r.Namespace(), Limit: 50, Cursor: cursor}
	for _, v := range views {
		if v.name == r.Query("view") {
			filter.States = v.states
		}
	}
	got, err := p.letters.Redrives(r.Context(), filter)
	if err != nil {
		return page.List[deadletters.Redrive]{}, err
	}
	return page.List[deadletters.Redrive]{Items: got.Redrives, Next: got.NextCursor}, nil
}

func (p *pages) showList(r *page.Request, of page.List[deadletters.Redrive]) (redriveList, error) {
	out := redriveList{Redrives: of.Items, Pager: of.Pager(r)}
	for _, v := range views {
		out.Tabs = append(out.Tabs, page.Tab{Title: v.title, URL: r.URL("view", v.name), Here: r.Query("view") == v.name})
	}
	return out, nil
}

func record(d deadletters.Redrive) []string {
	ended := ""
	if d.EndedAt != nil {
		ended = d.EndedAt.UTC().Format(time.RFC3339)
	}
	return []string{d.RedriveUUID.String(), d.Namespace, string(d.Operation), string(d.State), words(&d.Selection),
		strconv.Itoa(d.Total), d.Actor, d.CreatedAt.UTC().Format(time.RFC3339), ended, d.HaltReason}
}

func words(s *deadletters.Selection) string {
	what := "letters and cases"
	switch s.Kind {
	case deadletters.KindLetter:
		what = "letters"
	case deadletters.KindCase:
		what = "cases"
	}
	var parts []string
	add := func(format string, v any) { parts = append(parts, fmt.Sprintf(format, v)) }
	if n := len(s.IDs); n > 0 {
		add("%s by ID", page.Plural(n, "one", "ones"))
	}
	if n := len(s.Groups); n == 1 {
		add("group %s", s.Groups[0])
	} else if n > 1 {
		add("%d groups", n)
	}
	for _, field := range []struct{ name, value string }{{"source", s.Source}, {"origin", s.Origin},
		{"template", s.Template}, {"state", string(s.State)}, {"error type", s.ErrorType}, {"text", s.Text}} {
		if field.value != "" {
			add("%s", field.name+" "+field.value)
		}
	}
	if len(parts) == 0 {
		return "all " + what
	}
	return what + " of " + strings.Join(parts, ", ")
}
