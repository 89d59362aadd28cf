package local

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/kit/wording"
	"github.com/taskerhq/tasker/internal/model/task"
)

const defaultRoutes = 50

type routeRow struct {
	queueapi.Route
	place routePlace
}

// routePlace orders routes by urgency. It is also the cursor, because the list changes while it is read.
type routePlace struct {
	Rank   int   // see rankOf
	Oldest int64 // when the longest-waiting step became ready; 0: none waits
	ID     int64
}

func (p routePlace) compare(o routePlace) int {
	return cmp.Or(cmp.Compare(p.Rank, o.Rank), cmp.Compare(p.Oldest, o.Oldest), cmp.Compare(p.ID, o.ID))
}

func (p routePlace) String() string { return fmt.Sprintf("%d-%d-%d", p.Rank, p.Oldest, p.ID) }

// parseRoutePlace accepts exactly what String writes.
func parseRoutePlace(text string) (p routePlace, ok bool) {
	n, err := fmt.Sscanf(text, "%d-%d-%d", &p.Rank, &p.Oldest, &p.ID)
	return p, err == nil && n == 3 && p.String() == text && p.Rank >= 0 && p.Oldest >= 0 && p.ID >= 0
}

// Routes implements queueapi.Backend.
func (b *Backend) Routes(ctx context.Context, f queueapi.RouteFilter) (*queueapi.RoutePage, error) {
	var faults []tasker.Detail
	after := routePlace{Rank: -1}
	if f.Cursor != "" {
		var ok bool
		if after, ok = parseRoutePlace(f.Cursor); !ok {
			faults = append(faults, tasker.Detail{Location: "cursor", Message: "is not a cursor of this list"})
		}
	}
	if f.Limit = b.page(f.Limit, defaultRoutes); f.Limit < 1 ||
		f.Limit > b.engine.Config().Limits.PageItems {
		faults = append(faults, tasker.Detail{Location: "limit",
			Message: fmt.Sprintf("must be 1 to %d", b.engine.Config().Limits.PageItems)})
	}
	if f.Show != "" && f.Show != queueapi.ShowWaiting && f.Show != queueapi.ShowStuck {
		faults = append(faults, tasker.Detail{Location: "show", Message: "must be waiting or stuck"})
	}
	if len(faults) > 0 {
		return nil, badFilter(faults...)
	}
	census, err := b.engine.RouteCensus(ctx, f.Namespaces)
	if err != nil {
		return nil, ToError(err)
	}
	fleet, err := b.fleet(ctx)
	if err != nil {
		return nil, err
	}
	rows := make([]routeRow, 0, len(census.Routes))
	for i := range census.Routes {
		row := fleet.row(&census.Routes[i], census.At)
		if row.place.compare(after) > 0 && (f.Show == "" || row.Depth > 0 &&
			(f.Show == queueapi.ShowWaiting || row.Workers == 0 || row.Pause != nil || row.OutageUUID != nil)) {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b routeRow) int { return a.place.compare(b.place) })
	page := &queueapi.RoutePage{At: census.At.Time(), Sampled: census.Sampled, Capped: census.Capped}
	for _, row := range rows[:min(f.Limit, len(rows))] {
		page.Routes = append(page.Routes, row.Route)
	}
	if len(rows) > f.Limit {
		page.NextCursor = rows[f.Limit-1].place.String()
	}
	return page, nil
}

// fleet is the workers that are not dead, grouped by the routes that they serve: many workers have few kinds.
type fleet struct {
	b     *Backend
	kinds []fleetKind
}

type fleetKind struct {
	workers     []*task.Worker
	slots, free int // of those that take steps
	takes       int
	unbounded   bool // one of them has no capacity
}

