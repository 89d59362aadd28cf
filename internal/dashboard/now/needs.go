package now

import (
	"fmt"
	"strings"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/dashboard/page"
	"github.com/taskerhq/tasker/operate"
)

// Urgencies, the most urgent first.
const (
	broken   = iota // lost or stopped
	returned        // fails again after a repair
	fresh           // new and unseen
	due             // promised
	waiting         // known, and waits
)

func (p *pages) groups(r *page.Request, out *first) error {
	got, err := p.letters.Groups(r.Context(), deadletters.GroupFilter{Namespace: r.Namespace(),
		State: deadletters.GroupOpen, Order: "open", Limit: 50})
	if err != nil {
		if tasker.ErrorCode(err) == tasker.CodeUnavailable { // a store in memory has none
			return nil
		}
		return err
	}
	shown := 0
	for i := range got.Groups {
		g := &got.Groups[i]
		if shown++; shown > shownOfKind {
			out.Needs = append(out.Needs, need{Urgency: fresh, State: "open", What: "More groups are open",
				URL: "/inbox", Act: "See the inbox"})
			return nil
		}
		n := need{Urgency: fresh, State: "open", What: g.Title, URL: "/inbox/" + g.GroupID, Act: "Look", At: g.LastAt,
			Detail: open(g)}
		switch {
		case g.Regression:
			n.Urgency, n.Detail = returned, "Fails again after it was resolved. "+n.Detail
		case g.DueAt != nil && g.DueAt.Before(r.Now):
			n.Urgency, n.Detail = due, "Is overdue. "+n.Detail
		}
		out.Needs = append(out.Needs, n)
	}
	return nil
}

func open(g *deadletters.Group) string {
	var parts []string
	if g.OpenLetters > 0 {
		parts = append(parts, page.Plural(g.OpenLetters, "open letter"))
	}
	if g.OpenCases > 0 {
		parts = append(parts, page.Plural(g.OpenCases, "open case"))
	}
	if len(parts) == 0 {
		parts = []string{"nothing open"}
	}
	return strings.Join(parts, ", ") + " in " + g.Fingerprint.Where
}

func (p *pages) redrives(r *page.Request, out *first) error {
	got, err := p.letters.Redrives(r.Context(), deadletters.RedriveFilter{Namespace: r.Namespace(), Limit: shownOfKind,
		States: []deadletters.RedriveState{deadletters.RedriveHalted}})
	if err != nil {
		if tasker.ErrorCode(err) == tasker.CodeUnavailable {
			return nil
		}
		return err
	}
	for i := range got.Redrives {
		d := &got.Redrives[i]
		out.Needs = append(out.Needs, need{Urgency: returned, State: "halted", At: d.StateAt, Act: "Decide",
			What: "A redrive of " + page.Plural(d.Total, "item") + " has halted", Detail: d.HaltReason,
			URL: "/redrives/" + d.RedriveUUID.String()})
	}
	return nil
}

func (p *pages) sources(r *page.Request, out *first) error {
	got, err := p.letters.Sources(r.Context(), r.Namespace())
	if err != nil {
		if tasker.ErrorCode(err) == tasker.CodeUnavailable {
			return nil
		}
		return err
	}
	for i := range got {
		if s := &got[i]; s.State == deadletters.SourceLost {
			out.Needs = append(out.Needs, need{Urgency: broken, State: "lost", At: s.Since, Detail: s.Error,
				What: "The source " + s.Name + " cannot be read", URL: "/sources", Act: "See the sources"})
		}
	}
	return nil
}

