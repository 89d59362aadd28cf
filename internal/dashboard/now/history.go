package now

import (
	"context"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/dashboard/page"
)

// Times of a History.
const (
	every     = 10 * time.Second
	samples   = 360 // an hour
	perDay    = 288 // of the samples of a day, one each five minutes
	dayEvery  = 30  // samples of the hour for one of the day
	statsTime = 5 * time.Second
)

// sample is the state of the queue at a time.
type sample struct {
	at                       time.Time
	completed, failed, depth float64
	oldest                   float64 // seconds
}

// History has the state of the queue in the last hour and day, since the start of this process. It is safe for
// concurrent use.
type History struct {
	stats func(ctx context.Context) (*queueapi.QueueStats, error)

	mu    sync.Mutex
	hour  []sample // the oldest first
	day   []sample
	count int
}

// NewHistory returns an empty History. stats are about all namespaces.
func NewHistory(stats func(ctx context.Context) (*queueapi.QueueStats, error)) *History {
	return &History{stats: stats}
}

// Run takes a sample every ten seconds until ctx ends. A failure leaves a gap.
func (h *History) Run(ctx context.Context) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		h.look(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

func (h *History) look(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, statsTime)
	defer cancel()
	s, err := h.stats(limited)
	if err != nil {
		return // the page itself shows that a store does not answer
	}
	one := sample{at: s.At, completed: float64(s.Throughput.CompletedLastMinute),
		failed: float64(s.Throughput.FailedLastMinute), depth: float64(s.Queue.TotalDepth)}
	if s.Queue.OldestAgeSeconds != nil {
		one.oldest = *s.Queue.OldestAgeSeconds
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hour = keep(append(h.hour, one), samples)
	if h.count%dayEvery == 0 {
		h.day = keep(append(h.day, one), perDay)
	}
	h.count++
}

func keep(all []sample, n int) []sample { return all[max(0, len(all)-n):] }

// charts draws the last hour or day; since is the first sample.
func (h *History) charts(now time.Time, day bool) (out []chart, since time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.hour) == 0 {
		return nil, since
	}
	last := h.hour[len(h.hour)-1]
	all, span, words := h.hour, time.Hour, "last hour"
	if day { // the newest sample of the hour ends the day, too
		all, span, words = append(slices.Clone(h.day), last), 24*time.Hour, "last day"
	}
	for _, c := range []struct {
		title, now, class string
		of                func(sample) float64
	}{
		{"Completed in a minute", page.Number(int(last.completed)), "c-good", func(s sample) float64 { return s.completed }},
		{"Failed in a minute", page.Number(int(last.failed)), "c-bad", func(s sample) float64 { return s.failed }},
		{"Steps that wait", page.Number(int(last.depth)), "c-plain", func(s sample) float64 { return s.depth }},
		{"Longest wait", page.Span(time.Duration(last.oldest * float64(time.Second))), "c-plain",
			func(s sample) float64 { return s.oldest }},
	} {
		out = append(out, chart{Title: c.title, Now: c.now, Drawing: draw(all, now, span, c.class,
			c.title+", "+words, c.of)})
	}
	return out, h.day[0].at
}

// draw draws an area without text: the page has title and value.
func draw(all []sample, now time.Time, span time.Duration, class, title string, of func(sample) float64) template.HTML {
	const width, height = 240.0, 48.0
	highest := 1.0
	for _, s := range all {
		highest = max(highest, of(s))
	}
	var line strings.Builder
	first, x := 0.0, 0.0
	for i, s := range all {
		x = min(max(width*(1-float64(now.Sub(s.at))/float64(span)), 0), width)
		if i == 0 {
			first = x
		}
		fmt.Fprintf(&line, "%.1f,%.1f ", x, height-2-(height-4)*of(s)/highest)
	}
	return template.HTML(fmt.Sprintf(`<svg class="area %s" viewBox="0 0 %g %g" preserveAspectRatio="none" role="img" `+
		`aria-label="%s, at most %s"><polygon points="%.1f,%g %s%.1f,%g"/><polyline points="%s"/></svg>`,
		class, width, height, template.HTMLEscapeString(title), page.Number(highest), first, height, line.String(), x, height,
		line.String()))
}
