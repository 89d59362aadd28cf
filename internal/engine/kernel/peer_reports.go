package kernel

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// Processes exchange their measurements by notes every few seconds, so rates and counts are those of the cluster,
// slightly late.

type peerReports struct {
	mu      sync.Mutex
	reports []Report
}

// Report is read by other versions during an upgrade: fields are only added.
type Report struct {
	At         task.Instant              `json:"at"`
	Since      task.Instant              `json:"since"`
	Kinds      map[string]float64        `json:"kinds,omitempty"`
	Namespaces map[string]measuredCounts `json:"spaces,omitempty"`
	Probes     int                       `json:"probes,omitempty"`
	Routes     map[int64]int             `json:"routes,omitempty"` // steps handed out in the last minute, by route
}

type measuredCounts struct {
	Completed  int `json:"c,omitempty"`
	Failed     int `json:"f,omitempty"`
	Handed     int `json:"h,omitempty"`
	Runs       int `json:"r,omitempty"`
	RunMillis  int `json:"ms,omitempty"`
	NotStarted int `json:"n,omitempty"`
	Lapsed     int `json:"l,omitempty"`
}

const (
	// ReportInterval is the time between two reports of a process.
	ReportInterval = 10 * time.Second
	// reportForgotten is the age at which the note of an ended process is deleted.
	reportKept      = 4 * ReportInterval
	reportForgotten = time.Hour
	reportPrefix    = "measured/"
	reportedKinds   = 200
	reportedRoutes  = 200
)

// ShareMeasurements stores the measurements of this process and reads those of others, if there can be any.
func (e *Kernel) ShareMeasurements(ctx context.Context) error {
	if e.Cluster == nil {
		return nil
	}
	notes, err := e.NoteStore.Notes(ctx, reportPrefix)
	if err != nil {
		return fmt.Errorf("read what others measured: %w", err)
	}
	now, own := e.Now(), reportPrefix+e.feed.Run()
	gone := e.PeerReports.update(notes, own, now)
	mine := e.Meter.report(now)
	_, noted := notes[own]
	if mine.quiet() && noted {
		gone = append(gone, own)
	}
	if mine.quiet() && len(gone) == 0 { // an idle process writes nothing
		return nil
	}
	text, err := json.Marshal(mine)
	if err != nil {
		return fmt.Errorf("encode what was measured: %w", err)
	}
	return e.Transact(ctx, func(ctx context.Context, tx Tx) error {
		if err := e.NoteStore.DropNotes(ctx, tx, gone); err != nil || mine.quiet() {
			return err
		}
		return e.NoteStore.Note(ctx, tx, own, string(text))
	})
}

func (r *Report) quiet() bool { return len(r.Kinds)+len(r.Namespaces)+r.Probes == 0 }

// update adopts notes and returns the keys of ended processes, sorted against deadlocks between deleting processes.
func (o *peerReports) update(notes map[string]string, own string, now task.Instant) (gone []string) {
	var reports []Report
	for key, text := range notes {
		if key == own {
			continue
		}
		var r Report
		err := json.Unmarshal([]byte(text), &r) // a note of another version may differ
		switch age := now.Sub(r.At); {
		case err != nil || age > reportForgotten:
			gone = append(gone, key)
		case age <= reportKept:
			reports = append(reports, r)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reports = reports
	slices.Sort(gone)
	return gone
}

func (o *peerReports) Each(now task.Instant, fn func(r *Report)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range o.reports {
		if now.Sub(o.reports[i].At) <= reportKept {
			fn(&o.reports[i])
		}
	}
}

func (o *peerReports) rateOf(kind string, now task.Instant) (rate float64) {
	o.Each(now, func(r *Report) { rate += r.Kinds[kind] })
	return rate
}

func (o *peerReports) add(out *tally, now task.Instant, pass func(namespace string) bool) {
	o.Each(now, func(r *Report) {
		out.since = min(out.since, r.Since)
		out.probes += r.Probes
		for namespace, c := range r.Namespaces {
			if pass(namespace) {
				out.add(c)
			}
		}
	})
}

type tally struct {
	measuredCounts
	since  task.Instant
	probes int
}

func (t *tally) add(c measuredCounts) {
	t.Completed += c.Completed
	t.Failed += c.Failed
	t.Handed += c.Handed
	t.Runs += c.Runs
	t.RunMillis += c.RunMillis
	t.NotStarted += c.NotStarted
	t.Lapsed += c.Lapsed
}

func (t *tally) measured() Measured {
	out := Measured{Since: t.since, CompletedLastMinute: t.Completed, FailedLastMinute: t.Failed,
		HandedLastMinute: t.Handed,
		RunsLastMinute:   t.Runs, NotStartedLastHour: t.NotStarted, LapsedLastHour: t.Lapsed, ProbesFailedLastHour: t.probes}
	if t.Runs > 0 {
		out.MeanRun = time.Duration(t.RunMillis) * time.Millisecond / time.Duration(t.Runs)
	}
	return out
}

// count requires the meter's mu.
func (a *activity) count(at int64) measuredCounts {
	return measuredCounts{Completed: a.completed.Sum(at), Failed: a.failed.Sum(at), Handed: a.handed.Sum(at),
		Runs:      a.runs.Sum(at),
		RunMillis: a.runMillis.Sum(at), NotStarted: a.notStarted.Sum(at), Lapsed: a.lapsed.Sum(at)}
}

// report leaves out all but the busiest reportedKinds and reportedRoutes.
func (m *meter) report(now task.Instant) Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := Report{At: now, Since: m.since, Kinds: map[string]float64{}, Namespaces: map[string]measuredCounts{},
		Probes: m.probes.Sum(int64(now)), Routes: m.sumRoutes(now)}
	for kind, s := range m.kinds {
		if rate := s.PerSecond(now); rate > 0 {
			r.Kinds[kind] = rate
		}
	}
	keepHighest(r.Kinds, reportedKinds)
	keepHighest(r.Routes, reportedRoutes)
	for namespace, a := range m.namespaces {
		if c := a.count(int64(now)); c != (measuredCounts{}) {
			r.Namespaces[namespace] = c
		}
	}
	return r
}

func keepHighest[K, V cmp.Ordered](of map[K]V, n int) {
	highest := slices.SortedFunc(maps.Keys(of), func(a, b K) int {
		return cmp.Or(cmp.Compare(of[b], of[a]), cmp.Compare(a, b))
	})
	for _, key := range highest[min(len(highest), n):] {
		delete(of, key)
	}
}

func (e *Kernel) Measured(now task.Instant, pass func(namespace string) bool) Measured {
	t := e.Meter.tally(now, pass)
	e.PeerReports.add(&t, now, pass)
	return t.measured()
}

// DrainRate is steps per second in the last minute.
func (e *Kernel) DrainRate(now task.Instant) float64 {
	return float64(e.Measured(now, Passing(nil)).HandedLastMinute) / 60
}
