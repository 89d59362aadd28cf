package chart

import (
	"cmp"
	"fmt"
	"html/template"
	"time"
)

// SegmentKind is what happens in a segment of a timeline; its value is a class.
type SegmentKind string

// The kinds of segments, each with its own shape.
const (
	Waiting SegmentKind = "wait"    // a thin bar: it waits for a worker
	Running SegmentKind = "run"     // a full bar: an attempt
	BackOff SegmentKind = "backoff" // a hatched bar: it waits for its next attempt
)

// Segment is a part of a row. A zero To means that it has not ended: it ends now, or where it begins if that is later.
type Segment struct {
	Kind     SegmentKind
	From, To time.Time
	// Mark is the end of an attempt; a failed one has a notch. "" for no class.
	Mark Mark
	// Title follows the kind and the duration: "attempt 2, failed: connection refused".
	Title string
}

// Row is a row of a timeline, such as a step.
type Row struct {
	Label, Sub string
	Mark       Mark
	Href       string // on this server; "" for a row without a link
	Segments   []Segment
}

// TimelineOptions configure a timeline.
type TimelineOptions struct {
	// ID is the prefix of the ids in the drawing, unique on the page. Defaults to timeline.
	ID string
	// Name is for screen readers: "Attempts of the task".
	Name string
	// Now is the end of open segments.
	Now time.Time
	// In pixels. Defaults to 900; at least 400.
	Width int
}

// Sizes of a timeline in pixels.
const (
	rowHeight  = 28
	axisHeight = 22
	labelWidth = 190
	tickWidth  = 90
	minSegment = 3
)

// Timeline draws rows of segments on one axis of time, which begins with the first segment and has ticks at round
// durations. Every segment is at least 3 pixels wide and has a title; of overlapping segments with one kind and mark,
// only the first is drawn, so a row of ten thousand attempts stays small.
func Timeline(rows []Row, opts TimelineOptions) template.HTML {
	a := newAxis(rows, opts)
	id := identifier(opts.ID, "timeline")
	height := axisHeight + len(rows)*rowHeight + 4
	d := &drawing{}
	d.begin("timeline", "group", fmt.Sprintf("%s: %s over %s", orUnnamed(opts.Name),
		Noun{"row", "rows"}.of(int64(len(rows))), span(a.whole())), a.right+margin, height, "id", id)
	d.hatch(id)
	d.open("clipPath", "id", id+"-clip")
	d.tag("rect", "width", labelWidth-8, "height", height)
	d.close("clipPath")
	a.ticks(d, height)
	for i, row := range rows {
		a.row(d, row, axisHeight+i*rowHeight, id)
	}
	if a.open {
		d.open("path", "class", "now", "fill", "none", "d", fmt.Sprintf("M%d %dV%d", a.x(a.now), axisHeight-4, height-2))
		d.title("now")
		d.close("path")
	}
	return d.end()
}

type axis struct {
	from, to, now time.Time
	left, right   int
	open          bool
}

func newAxis(rows []Row, opts TimelineOptions) *axis {
	width := opts.Width
	width = cmp.Or(width, 900)
	a := &axis{now: opts.Now, left: labelWidth, right: max(width, 400) - margin}
	for _, row := range rows {
		for _, s := range row.Segments {
			if s.From.IsZero() {
				continue
			}
			if a.from.IsZero() || s.From.Before(a.from) {
				a.from = s.From
			}
			if end := a.end(s); end.After(a.to) {
				a.to = end
			}
			a.open = a.open || s.To.IsZero()
		}
	}
	return a
}

func (a *axis) whole() time.Duration { return a.to.Sub(a.from) }

func (a *axis) end(s Segment) time.Time {
	end := s.To
	if end.IsZero() {
		end = a.now
	}
	if end.Before(s.From) {
		return s.From
	}
	return end
}

func (a *axis) x(t time.Time) int {
	if a.whole() <= 0 {
		return a.left
	}
	return a.left + int(float64(t.Sub(a.from))/float64(a.whole())*float64(a.right-a.left)+.5)
}

