package schedules

import (
	"github.com/taskerhq/tasker/internal/dashboard/page"
	"github.com/taskerhq/tasker/schedules"
)

type schedulePage struct {
	row
	Firings []firing
	Skips   []schedules.FiringSkip
	Earlier string       // address of the firings before these, "" for none
	Latest  string       // address of the latest firings, "" if these are
	Tree    *page.Branch // the context
	Acts    bool
}

type firing struct{ schedules.Firing }

// Outcome is the state of the task, or of a firing without one.
func (f firing) Outcome() string { return outcome(&f.Firing) }

const firingsShown = 20

func (p *pages) schedule(r *page.Request) (out schedulePage, err error) {
	namespace, name := r.Path("namespace"), r.Path("name")
	got, err := p.schedules.Schedule(r.Context(), namespace, name)
	if err != nil {
		return out, err
	}
	history, err := p.schedules.Firings(r.Context(), namespace, name,
		schedules.FiringFilter{Limit: firingsShown, Cursor: r.Query("before")})
	if err != nil {
		return out, err
	}
	out = schedulePage{row: row{*got}, Skips: history.Skips, Tree: page.Tree(got.Context), Acts: r.Can(operates...)}
	for _, f := range history.Firings {
		out.Firings = append(out.Firings, firing{f})
	}
	if history.Cursor != "" {
		out.Earlier = r.URL("before", history.Cursor)
	}
	if r.Query("before") != "" {
		out.Latest = r.URL("before", "")
	}
	return out, nil
}

func (p *pages) act(r *page.Request) (page.Done, error) {
	namespace, name, ctx := r.Path("namespace"), r.Path("name"), r.Context()
	by := schedules.ScheduleAct{Actor: r.Name, Reason: r.Form("reason"), IfMatch: r.Form("etag")}
	done := page.Done{To: at(namespace, name)}
	switch r.Form("do") {
	case "pause":
		until, err := r.FormTime("until")
		if err != nil {
			return done, err
		}
		done.Say = "The schedule is paused."
		_, err = p.schedules.Pause(ctx, namespace, name, schedules.SchedulePauseRequest{ScheduleAct: by, Until: until})
		return done, err
	case "resume":
		done.Say = "The schedule fires again."
		_, err := p.schedules.Resume(ctx, namespace, name, by)
		return done, err
	case "run":
		ran, err := p.schedules.Run(ctx, namespace, name, schedules.ScheduleRunRequest{ScheduleAct: by,
			Overlap: schedules.Overlap(r.Form("overlap"))})
		if err != nil {
			return done, err
		}
		done.Say = "The task is submitted."
		switch ran.State {
		case schedules.FiringWaiting:
			done.Say = "The firing waits for a task of an earlier one."
		case schedules.FiringRefused:
			done.Say = "The task was refused: " + ran.Error
		}
		return done, nil
	case "delete":
		done.To, done.Say = "/schedules", "The schedule is deleted. Its tasks stay."
		return done, p.schedules.Remove(ctx, namespace, name, by)
	}
	return done, page.BadField("do", "must be pause, resume, run or delete")
}
