package siege

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker/proof/crashtest"
)

// Report is the result of a run.
type Report struct {
	Violations []string // five of each kind are listed
	// ByKind counts all violations, by the checker's rule or the note's kind.
	ByKind map[string]int
	// Weak has the reasons why the run proves nothing; empty if it does.
	Weak []string
	// Text is for people.
	Text string
	// Logs are the ends of the processes' output.
	Logs string
}

// OK reports whether all guarantees were kept, and the run was worth its name.
func (r *Report) OK() bool { return len(r.Violations) == 0 && len(r.Weak) == 0 }

func (r *run) report(found []crashtest.Found, err error) *Report {
	searchLogs(r.Cluster, &r.notes)
	rep := &Report{ByKind: map[string]int{}, Logs: tails(r.Cluster)}
	rep.Violations = append(rep.Violations, r.Crashes()...)
	seen, kinds := r.notes.result()
	rep.Violations = append(rep.Violations, seen...)
	maps.Copy(rep.ByKind, kinds)
	if err != nil {
		return rep
	}
	v := crashtest.Check(r.journal, found)
	rep.add(v)
	rep.Weak = r.weaknesses(v)
	rep.Text = r.text(v)
	return rep
}

func (r *Report) add(v *crashtest.Verdict) {
	for _, broken := range v.Violations {
		if r.ByKind[string(broken.Rule)]++; r.ByKind[string(broken.Rule)] <= shown {
			r.Violations = append(r.Violations, broken.String())
		}
	}
}

// weaknesses are the reasons why a run without violations would prove nothing.
func (r *run) weaknesses(v *crashtest.Verdict) []string {
	var weak []string
	expect := func(holds bool, what string) {
		if !holds {
			weak = append(weak, what)
		}
	}
	faults := 0
	for _, t := range r.log.times {
		faults += len(t)
	}
	expect(v.Tasks >= 10*faults, "fewer than ten tasks for each fault")
	expect(v.StaleRefused >= faults, "hardly a report under an old token")
	expect(v.Unknown > 0, "no answer was ever lost")
	expect(v.Children > 0 && v.Taken > 0 && v.Compensated > 0, "no child task, no signal or no compensation")
	expect(r.inquiry.asked > 0 && r.witness.refusals.Load() > 0, "nobody asked during an outage")
	for _, g := range r.crew.ghosts {
		expect(g.refused.Load() > 0, g.name+" was never late")
	}
	for _, w := range r.crew.watchers {
		expect(w.looks.Load() > int64(faults), w.name+" hardly looked")
	}
	return weak
}

// text is the table of recoveries by kind of fault, and the counts of the run.
func (r *run) text(v *crashtest.Verdict) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("%-38s %5s  %17s  %17s  %17s", "recovery", "times", "accepted p50/max", "complete p50/max", "told p50/max")
	var all []recovery
	row := func(kind string, of []recovery) {
		var accepted, complete, told []time.Duration
		for _, one := range of {
			accepted, complete, told = append(accepted, one.accepted), append(complete, one.complete), append(told, one.told)
		}
		line("%-38s %5d  %8s %8s  %8s %8s  %8s %8s", kind, len(of), half(accepted), longest(accepted), half(complete),
			longest(complete), half(told), longest(told))
	}
	for _, kind := range slices.Sorted(maps.Keys(r.log.times)) {
		row(kind, r.log.times[kind])
		all = append(all, r.log.times[kind]...)
	}
	row("all", all)
	late, looks, workerKills := int64(0), int64(0), 0
	for _, g := range r.crew.ghosts {
		late += g.refused.Load()
	}
	for _, w := range r.crew.watchers {
		looks += w.looks.Load()
	}
	for _, p := range r.crew.programs {
		workerKills += p.Kills()
	}
	refusals := int64(0)
	for _, n := range r.Nodes {
		refusals += n.Refusals()
	}
	line("faults=%d node_kills=%d worker_kills=%d starts_refused=%d under_load=%s settling=%s", len(all), r.log.kills,
		workerKills, refusals, r.log.took.Round(time.Second), round(r.log.settling))
	line("tasks=%d steps=%d handouts=%d unknown_answers=%d orphans=%d duplicate_executions=%d unrecorded=%d late=%d",
		v.Tasks, v.Steps, v.Handouts, v.Unknown, v.Orphans, v.Duplicates, v.Unrecorded, v.Late)
	line("children=%d signals=%d taken=%d compensated=%d", v.Children, v.Signals, v.Taken, v.Compensated)
	line("requests=%d refused_503=%d asked_in_outages=%d answered_p50=%s answered_max=%s looks=%d",
		r.witness.requests.Load(), r.witness.refusals.Load(),
		r.inquiry.asked, half(r.inquiry.took), longest(r.inquiry.took), looks)
	line("stale_refused=%d late_reports_refused=%d", v.StaleRefused, late)
	line("lost=%d settled_twice=%d claimed_twice=%d violations=%d seed=%d", v.Count(crashtest.Lost),
		v.Count(crashtest.SettledTwice),
		v.Count(crashtest.TokenReused), len(v.Violations), r.options.Seed)
	return b.String()
}

// half is the median in milliseconds (of an even count, the upper one); 0 of none.
func half(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(d))
	return round(sorted[len(sorted)/2])
}

func longest(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	return round(slices.Max(d))
}
