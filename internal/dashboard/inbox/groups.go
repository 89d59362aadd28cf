package inbox

import (
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"time"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/dashboard/page"
	"github.com/taskerhq/tasker/internal/model/access"
)

type groupList struct {
	Groups []groupRow
	Pager  page.Pager
	Tabs   []page.Tab
	Triage bool // the viewer may change groups
	Bys    []by
	By     string // the property of Sums
	Sums   []sum  // instead of Groups
	Cut    bool   // only a part of the groups was summed
	Texts  *texts // other places to search for a text; nil without one
}

type texts struct{ Letters, Cases string }

type groupRow struct {
	deadletters.Group
	Spark template.HTML
}

func (g groupRow) Open() int64 { return g.OpenLetters + g.OpenCases }

// groups selects open groups by default.
func (p *pages) groups(r *page.Request, cursor string) (page.List[deadletters.Group], error) {
	filter := groupFilter(r)
	filter.Limit, filter.Cursor = 50, cursor
	got, err := p.letters.Groups(r.Context(), filter)
	if err != nil {
		return page.List[deadletters.Group]{}, err
	}
	return page.List[deadletters.Group]{Items: got.Groups, Next: got.NextCursor}, nil
}

func groupFilter(r *page.Request) deadletters.GroupFilter {
	return deadletters.GroupFilter{Namespace: r.Namespace(), State: state(r), Owner: r.Query("owner"),
		Where: r.Query("where"), Text: r.Query("text"), Order: r.Query("order")}
}

// state: the default is open; "all" does not restrict.
func state(r *page.Request) deadletters.GroupState {
	switch s := r.Query("state"); s {
	case "":
		return deadletters.GroupOpen
	case "all":
		return ""
	default:
		return deadletters.GroupState(s)
	}
}

func (p *pages) showGroups(r *page.Request, of page.List[deadletters.Group]) (groupList, error) {
	out := groupList{Pager: of.Pager(r), Triage: r.Can(triages...), Bys: bys}
	if text := r.Query("text"); text != "" && r.Can(seesLetters...) {
		query := url.Values{"text": {text}, "namespace": {r.Query("namespace")}}
		out.Texts = &texts{Letters: "/letters?" + query.Encode()}
		if r.Can(access.Read) {
			out.Texts.Cases = "/cases?" + query.Encode()
		}
	}
	for _, b := range bys {
		if b.Name == r.Query("by") {
			return out, p.sumUp(r, &out, b)
		}
	}
	for i := range of.Items {
		out.Groups = append(out.Groups, groupRow{of.Items[i], spark(r, &of.Items[i])})
	}
	for _, t := range [][2]string{{"Open", ""}, {"Acknowledged", "acknowledged"}, {"Resolved", "resolved"},
		{"Ignored", "ignored"}, {"All", "all"}} {
		out.Tabs = append(out.Tabs, page.Tab{Title: t[0], URL: r.URL("state", t[1]), Here: r.Query("state") == t[1]})
	}
	return out, nil
}

func groupRecord(g deadletters.Group) []string {
	return []string{g.GroupID, g.Namespace, g.Title, string(g.State), g.Owner, strconv.FormatInt(g.Failures, 10),
		strconv.FormatInt(g.OpenLetters, 10), strconv.FormatInt(g.OpenCases, 10), g.FirstAt.UTC().Format(time.RFC3339),
		g.LastAt.UTC().Format(time.RFC3339)}
}

// changeGroups counts changed and refusing groups.
func (p *pages) changeGroups(r *page.Request) (page.Done, error) {
	got, err := p.letters.ChangeGroups(r.Context(), deadletters.GroupsChange{Groups: r.FormAll("group"),
		GroupChange: deadletters.GroupChange{State: deadletters.GroupState(r.Form("state")), Note: r.Form("note"),
			Act: deadletters.Act{Actor: r.Name, Reason: r.Form("reason")}}})
	if err != nil {
		return page.Done{}, err
	}
	refused, why := 0, ""
	for _, g := range got.Results {
		if g.Error != nil {
			refused, why = refused+1, g.Error.Message
		}
	}
	say := fmt.Sprintf("%s %s.", page.Plural(len(got.Results)-refused, "group"), r.Form("state"))
	if refused > 0 {
		say += fmt.Sprintf(" %s refused: %s", page.Plural(refused, "group"), why)
	}
	done := page.Done{To: r.Back("/inbox"), Say: say}
	if state := r.Form("state"); state != string(deadletters.GroupOpen) && len(got.Results) > refused {
		done.Offer = reopen("/inbox/change", "state")
		for i := range got.Results {
			if g := &got.Results[i]; g.Error == nil {
				done.Offer.Fields = append(done.Offer.Fields, page.Field{Name: "group", Value: g.GroupID})
			}
		}
	}
	return done, nil
}

// reopen offers to undo a change of state. field names the state in the form of the act.
func reopen(path, field string) *page.Offer {
	return &page.Offer{Title: "Reopen", Path: path, Fields: []page.Field{{Name: field,
		Value: string(deadletters.GroupOpen)}}}
}
