// Package fleet is the pages about the queue and the workers.
package fleet

import (
	"embed"
	"slices"
	"strings"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/flow"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/dashboard/live"
	"github.com/taskerhq/tasker/internal/dashboard/page"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/worker/protocol"
)

//go:embed *.html
var templates embed.FS

type pages struct {
	api   *tasker.Client
	queue queueapi.Backend
	flow  flow.Backend
}

// Permissions of viewers and operators; the API decides.
var (
	reads    = []access.Permission{access.Read}
	operates = []access.Permission{access.Operate}
)

// Add adds the pages to a site.
func Add(site *page.Site, api *tasker.Client) {
	p := &pages{api: api, queue: queueapi.Of(api), flow: flow.Of(api)}
	f := site.Family(templates)
	page.AddList(f, page.ListPage[queueapi.Route, queuePage]{
		Page: page.Page[queuePage]{Path: "/queues", File: "queues.html", Section: "queues", Needs: reads,
			Topics: []string{live.Clock}},
		Rows: p.routes, Show: p.queues, Record: routeRecord,
		Columns: []string{"namespace", "handler", "capabilities", "depth", "oldest_age_seconds", "p50_age_seconds",
			"p95_age_seconds", "assigned", "executing", "claimed_per_minute", "workers", "why"}})
	page.Add(f, page.Page[workerList]{Path: "/workers", File: "workers.html", Section: "workers", Needs: reads,
		Topics: []string{live.Clock}, Load: p.workers})
	page.Add(f, page.Page[workerPage]{Path: "/workers/{worker}", File: "worker.html", Section: "workers", Needs: reads,
		Topics: []string{live.Clock}, Load: p.worker})
	f.Act("/workers/{worker}/act", operates, p.act)
	f.Act("/queues/pause", operates, p.pause)
	f.Act("/queues/limit", operates, p.limit)
}

type workerList struct {
	Workers []protocol.WorkerInfo
	Live    int
	Load    int
	Slots   int
}

func (p *pages) workers(r *page.Request) (out workerList, err error) {
	if out.Workers, err = protocol.Of(p.api).Workers(r.Context()); err != nil {
		return out, err
	}
	for i := range out.Workers {
		if w := &out.Workers[i]; w.State != "dead" {
			out.Live++
			out.Load += w.CurrentLoad
			out.Slots += w.Capacity
		}
	}
	slices.SortStableFunc(out.Workers, func(a, b protocol.WorkerInfo) int {
		if d := rank(&a) - rank(&b); d != 0 {
			return d
		}
		return strings.Compare(a.Name, b.Name)
	})
	return out, nil
}

// rank orders workers by how much they need a look.
func rank(w *protocol.WorkerInfo) int {
	switch {
	case w.State == "dead":
		return 4
	case w.State == "unhealthy" || w.Health == "unhealthy" || w.Breaker == "open":
		return 0
	case w.Health == "degraded" || w.Breaker == "half_open":
		return 1
	case w.State == "draining" || w.Cordoned:
		return 2
	}
	return 3
}

type workerPage struct {
	Worker  *protocol.WorkerInfo
	Operate bool
}

func (p *pages) worker(r *page.Request) (out workerPage, err error) {
	id, err := r.UUID("worker")
	if err != nil {
		return out, err
	}
	out.Worker, err = protocol.Of(p.api).Worker(r.Context(), id)
	out.Operate = r.Can(operates...)
	return out, err
}

func (p *pages) act(r *page.Request) (page.Done, error) {
	id, err := r.UUID("worker")
	if err != nil {
		return page.Done{}, err
	}
	ctx, reason, say := r.Context(), r.Form("reason"), ""
	switch r.Form("do") {
	case "drain":
		_, err = protocol.Of(p.api).Drain(ctx, protocol.WorkerAct{WorkerID: id, By: r.Name, Reason: reason})
		say = "The worker drains: it gets no more steps and ends those that it has."
	case "resume":
		_, err = protocol.Of(p.api).ResumeWorker(ctx, protocol.WorkerAct{WorkerID: id, By: r.Name, Reason: reason})
		say = "The worker gets steps again."
	case "cordon":
		_, err = protocol.Of(p.api).CordonWorker(ctx, protocol.WorkerAct{WorkerID: id, By: r.Name, Reason: reason})
		say = "The worker gets no more steps."
	case "uncordon":
		_, err = protocol.Of(p.api).UncordonWorker(ctx, protocol.WorkerAct{WorkerID: id, By: r.Name, Reason: reason})
		say = "The worker gets steps again."
	default:
		return page.Done{}, page.BadField("do", "must be drain, resume, cordon or uncordon")
	}
	return page.Done{To: "/workers/" + id.String(), Say: say}, err
}