func (p *pages) queues(r *page.Request, out *first) (err error) {
	if out.Stats, err = p.queue.QueueStats(r.Context(), queueapi.QueueFilter{}); err != nil {
		return err
	}
	s := out.Stats
	add := func(urgency int, state, what, detail, url, act string) {
		out.Needs = append(out.Needs, need{Urgency: urgency, State: state, What: what, Detail: detail, URL: url, Act: act,
			At: s.At})
	}
	if s.Queue.TotalDepth > 0 && s.Workers.Active == 0 {
		add(broken, "lost", "No worker takes steps", page.Plural(s.Queue.TotalDepth, "step")+" wait", "/workers",
			"See the workers")
	}
	if err := p.stuck(r, out); err != nil {
		return err
	}
	if s.Backpressure.State != "open" {
		add(broken, "halted", "Submissions are refused", "Too much waits: "+s.Backpressure.State, "/queues", "See the queue")
	}
	if s.Dispatch.Configured && !s.Dispatch.Active {
		add(broken, "lost", "The dispatcher does not dispatch", s.Dispatch.Why+"; the database does its work", "/queues",
			"See the queue")
	}
	if n := s.Workers.Unhealthy + s.Workers.CircuitOpen; n > 0 {
		add(fresh, "warning", page.Plural(n, "worker")+" in trouble", "unhealthy, or with an open circuit breaker",
			"/workers", "See the workers")
	}
	return nil
}

func (p *pages) stuck(r *page.Request, out *first) error {
	if out.Stats.Workers.Active == 0 {
		return nil
	}
	got, err := p.queue.Routes(r.Context(), queueapi.RouteFilter{Show: queueapi.ShowStuck, Limit: shownOfKind})
	if err != nil {
		return err
	}
	for i := range got.Routes {
		q := &got.Routes[i]
		if q.OutageUUID != nil || q.Pause != nil {
			continue // it is among the outages, or held back on purpose
		}
		n := need{Urgency: broken, State: "lost", What: "No worker takes steps of " + q.Handler, URL: "/queues?show=stuck",
			Act: "See the queue", At: got.At, Detail: page.Plural(q.Depth, "step") + " wait in " + q.Namespace}
		if q.OldestAgeSeconds != nil {
			n.At = got.At.Add(-time.Duration(*q.OldestAgeSeconds * float64(time.Second)))
		}
		out.Needs = append(out.Needs, n)
	}
	return nil
}

func (p *pages) stale(r *page.Request, out *first) error {
	for _, health := range []operate.Health{operate.Stale, operate.Warning} {
		got, err := p.cases.Staleness(r.Context(), operate.StalenessFilter{Namespace: r.Namespace(), Health: health,
			Limit: shownOfKind})
		if err != nil {
			return err
		}
		for i := range got {
			t := &got[i]
			n := need{Urgency: fresh, State: "stale", What: t.TaskName + " does not move", Act: "Look",
				URL: "/tasks/" + t.TaskUUID.String(), At: r.Now.Add(-minutes(t.TimeInStateMinutes)),
				Detail: fmt.Sprintf("for %s in the state %s; its threshold is %s", page.Span(minutes(t.CountedMinutes)),
					t.CurrentState, page.Span(minutes(t.StalenessThresholdMinutes)))}
			if health == operate.Warning {
				n.Urgency, n.State, n.What = waiting, "warning", t.TaskName+" will soon be stale"
			}
			out.Needs = append(out.Needs, n)
		}
	}
	return nil
}

func minutes(m float64) time.Duration { return time.Duration(m * float64(time.Minute)) }

// investigations finds cases that only need a resolution, because their tasks have recovered; groups show the others.
func (p *pages) investigations(r *page.Request, out *first) error {
	got, err := p.cases.InvestigationQueue(r.Context(), operate.CaseFilter{Namespace: r.Namespace(), Limit: shownOfKind})
	if err != nil {
		return err
	}
	for i := range got {
		if c := &got[i]; c.Recovered {
			out.Needs = append(out.Needs, need{Urgency: waiting, State: "pending", Act: "Close it", At: c.LastOccurredAt,
				What: c.TaskName + " has recovered; its case can be closed", Detail: c.ErrorMessage,
				URL: "/tasks/" + c.TaskUUID.String()})
		}
	}
	return nil
}
