// Package inbox is the pages about what failed: the inbox of groups, a group, a letter and a case.
package inbox

import (
	"embed"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/access"
	"github.com/taskerhq/tasker/internal/dashboard/live"
	"github.com/taskerhq/tasker/internal/dashboard/page"
)

//go:embed *.html
var templates embed.FS

// pages are the pages over one API.
type pages struct {
	letters deadletters.Backend
}

// Permissions of viewers and operators of the inbox; the API decides.
var (
	reads   = []access.Permission{access.Read, access.DeadLettersRead}
	triages = []access.Permission{access.Operate, access.DeadLettersRedrive}
)

// Add adds the pages to a site.
func Add(site *page.Site, api *tasker.Client) {
	p := &pages{letters: deadletters.Of(api)}
	f := site.Family(templates)
	page.AddList(f, page.ListPage[deadletters.Group, groupList]{
		Page: page.Page[groupList]{Path: "/inbox", File: "inbox.html", Section: "inbox", Needs: reads,
			Topics: []string{live.Inbox, live.Cases}},
		Rows: p.groups, Show: p.showGroups,
		Columns: []string{"group_id", "namespace", "title", "state", "owner", "failures", "open_letters", "open_cases",
			"first_at", "last_at"},
		Record: groupRecord,
	})
	f.Act("/inbox/change", triages, p.changeGroups)
}