func (a *axis) ticks(d *drawing, height int) {
	whole := a.whole()
	step := tickStep(whole, (a.right-a.left)/tickWidth)
	d.open("g", "class", "axis")
	for at := time.Duration(0); at <= whole; at += step {
		x := a.x(a.from.Add(at))
		d.tag("path", "class", "grid", "fill", "none", "d", fmt.Sprintf("M%d %dV%d", x, axisHeight-4, height-2))
		anchor, label := "middle", "+"+span(at)
		if at == 0 {
			anchor, label = "start", "0"
			if !a.from.IsZero() {
				label = moment(a.from, time.Second, whole)
			}
		}
		if x+measure(label, subSize)/2 > a.right+margin {
			anchor = "end"
		}
		d.text("axis", x, axisHeight-8, anchor, label, tickWidth, subSize)
	}
	d.close("g")
}

func (a *axis) row(d *drawing, row Row, y int, id string) {
	mark, href, element := row.Mark.orNone(), local(row.Href), "a"
	d.open("g", "class", words("row", string(mark)))
	if href == "" {
		element = "g"
	}
	d.open(element, "class", "label", "href", href)
	d.title(orUnnamed(row.Label) + map[bool]string{true: ", " + row.Sub}[row.Sub != ""])
	left := 0
	if mark != "" {
		d.shape(mark, fmt.Sprintf("translate(2 %d)", y+rowHeight/2-8))
		left = 24
	}
	d.open("g", "clip-path", "url(#"+id+"-clip)")
	room := labelWidth - left - 12
	if row.Sub == "" {
		d.text("name", left, y+rowHeight/2+4, "start", orUnnamed(row.Label), room, nameSize)
	} else {
		d.text("name", left, y+rowHeight/2-1, "start", orUnnamed(row.Label), room, nameSize)
		d.text("sub", left, y+rowHeight/2+11, "start", row.Sub, room, subSize)
	}
	d.close("g")
	d.close(element)
	d.tag("path", "class", "track", "fill", "none", "d", fmt.Sprintf("M%d %dH%d", a.left, y+rowHeight/2, a.right))
	a.segments(d, row.Segments, y, id)
	d.close("g")
}

func (a *axis) segments(d *drawing, list []Segment, y int, id string) {
	type look struct {
		kind SegmentKind
		mark Mark
	}
	covered := map[look]int{}
	for _, s := range list {
		if s.From.IsZero() {
			continue
		}
		from, to := a.x(s.From), a.x(a.end(s))
		to = max(to, from+minSegment)
		if to > a.right+minSegment {
			from, to = a.right, a.right+minSegment
		}
		key := look{s.Kind, s.Mark}
		if to <= covered[key] {
			continue
		}
		covered[key] = to
		a.segment(d, s, from, to-from, y, id)
	}
}

func (a *axis) segment(d *drawing, s Segment, x, width, y int, id string) {
	kind, top, height := s.Kind, y+6, rowHeight-12
	switch kind {
	case Running:
	case BackOff:
		top, height = y+9, rowHeight-18
	default:
		kind, top, height = Waiting, y+rowHeight/2-2, 4
	}
	state := ""
	if s.To.IsZero() {
		state = "open"
	}
	d.open("g", "class", words(string(kind), string(s.Mark.orNone()), state))
	d.title(a.title(s, kind))
	d.tag("rect", "x", x, "y", top, "width", width, "height", height, "rx", min(2, width/2))
	if kind == BackOff {
		d.tag("rect", "x", x, "y", top, "width", width, "height", height, "fill", "url(#"+id+"-hatch)")
	}
	if s.Mark == MarkError && width >= 9 {
		end, middle := x+width, y+rowHeight/2
		d.tag("path", "class", "notch", "d", fmt.Sprintf("M%d %dl-6 -5v10z", end, middle))
	}
	d.close("g")
}

var names = map[SegmentKind]string{Waiting: "waited", Running: "ran", BackOff: "backed off"}

func (a *axis) title(s Segment, kind SegmentKind) string {
	text := names[kind] + " " + span(a.end(s).Sub(s.From))
	if s.To.IsZero() {
		text += " so far"
	}
	text += ", from " + moment(s.From, time.Second, a.whole())
	if s.Title != "" {
		text += "; " + s.Title
	}
	return text
}
