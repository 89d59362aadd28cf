// Package inbox is the pages about failures: the inbox of groups, a group, a letter and a case.
package inbox

import (
	"embed"

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

// Permissions of viewers and operators of the inbox; the API decides.
var (
	reads   = []access.Permission{access.Read, access.DeadLettersRead}
	triages = []access.Permission{access.Operate, access.DeadLettersRedrive}

	seesLetters = []access.Permission{access.DeadLettersRead}
	redrives    = []access.Permission{access.DeadLettersRedrive}
	discards    = []access.Permission{access.DeadLettersDiscard}
	edits       = []access.Permission{access.DeadLettersEdit}
	changes     = []access.Permission{access.DeadLettersEdit, access.DeadLettersDiscard}
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
	page.Add(f, page.Page[groupPage]{Path: "/inbox/{group}", File: "group.html", Section: "inbox", Needs: reads,
		Topics: []string{live.Inbox, live.Cases}, Load: p.group})
	f.Act("/inbox/change", triages, p.changeGroups)
	f.Act("/inbox/{group}/change", triages, p.changeGroup)
	f.Act("/inbox/{group}/merge", triages, p.merge)

	page.AddList(f, page.ListPage[deadletters.Letter, letterList]{
		Page: page.Page[letterList]{Path: "/letters", File: "letters.html", Section: "inbox", Needs: seesLetters,
			Topics: []string{live.Inbox}},
		Rows: p.listLetters, Show: p.showLetters,
		Columns: []string{"letter_uuid", "namespace", "source", "origin", "state", "group_id", "error_type", "error_message",
			"handler", "occurrences", "replays", "first_at", "last_at"},
		Record: letterRecord,
	})
	page.Add(f, page.Page[letterPage]{Path: "/letters/{letter}", File: "letter.html", Section: "inbox",
		Needs: seesLetters, Topics: []string{live.Inbox}, Load: p.letter})
	f.Download("/letters/{letter}/payload", seesLetters, p.download)
	f.Act("/letters/{letter}/change", changes, p.changeLetter)
	page.Fragment(f, "POST /letters/{letter}/preview", "letter.html", "preview", edits, p.previewEdit)
	page.Add(f, page.Page[comparison]{Path: "/letters/compare", File: "compare.html", Section: "inbox",
		Needs: seesLetters, Topics: []string{live.Inbox}, Load: p.compareLetters})
}
