package inbox

import (
	"html/template"
	"time"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/dashboard/chart"
	"github.com/taskerhq/tasker/internal/dashboard/page"
)

// failures is the noun of the drawings.
var failures = chart.Noun{One: "failure", Many: "failures"}

// perHour spreads failures over the hours until now, the current one last.
func perHour(r *page.Request, hours []deadletters.Hour, n int) ([]int64, chart.Buckets) {
	this := r.Now.UTC().Truncate(time.Hour)
	counts := make([]int64, n)
	for _, h := range hours {
		back := int(this.Sub(h.At.UTC().Truncate(time.Hour)) / time.Hour)
		if back >= 0 && back < n { // clocks differ: an hour may seem to be in the future
			counts[n-1-back] += h.Failures
		}
	}
	return counts, chart.Buckets{Start: this.Add(time.Duration(1-n) * time.Hour).In(r.Zone), Step: time.Hour}
}

func spark(r *page.Request, g *deadletters.Group) template.HTML {
	counts, times := perHour(r, g.Hours, 24)
	return chart.Sparkline(counts, times, failures)
}

func timeOf(r *page.Request, g *deadletters.Group) template.HTML {
	counts, times := perHour(r, g.Hours, 14*24)
	values := make([]float64, len(counts))
	for i, n := range counts {
		values[i] = float64(n)
	}
	return chart.Series([]chart.Line{{Name: "Failures in an hour", Values: values}},
		chart.SeriesOptions{Name: "Failures in an hour, of 14 days", Times: times, Width: 900, Height: 90})
}
