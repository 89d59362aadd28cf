package chart

import (
	"fmt"
	"html/template"
	"math"
)

// Wave is a wave of a redrive: of Size letters, Sent were sent; of those, Completed, Returned and Failed have ended so.
// Negative counts are zero, and counts beyond the size are cut.
type Wave struct {
	Size, Sent, Completed, Returned, Failed int64
	// Note is added to the title, such as the reason of a halt.
	Note   string
	Halted bool
}

// Sizes of the chart of waves in pixels.
const (
	waveHeight = 110
	waveWidth  = 34
	waveGap    = 8
	maxWaves   = 100
)

// Waves draws a column for each of the last 100 waves, as high as the square root of its size, filled from below with
// the outcomes of its letters. ID is the prefix of the ids in it, unique on the page; it defaults to waves.
func Waves(waves []Wave, id string) template.HTML {
	id = identifier(id, "waves")
	first := max(0, len(waves)-maxWaves)
	var sum Wave
	largest := int64(1)
	for _, w := range waves {
		w = w.bounded()
		sum.Size, sum.Sent = plus(sum.Size, w.Size), plus(sum.Sent, w.Sent)
		sum.Completed, sum.Returned = plus(sum.Completed, w.Completed), plus(sum.Returned, w.Returned)
		sum.Failed = plus(sum.Failed, w.Failed)
		largest = max(largest, w.Size)
	}
	d := &drawing{}
	top, base := 18, waveHeight-18
	width := max(len(waves)-first, 1)*(waveWidth+waveGap) + waveGap
	d.begin("waves", "img", Noun{"wave", "waves"}.of(int64(len(waves)))+": "+sum.describe(), width, waveHeight)
	d.hatch(id)
	d.tag("path", "class", "base", "fill", "none", "d", fmt.Sprintf("M0 %dH%d", base, width))
	for i, w := range waves[first:] {
		w = w.bounded()
		height := 10 + int(math.Sqrt(float64(w.Size)/float64(largest))*float64(base-top-10))
		x := waveGap + i*(waveWidth+waveGap)
		d.wave(w, first+i+1, x, base, height, id)
	}
	return d.end()
}

func (d *drawing) wave(w Wave, number, x, base, height int, id string) {
	class := "wave"
	if w.Halted {
		class = "wave halted"
	}
	d.open("g", "class", class)
	text := fmt.Sprintf("Wave %d: %s", number, w.describe())
	if w.Halted {
		text += ", halted"
	}
	if w.Note != "" {
		text += ": " + w.Note
	}
	d.title(text)
	d.tag("rect", "class", "size", "x", x, "y", base-height, "width", waveWidth, "height", height)
	at := base
	parts := []Share{{Count: w.Completed, Class: "completed"}, {Count: w.Returned, Class: "returned"},
		{Count: w.Failed, Class: "failed"}, {Count: w.Sent - w.Completed - w.Returned - w.Failed, Class: "sent"},
		{Count: w.Size - w.Sent}}
	for i, h := range divide(parts, w.Size, height) {
		if h == 0 || parts[i].Class == "" {
			continue
		}
		at -= h
		d.tag("rect", "class", parts[i].Class, "x", x, "y", at, "width", waveWidth, "height", h)
		switch parts[i].Class {
		case "returned":
			d.tag("rect", "x", x, "y", at, "width", waveWidth, "height", h, "fill", "url(#"+id+"-hatch)")
		case "failed":
			d.tag("path", "class", "cross", "fill", "none", "d", fmt.Sprintf("M%d %dL%d %d", x, at+h, x+waveWidth, at))
		}
	}
	d.text("value", x+waveWidth/2, base-height-4, "middle", compact(float64(w.Size)), waveWidth+waveGap, subSize)
	d.text("axis", x+waveWidth/2, base+13, "middle", fmt.Sprint(number), waveWidth+waveGap, subSize)
	d.close("g")
}

func (d *drawing) hatch(id string) {
	d.open("defs")
	d.open("pattern", "id", id+"-hatch", "width", 6, "height", 6, "patternUnits", "userSpaceOnUse",
		"patternTransform", "rotate(45)")
	d.tag("path", "class", "hatch", "fill", "none", "d", "M0 0V6")
	d.close("pattern")
	d.close("defs")
}

// bounded cuts every count to the rest of the counts above it.
func (w Wave) bounded() Wave {
	w.Size = max(w.Size, 0)
	w.Sent = min(max(w.Sent, 0), w.Size)
	w.Completed = min(max(w.Completed, 0), w.Sent)
	w.Returned = min(max(w.Returned, 0), w.Sent-w.Completed)
	w.Failed = min(max(w.Failed, 0), w.Sent-w.Completed-w.Returned)
	return w
}

func (w Wave) describe() string {
	return fmt.Sprintf("%s of %s sent, %s completed, %s returned, %s failed", group(w.Sent), group(w.Size),
		group(w.Completed), group(w.Returned), group(w.Failed))
}
