package fleet

import (
	"slices"
	"strconv"
	"strings"

	"github.com/taskerhq/tasker/flow"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/dashboard/page"
)

type queuePage struct {
	Stats  *queueapi.QueueStats
	Levels []level // the highest priority first
	Routes []queueapi.Route
	Tabs   []page.Tab
	Pager  page.Pager
	// Pauses are those in force, at most a page.
	Pauses  []flow.Pause
	Limits  []flow.Limit
	Operate bool
	// Unserved: steps wait, and no worker takes them.
	Unserved bool
}

type level struct {
	Name string
	queueapi.QueueOfPriority
}

var shows = []struct {
	title string
	name  queueapi.RouteShow
}{{"All routes", ""}, {"Steps wait", queueapi.ShowWaiting}, {"Nobody serves them", queueapi.ShowStuck}}

func (p *pages) routes(r *page.Request, cursor string) (page.List[queueapi.Route], error) {
	filter := queueapi.RouteFilter{Show: queueapi.RouteShow(r.Query("show")), Limit: 50, Cursor: cursor}
	if namespace := r.Query("namespace"); namespace != "" {
		filter.Namespaces = []string{namespace}
	}
	got, err := p.queue.Routes(r.Context(), filter)
	if err != nil {
		return page.List[queueapi.Route]{}, err
	}
	return page.List[queueapi.Route]{Items: got.Routes, Next: got.NextCursor}, nil
}

func (p *pages) queues(r *page.Request, of page.List[queueapi.Route]) (queuePage, error) {
	out := queuePage{Routes: of.Items, Pager: of.Pager(r)}
	filter := queueapi.QueueFilter{}
	if namespace := r.Query("namespace"); namespace != "" {
		filter.Namespaces = []string{namespace}
	}
	var err error
	if out.Stats, err = p.queue.QueueStats(r.Context(), filter); err != nil {
		return out, err
	}
	pauses, err := p.flow.Pauses(r.Context(), flow.PauseFilter{Namespaces: filter.Namespaces})
	if err != nil {
		return out, err
	}
	out.Pauses, out.Operate = pauses.Pauses, r.Can(operates...)
	limits, err := p.flow.Limits(r.Context(), flow.LimitFilter{Namespaces: filter.Namespaces})
	if err != nil {
		return out, err
	}
	out.Limits = limits.Limits
	for name, q := range out.Stats.Queues {
		out.Levels = append(out.Levels, level{name, q})
	}
	slices.SortFunc(out.Levels, func(a, b level) int { return b.Level - a.Level })
	out.Unserved = out.Stats.Queue.TotalDepth > 0 && out.Stats.Workers.Active == 0
	for _, s := range shows {
		out.Tabs = append(out.Tabs, page.Tab{Title: s.title, URL: r.URL("show", string(s.name)),
			Here: r.Query("show") == string(s.name)})
	}
	return out, nil
}

func (p *pages) pause(r *page.Request) (page.Done, error) {
	target := flow.Target{Kind: flow.Kind(r.Form("kind")), Namespace: r.Form("namespace"), Handler: r.Form("handler"),
		Template: r.Form("template")}
	if caps := r.Form("capabilities"); caps != "" {
		target.Capabilities = strings.Split(caps, " ")
	}
	done := page.Done{To: "/queues"}
	var err error
	switch r.Form("do") {
	case "pause":
		_, err = p.flow.Pause(r.Context(), flow.PauseRequest{Target: target, PausedBy: r.Name, Reason: r.Form("reason")})
		done.Say = "It is paused: its steps wait until somebody resumes it."
	case "resume":
		_, err = p.flow.ResumePaused(r.Context(), flow.ResumePausedRequest{Target: target, ResumedBy: r.Name})
		done.Say = "It is resumed."
	default:
		return done, page.BadField("do", "must be pause or resume")
	}
	return done, err
}

func (p *pages) limit(r *page.Request) (page.Done, error) {
	target := flow.LimitTarget{Kind: flow.Kind(r.Form("kind")), Namespace: r.Form("namespace"), Handler: r.Form("handler")}
	if caps := r.Form("capabilities"); caps != "" {
		target.Capabilities = strings.Split(caps, " ")
	}
	done := page.Done{To: "/queues"}
	var err error
	switch r.Form("do") {
	case "set":
		n, fault := strconv.Atoi(r.Form("concurrency"))
		if fault != nil {
			return done, page.BadField("concurrency", "must be a number")
		}
		_, err = p.flow.SetLimit(r.Context(), flow.LimitRequest{LimitTarget: target, Concurrency: n, SetBy: r.Name,
			Reason: r.Form("reason")})
		done.Say = "It is limited: no further step begins while so many run."
	case "delete":
		_, err = p.flow.DeleteLimit(r.Context(), flow.DeleteLimitRequest{LimitTarget: target, DeletedBy: r.Name})
		done.Say = "The limit is deleted."
	default:
		return done, page.BadField("do", "must be set or delete")
	}
	return done, err
}

func routeRecord(r queueapi.Route) []string {
	age := func(seconds *float64) string {
		if seconds == nil {
			return ""
		}
		return strconv.FormatFloat(*seconds, 'f', 3, 64)
	}
	return []string{r.Namespace, r.Handler, strings.Join(r.Capabilities, " "), strconv.Itoa(r.Depth),
		age(r.OldestAgeSeconds), age(r.P50AgeSeconds), age(r.P95AgeSeconds), strconv.Itoa(r.Assigned),
		strconv.Itoa(r.Executing), strconv.Itoa(r.ClaimedPerMinute), strconv.Itoa(r.Workers), r.Why}
}
