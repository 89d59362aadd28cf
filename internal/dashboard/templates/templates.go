// Package templates is the pages about templates: the list, and one template with its steps and versions.
package templates

import (
	"cmp"
	"embed"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/dashboard/chart"
	"github.com/taskerhq/tasker/internal/dashboard/diff"
	"github.com/taskerhq/tasker/internal/dashboard/live"
	"github.com/taskerhq/tasker/internal/dashboard/page"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/operate"
)

//go:embed *.html
var files embed.FS

type pages struct {
	api   *tasker.Client
	stats operate.TemplateBackend
}

// The API decides; these spare calls.
var reads = []access.Permission{access.Read}

// Add adds the pages to a site.
func Add(site *page.Site, api *tasker.Client) {
	p := &pages{api: api, stats: operate.Of(api)}
	f := site.Family(files)
	page.AddList(f, page.ListPage[tasker.Template, list]{
		Page: page.Page[list]{Path: "/templates", File: "list.html", Section: "templates", Needs: reads,
			Topics: []string{live.Clock}},
		Rows: p.list, Show: p.showList,
		Columns: []string{"namespace", "name", "version", "created_at", "fingerprint"},
		Record: func(t tasker.Template) []string {
			return []string{t.Namespace, t.Name, t.Version, t.CreatedAt.UTC().Format(time.RFC3339), t.Fingerprint}
		},
	})
	page.Add(f, page.Page[one]{Path: "/templates/{namespace}/{name}", File: "template.html", Section: "templates",
		Needs: reads, Topics: []string{live.Tasks}, Load: p.template})
}

type list struct {
	Templates []tasker.Template
	Pager     page.Pager
}

func (p *pages) list(r *page.Request, cursor string) (page.List[tasker.Template], error) {
	got, err := p.api.Templates(r.Context(), tasker.TemplateFilter{Namespace: r.Namespace(), Name: r.Query("name"),
		Limit: 50, Cursor: cursor})
	if err != nil {
		return page.List[tasker.Template]{}, err
	}
	return page.List[tasker.Template]{Items: got.Templates, Next: got.NextCursor}, nil
}

func (p *pages) showList(r *page.Request, of page.List[tasker.Template]) (list, error) {
	return list{Templates: of.Items, Pager: of.Pager(r)}, nil
}

type one struct {
	Template *tasker.Template
	Versions []tasker.Template // the newest first
	Graph    template.HTML
	Stats    *operate.TemplateStats
	Other    string // compared with this version, "" for none
	Diff     []diff.Line
}

// Bounds of the tasks in statistics, and of the versions.
const (
	statsTasks    = 100
	shownVersions = 50
)

// template reads the version in the address, or the newest.
func (p *pages) template(r *page.Request) (out one, err error) {
	ctx, namespace, name := r.Context(), r.Path("namespace"), r.Path("name")
	if out.Template, err = p.api.Template(ctx, namespace, name, r.Query("version")); err != nil {
		return out, err
	}
	versions, err := p.api.Templates(ctx, tasker.TemplateFilter{Namespace: namespace, Name: name, Limit: shownVersions})
	if err != nil {
		return out, err
	}
	out.Versions = versions.Templates
	slices.SortStableFunc(out.Versions, func(a, b tasker.Template) int { return b.CreatedAt.Compare(a.CreatedAt) })
	if out.Stats, err = p.stats.TemplateStats(ctx, operate.TemplateStatsFilter{Namespace: namespace, Name: name,
		Version: out.Template.Version, Tasks: statsTasks}); err != nil {
		return out, err
	}
	out.Graph = graph(out.Template.Steps, out.Stats.Steps)
	if out.Other = r.Query("compare"); out.Other != "" {
		other, err := p.api.Template(ctx, namespace, name, out.Other)
		if err != nil {
			return out, err
		}
		out.Diff = diff.Lines(lines(other.YAML), lines(out.Template.YAML))
	}
	return out, nil
}

// graph draws the steps with their typical duration, and marks those in which tasks are stuck.
func graph(steps []tasker.TemplateStep, stats []operate.StepStats) template.HTML {
	if len(steps) < 2 {
		return ""
	}
	places := make(map[string]int, len(steps))
	nodes := make([]chart.Node, len(steps))
	for i := range steps {
		places[steps[i].Name] = i
		nodes[i] = chart.Node{Label: steps[i].Name, Mark: chart.MarkPending, State: "step " + strconv.Itoa(i+1)}
		if i < len(stats) {
			nodes[i].Sub, nodes[i].Mark = told(&stats[i])
		}
		if steps[i].OnFailure {
			nodes[i].State += ", after a failure"
			nodes[i].Sub = cmp.Or(nodes[i].Sub, "after a failure")
		}
		if steps[i].Handler == "" {
			nodes[i].State += ", " + steps[i].Runs()
			nodes[i].Sub = cmp.Or(nodes[i].Sub, steps[i].Runs())
		}
		if when := steps[i].When; when != "" {
			nodes[i].State += ", if " + when
			nodes[i].Sub = cmp.Or(nodes[i].Sub, "if "+when)
		}
	}
	var edges []chart.Edge
	for i := range steps {
		for _, parent := range steps[i].Dependencies {
			if from, known := places[parent]; known {
				edges = append(edges, chart.Edge{From: from, To: i})
			}
		}
	}
	return chart.Graph(nodes, edges, chart.GraphOptions{Name: "Steps of the template"})
}

// told summarizes the statistics of a step.
func told(s *operate.StepStats) (words string, mark chart.Mark) {
	switch {
	case s.Begun == 0:
		return "", chart.MarkPending
	case s.FailedAttempts > 0:
		mark = chart.MarkRetry
	default:
		mark = chart.MarkComplete
	}
	if s.Failed > 0 {
		mark = chart.MarkError
	}
	if s.Ran != nil {
		words = page.Span(time.Duration(s.Ran.P50 * float64(time.Second)))
	}
	if s.FailedAttempts > 0 {
		words += ", " + strconv.Itoa(int(s.FailureRate*100+0.5)) + " % fail"
	}
	return strings.TrimPrefix(words, ", "), mark
}

func lines(text string) []string { return strings.Split(strings.TrimRight(text, "\n"), "\n") }
