package chart

import (
	"fmt"
	"html/template"
	"math"
	"time"
)

// Buckets are the times of a chart: the first starts at Start, each is Step long. Times are in Start's zone.
type Buckets struct {
	Start time.Time
	Step  time.Duration
}

func (b Buckets) at(i int) time.Time { return b.Start.Add(time.Duration(i) * b.Step) }

func (b Buckets) name(i, n int) string { return moment(b.at(i), b.Step, time.Duration(n)*b.Step) }

func (b Buckets) span(i, n int) string { return b.name(i, n) + " to " + b.name(i+1, n) }

// maxBuckets bounds the buckets of a chart; more are summed in groups.
const maxBuckets = 120

// Size of a sparkline in pixels.
const (
	sparkWidth  = 120
	sparkHeight = 26
)

// Sparkline draws counts per bucket as bars, 120 by 26 pixels. Every count above zero is visible, and has a title with
// its time. Negative counts are zero. The description is the sum, the length and the highest bucket: "212 failures in
// 24 h, most at 14:00".
func Sparkline(counts []int64, times Buckets, noun Noun) template.HTML {
	counts, times = gather(counts, times)
	d := &drawing{}
	d.begin("spark", "img", sparkText(counts, times, noun), sparkWidth, sparkHeight)
	d.tag("path", "class", "base", "d", fmt.Sprintf("M0 %dH%d", sparkHeight-1, sparkWidth), "fill", "none")
	peak := highest(counts)
	for i, count := range counts {
		if count == 0 {
			continue
		}
		class := "bar"
		if i == peak {
			class = "bar peak"
		}
		left, right := i*sparkWidth/len(counts), (i+1)*sparkWidth/len(counts)
		if right-left > 2 {
			right--
		}
		height := 2 + int(float64(count)/float64(counts[peak])*(sparkHeight-4)+.5)
		d.open("rect", "class", class, "x", left, "y", sparkHeight-1-height, "width", max(right-left, 1), "height", height)
		d.title(times.span(i, len(counts)) + ": " + noun.of(count))
		d.close("rect")
	}
	return d.end()
}

func sparkText(counts []int64, times Buckets, noun Noun) string {
	var sum int64
	for _, count := range counts {
		sum = plus(sum, count)
	}
	whole := window(time.Duration(len(counts)) * times.Step)
	if sum == 0 {
		return "no " + noun.Many + " in " + whole
	}
	return noun.of(sum) + " in " + whole + ", most at " + times.name(highest(counts), len(counts))
}

// gather sums neighbouring buckets until there are at most maxBuckets.
func gather(counts []int64, times Buckets) ([]int64, Buckets) {
	each := max(1, (len(counts)+maxBuckets-1)/maxBuckets)
	out := make([]int64, (len(counts)+each-1)/each)
	for i, count := range counts {
		out[i/each] = plus(out[i/each], max(count, 0))
	}
	times.Step *= time.Duration(each)
	return out, times
}

// plus saturates.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func highest(counts []int64) int {
	peak := 0
	for i, count := range counts {
		if count > counts[peak] {
			peak = i
		}
	}
	return peak
}
