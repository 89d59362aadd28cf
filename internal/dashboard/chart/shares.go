package chart

import (
	"fmt"
	"html/template"
)

// Share is a part of a whole.
type Share struct {
	Label string
	Count int64
	// Class has letters, digits and hyphens. Defaults to s1 to s6, by the place.
	Class string
}

// Size of a bar of shares in pixels.
const (
	sharesWidth  = 320
	sharesHeight = 12
	maxShares    = 100
)

// Shares draws parts of a whole as one bar, 320 by 12 pixels. Every part above zero is visible and has a title with its
// count and share; negative counts are zero, and parts after the hundredth are one, others. Colour alone distinguishes
// the parts, so write a legend beside it.
func Shares(parts []Share, noun Noun) template.HTML {
	parts, whole := wholeOf(parts)
	d := &drawing{}
	text := "no " + noun.Many
	if whole > 0 {
		text = noun.of(whole)
		for _, p := range parts {
			text += ", " + shareText(p, whole)
		}
	}
	d.begin("shares", "img", text, sharesWidth, sharesHeight)
	if whole == 0 {
		d.tag("rect", "class", "share none", "width", sharesWidth, "height", sharesHeight, "rx", 2)
	}
	at := 0
	for i, width := range divide(parts, whole, sharesWidth) {
		if width == 0 {
			continue
		}
		class := identifier(parts[i].Class, "")
		if class == "" {
			class = fmt.Sprintf("s%d", i%maxLines+1)
		}
		gap := 0
		if width > 2 && at+width < sharesWidth {
			gap = 1
		}
		d.open("rect", "class", "share "+class, "x", at, "width", width-gap, "height", sharesHeight)
		d.title(shareText(parts[i], whole))
		d.close("rect")
		at += width
	}
	return d.end()
}

func wholeOf(list []Share) (parts []Share, whole int64) {
	for i, p := range list {
		p.Count = max(p.Count, 0)
		whole = plus(whole, p.Count)
		if i >= maxShares {
			last := &parts[maxShares-1]
			last.Label, last.Count = "others", plus(last.Count, p.Count)
			continue
		}
		parts = append(parts, p)
	}
	return parts, whole
}

// divide gives each part above zero at least 2 pixels.
func divide(parts []Share, whole int64, width int) []int {
	widths := make([]int, len(parts))
	room := width
	for _, p := range parts {
		if p.Count > 0 {
			room -= 2
		}
	}
	used, passed, last := 0, int64(0), -1
	for i, p := range parts {
		if p.Count == 0 {
			continue
		}
		passed = plus(passed, p.Count)
		edge := int(float64(passed) / float64(whole) * float64(room))
		widths[i] = 2 + max(edge-used, 0)
		used, last = max(edge, used), i
	}
	if last >= 0 {
		widths[last] += room - used
	}
	return widths
}

func shareText(p Share, whole int64) string {
	return fmt.Sprintf("%s %s (%s %%)", clean(orUnnamed(p.Label), 80), group(p.Count),
		trim(100*float64(p.Count)/float64(whole)))
}
