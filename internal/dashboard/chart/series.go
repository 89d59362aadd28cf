package chart

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"strings"
	"time"
)

// Line is a series with one value per bucket. NaN, negative and infinite values are gaps.
type Line struct {
	Name   string
	Values []float64
}

// SeriesOptions configure Series.
type SeriesOptions struct {
	// Name is for screen readers: "Throughput".
	Name  string
	Times Buckets
	// Format writes a value; nil writes compact numbers such as 1.2k.
	Format func(float64) string
	// In pixels. Default to 480 and 120; at least 120 and 60.
	Width, Height int
}

// maxLines is the number of classes of lines.
const maxLines = 6

// Series draws at most six lines over time with the areas below, the first and the last time, and the highest value.
// Lines after the first have different dashes. Every bucket has a title with its time and values, up to 120.
func Series(lines []Line, opts SeriesOptions) template.HTML {
	c := newSeries(lines, opts)
	d := &drawing{}
	d.begin("series", "img", c.describe(), c.width, c.height)
	d.tag("path", "class", "grid", "fill", "none", "d",
		fmt.Sprintf("M0 %dH%dM0 %dH%d", c.top, c.width, (c.top+c.bottom)/2, c.width))
	d.tag("path", "class", "base", "fill", "none", "d", fmt.Sprintf("M0 %dH%d", c.bottom, c.width))
	for i, l := range c.lines {
		for _, run := range runs(l.Values) {
			path := c.path(l.Values, run)
			class := fmt.Sprintf("s%d", i+1)
			d.tag("path", "class", "area "+class, "d",
				fmt.Sprintf("%sV%dH%dz", path, c.bottom, c.x(run[0])))
			d.tag("path", "class", "line "+class, "fill", "none", "stroke-dasharray", dashes[i], "d", path)
		}
	}
	d.text("axis", 0, c.top-5, "start", c.format(c.max), c.width/2, subSize)
	if c.count > 0 {
		d.text("axis", 0, c.height-3, "start", c.times.name(0, c.count), c.width/2, subSize)
		d.text("axis", c.width, c.height-3, "end", c.times.name(c.count, c.count), c.width/2, subSize)
	}
	c.hits(d)
	return d.end()
}

// dashes distinguish lines without colour.
var dashes = [maxLines]string{"", "5 3", "2 2", "8 3 2 3", "1 3", "10 4"}

type series struct {
	lines                      []Line
	name                       string
	times                      Buckets
	format                     func(float64) string
	count                      int
	max                        float64
	width, height, top, bottom int
}

func newSeries(lines []Line, opts SeriesOptions) *series {
	c := &series{lines: lines[:min(len(lines), maxLines)], name: opts.Name, times: opts.Times, format: opts.Format,
		width: opts.Width, height: opts.Height}
	if c.format == nil {
		c.format = compact
	}
	c.width = cmp.Or(c.width, 480)
	if c.height == 0 {
		c.height = 120
	}
	c.width, c.height = max(c.width, 120), max(c.height, 60)
	c.top, c.bottom = 16, c.height-17
	highest := 0.0
	for _, l := range c.lines {
		c.count = max(c.count, len(l.Values))
		for _, v := range l.Values {
			if drawn(v) {
				highest = max(highest, v)
			}
		}
	}
	c.max = ceiling(highest)
	return c
}

func drawn(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }

// ceiling rounds up to 1, 2, 2.5, 4, 5, 6 or 8 times a power of ten.
func ceiling(v float64) float64 {
	if v <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, f := range []float64{1, 1.5, 2, 2.5, 3, 4, 5, 6, 8} {
		if v <= f*power {
			return f * power
		}
	}
	return 10 * power
}

func runs(values []float64) [][2]int {
	var out [][2]int
	for i, v := range values {
		switch {
		case !drawn(v):
		case len(out) > 0 && out[len(out)-1][1] == i-1:
			out[len(out)-1][1] = i
		default:
			out = append(out, [2]int{i, i})
		}
	}
	return out
}

func (c *series) x(i int) int { return (2*i + 1) * c.width / (2 * max(c.count, 1)) }

func (c *series) path(values []float64, run [2]int) string {
	var b strings.Builder
	for i := run[0]; i <= run[1]; i++ {
		verb := byte('L')
		if i == run[0] {
			verb = 'M'
		}
		y := float64(c.bottom) - values[i]/c.max*float64(c.bottom-c.top)
		fmt.Fprintf(&b, "%c%d %.1f", verb, c.x(i), y)
	}
	if run[0] == run[1] {
		b.WriteString("h2")
	}
	return b.String()
}

// hits gives every bucket an area with its values as title.
func (c *series) hits(d *drawing) {
	if c.count > maxBuckets {
		return
	}
	for i := range c.count {
		left, right := i*c.width/c.count, (i+1)*c.width/c.count
		d.open("rect", "class", "hit", "x", left, "y", c.top, "width", right-left, "height", c.bottom-c.top,
			"fill", "transparent")
		text := c.times.span(i, c.count)
		for k, l := range c.lines {
			text += map[bool]string{true: ": ", false: ", "}[k == 0] + clean(l.Name, 40)
			if i < len(l.Values) && drawn(l.Values[i]) {
				text += " " + c.format(l.Values[i])
			} else {
				text += " unknown"
			}
		}
		d.title(text)
		d.close("rect")
	}
}

func (c *series) describe() string {
	text := fmt.Sprintf("%s over %s", orUnnamed(c.name), window(time.Duration(c.count)*c.times.Step))
	for _, l := range c.lines {
		peak, last := -1, "unknown"
		for i, v := range l.Values {
			if drawn(v) && (peak < 0 || v > l.Values[peak]) {
				peak = i
			}
		}
		if n := len(l.Values); n > 0 && drawn(l.Values[n-1]) {
			last = c.format(l.Values[n-1])
		}
		text += "; " + clean(l.Name, 40) + " now " + last
		if peak >= 0 {
			text += ", at most " + c.format(l.Values[peak]) + " at " + c.times.name(peak, c.count)
		}
	}
	return text
}