func (b *Backend) fleet(ctx context.Context) (*fleet, error) {
	workers, err := b.engine.Workers(ctx, 0)
	if err != nil {
		return nil, ToError(err)
	}
	loads, err := b.engine.Loads(ctx)
	if err != nil {
		return nil, ToError(err)
	}
	byKind := map[[3]string]int{}
	out := &fleet{b: b}
	for _, w := range workers {
		kind := [3]string{strings.Join(w.Namespaces, "\n"), strings.Join(w.Handlers, "\n"),
			strings.Join(w.Capabilities, "\n")}
		i, known := byKind[kind]
		if !known {
			i = len(out.kinds)
			byKind[kind], out.kinds = i, append(out.kinds, fleetKind{})
		}
		k := &out.kinds[i]
		k.workers = append(k.workers, w)
		if takesSteps(b.engine, w) {
			k.takes++
			k.slots += w.Capacity
			k.free += max(w.Capacity-loads[w.No], 0)
			k.unbounded = k.unbounded || w.Capacity == 0
		}
	}
	return out, nil
}

func takesSteps(e *engine.Engine, w *task.Worker) bool {
	return w.State == task.WorkerActive && !w.Cordoned() && e.BreakerOf(w) != task.BreakerOpen
}

func (f *fleet) row(s *engine.RouteStats, at task.Instant) routeRow {
	r := routeRow{Route: queueapi.Route{Namespace: s.Route.Namespace, Handler: s.Route.Handler,
		Capabilities: append([]string{}, s.Route.Capabilities...), Depth: s.Ready, Assigned: s.Assigned,
		Executing: s.Executing, ClaimedPerMinute: s.Handed, P50AgeSeconds: ageOf(s.P50, s.Ready),
		P95AgeSeconds: ageOf(s.P95, s.Ready)}}
	if s.Oldest != 0 {
		r.OldestAgeSeconds = ageOf(max(at.Sub(s.Oldest), 0), s.Ready)
	}
	pause := f.b.engine.ClosedBy(&s.Route)
	if pause != nil {
		r.Pause = fromPause(pause)
	}
	outage := f.b.engine.OutageOf(&s.Route)
	if outage != nil {
		id := toUUID(outage.ID)
		r.OutageUUID = &id
	}
	var matching []*task.Worker
	unbounded := false
	for i := range f.kinds {
		k := &f.kinds[i]
		if !k.workers[0].Serves(s.Route) {
			continue
		}
		r.Workers += k.takes
		r.Slots += k.slots
		r.FreeSlots += k.free
		unbounded = unbounded || k.unbounded
		if k.takes == 0 {
			matching = append(matching, k.workers...)
		}
	}
	if unbounded {
		r.Slots, r.FreeSlots = 0, 0
	}
	switch {
	case pause != nil:
		r.Why = pausedText(pause)
	case outage != nil:
		r.Why = outageText(outage)
	case r.Depth > 0:
		r.Why = f.why(&r.Route, &s.Route, matching, unbounded)
	}
	r.place = routePlace{Rank: rankOf(&r.Route), Oldest: int64(s.Oldest), ID: s.Route.ID}
	return r
}

// why explains why steps wait on a route and none moves; "" if one does.
func (f *fleet) why(r *queueapi.Route, route *task.Route, matching []*task.Worker, unbounded bool) string {
	if r.Workers == 0 {
		why := "no live worker serves it"
		if _, idle := f.b.serving(matching, route); idle != "" {
			why += " (" + idle + ")"
		}
		return why
	}
	if !unbounded && r.FreeSlots == 0 {
		return wording.Count(r.Workers, "worker") + " serving, and no slot is free"
	}
	return ""
}

// rankOf is 0 if steps wait without workers, 1 if steps wait, 2 if workers run steps, and 3 for quiet routes.
func rankOf(r *queueapi.Route) int {
	switch {
	case r.Depth > 0 && r.Workers == 0 && r.Pause == nil && r.OutageUUID == nil:
		return 0
	case r.Depth > 0:
		return 1
	case r.Assigned+r.Executing > 0:
		return 2
	}
	return 3
}
