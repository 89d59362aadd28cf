// Package schedules is the pages about schedules: the list, and one with its next times and its firings.
package schedules

import (
	"embed"
	"net/url"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/dashboard/live"
	"github.com/taskerhq/tasker/internal/dashboard/page"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/schedules"
)

//go:embed *.html
var templates embed.FS

type pages struct {
	schedules schedules.Backend
}

// Permissions of viewers and operators; the API decides.
var (
	reads    = []access.Permission{access.Read}
	operates = []access.Permission{access.Operate}
)

// Add adds the pages to a site.
func Add(site *page.Site, api *tasker.Client) {
	p := &pages{schedules: schedules.Of(api)}
	f := site.Family(templates)
	topics := []string{live.Tasks, live.Clock}
	page.AddList(f, page.ListPage[schedules.Schedule, scheduleList]{
		Page: page.Page[scheduleList]{Path: "/schedules", File: "list.html", Section: "schedules", Needs: reads,
			Topics: topics},
		Rows: p.list, Show: p.showList, Record: record,
		Columns: []string{"namespace", "name", "cron", "time_zone", "runs", "state", "next_time", "last_time", "last_outcome",
			"trouble"},
	})
	page.Add(f, page.Page[schedulePage]{Path: "/schedules/{namespace}/{name}", File: "schedule.html", Section: "schedules",
		Needs: reads, Topics: topics, Load: p.schedule})
	f.Act("/schedules/{namespace}/{name}/act", operates, p.act)
}

type row struct {
	schedules.Schedule
}

func (s row) At() string { return at(s.Namespace, s.Name) }

// Names may have any character.
func at(namespace, name string) string {
	return "/schedules/" + url.PathEscape(namespace) + "/" + url.PathEscape(name)
}

func (s row) Runs() string {
	if s.Template == "" {
		return s.TaskType
	}
	if s.TemplateVersion != "" {
		return s.Template + " " + s.TemplateVersion
	}
	return s.Template
}

func (s row) Zone() string {
	if s.TimeZone == "" {
		return "UTC"
	}
	return s.TimeZone
}

// zero for none
func (s row) Next() time.Time {
	if len(s.NextTimes) == 0 {
		return time.Time{}
	}
	return s.NextTimes[0]
}

// Local writes a time in the schedule's zone.
func (s row) Local(t time.Time) string {
	zone, err := time.LoadLocation(s.Zone())
	if err != nil { // the schedule is broken, and says so
		zone = time.UTC
	}
	return t.In(zone).Format("Mon 2006-01-02 15:04:05 -07:00")
}

// Outcome is the state of the last firing's task, if there is one.
func (s row) Outcome() string {
	if s.LastFiring == nil {
		return ""
	}
	return outcome(s.LastFiring)
}

func outcome(f *schedules.Firing) string {
	if f.TaskState != "" {
		return string(f.TaskState)
	}
	return string(f.State)
}

type scheduleList struct {
	Schedules []row
	Pager     page.Pager
}

func (p *pages) list(r *page.Request, cursor string) (page.List[schedules.Schedule], error) {
	got, err := p.schedules.Schedules(r.Context(), schedules.Filter{Namespace: r.Namespace(), Limit: 50, Cursor: cursor})
	if err != nil {
		return page.List[schedules.Schedule]{}, err
	}
	return page.List[schedules.Schedule]{Items: got.Schedules, Next: got.Cursor}, nil
}

func (p *pages) showList(r *page.Request, of page.List[schedules.Schedule]) (scheduleList, error) {
	out := scheduleList{Pager: of.Pager(r)}
	for _, s := range of.Items {
		out.Schedules = append(out.Schedules, row{s})
	}
	return out, nil
}

func record(s schedules.Schedule) []string {
	of, last := row{s}, ""
	if s.LastFiring != nil {
		last = s.LastFiring.Time.UTC().Format(time.RFC3339)
	}
	next := ""
	if t := of.Next(); !t.IsZero() {
		next = t.UTC().Format(time.RFC3339)
	}
	return []string{s.Namespace, s.Name, s.Cron, of.Zone(), of.Runs(), string(s.State), next, last, of.Outcome(),
		s.Trouble}
}
