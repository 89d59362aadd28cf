package inbox

import (
	"cmp"
	"fmt"
	"html/template"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/dashboard/chart"
	"github.com/taskerhq/tasker/internal/dashboard/page"
)

// lineage draws the story of a letter: its origin, each death, the redrives between, and its present place. A letter
// that died once and waits needs none.
func lineage(r *page.Request, l *deadletters.LetterStory) template.HTML {
	if len(l.History) < 2 && l.State == deadletters.LetterOpen {
		return ""
	}
	var nodes []chart.Letter
	add := func(label, sub string, mark chart.Mark, state, href string) {
		n := chart.Letter{ID: fmt.Sprint(len(nodes)), Label: label, Sub: sub, Mark: mark, State: state, Href: href}
		if len(nodes) > 0 {
			n.Parents = []string{nodes[len(nodes)-1].ID}
		}
		nodes = append(nodes, n)
	}
	origin := l.Origin
	origin = cmp.Or(origin, l.Source)
	add(origin, "origin", chart.MarkResolved, "where it came from", "")
	for i := len(l.History) - 1; i >= 0; i-- { // the latest is first
		o := &l.History[i]
		if o.RedriveUUID != nil {
			add("Sent back", "redrive", chart.MarkRunning, "sent back by a redrive", "/redrives/"+o.RedriveUUID.String())
		}
		what := o.Failure.Type
		what = cmp.Or(what, "Failed")
		add(what, "died "+r.Clock(o.At), chart.MarkError, "died at "+r.Exact(o.At), "")
	}
	switch l.State {
	case deadletters.LetterRedriven:
		href := ""
		if l.RedriveUUID != nil {
			href = "/redrives/" + l.RedriveUUID.String()
		}
		add("Sent back", "has not come back", chart.MarkComplete, "sent back, and has not come back", href)
	case deadletters.LetterDiscarded:
		add("Discarded", "", chart.MarkCancelled, "discarded", "")
	case deadletters.LetterScheduled:
		add("Scheduled", "a policy sends it", chart.MarkRetry, "waits for its time", "")
	}
	nodes[len(nodes)-1].Current = true
	return chart.Lineage(nodes, chart.GraphOptions{Name: "What became of the letter", Noun: chart.Noun{One: "event",
		Many: "events"}})
}
