package starvation

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Sizes of the SVG. Its colours follow the reader's light or dark scheme.
const (
	width, height          = 760, 420
	left, right, top, foot = 64, 150, 56, 52
	plotWidth, plotHeight  = width - left - right, height - top - foot
	// highest is the end of the axis of waits; longer ones leave the plot.
	highest   = 90 * time.Minute
	perLabel  = 15 * time.Minute // between two labels of the axis of waits
	perColumn = time.Hour        // between two labels of the axis of time
)

// style has a class for the line (l0 to l3) and one for the name (n0 to n3) of each curve, in the order of Plot.
const style = `
  .back { fill: #ffffff } .grid { stroke: #e3e6ea; stroke-width: 1 } .axis { stroke: #8a929c; stroke-width: 1 }
  text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; fill: #57606a }
  .title { font-size: 15px; font-weight: 600; fill: #1f2328 } .name { font-weight: 600 }
  .line { fill: none; stroke-width: 2; stroke-linejoin: round }
  .l0 { stroke: #cf222e } .n0 { fill: #cf222e } .l1 { stroke: #0969da } .n1 { fill: #0969da }
  .l2 { stroke: #8250df; stroke-width: 5; stroke-opacity: 0.55 } .n2 { fill: #8250df } .l3 { stroke: #1a7f37 } .n3 { fill: #1a7f37 }
  @media (prefers-color-scheme: dark) {
    .back { fill: #0d1117 } .grid { stroke: #262c36 } .axis { stroke: #6e7681 } text { fill: #9198a1 } .title { fill: #f0f6fc }
    .l0 { stroke: #ff7b72 } .n0 { fill: #ff7b72 } .l1 { stroke: #58a6ff } .n1 { fill: #58a6ff }
    .l2 { stroke: #bc8cff } .n2 { fill: #bc8cff } .l3 { stroke: #3fb950 } .n3 { fill: #3fb950 }
  }
`

// Plot draws at most four curves: style has no colour for a fifth. The same curves give the same bytes. Names are not
// escaped: they must not contain reserved characters of XML.
func Plot(w io.Writer, curves []Curve) error {
	var b bytes.Buffer
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">`+"\n",
		width, height, width, height, describe(curves))
	fmt.Fprintf(&b, "<style>%s</style>\n", style)
	fmt.Fprintf(&b, `<rect class="back" width="%d" height="%d" rx="8"/>`+"\n", width, height)
	text(&b, left, 24, "title", "How long the step of low priority has waited that waits longest")
	text(&b, left, 42, "", fmt.Sprintf("always more high ones than %d workers can do; minutes, over hours", Workers))
	axes(&b)
	for i, c := range curves {
		fmt.Fprintf(&b, `<polyline class="line l%d" points="%s"/>`+"\n", i, path(c.Points))
	}
	names(&b, curves)
	b.WriteString("</svg>\n")
	_, err := w.Write(b.Bytes())
	if err != nil {
		return fmt.Errorf("write plot: %w", err)
	}
	return nil
}

// describe is the plot in words.
func describe(curves []Curve) string {
	var parts []string
	for _, c := range curves {
		parts = append(parts, c.Name+": "+label(c))
	}
	return "Longest wait of a step of low priority by mode. " + strings.Join(parts, "; ")
}

// label is the longest wait in whole minutes; "no end" without a bound, because the wait then depends on the length of
// the simulation.
func label(c Curve) string {
	if c.Bound == 0 {
		return "no end"
	}
	return fmt.Sprintf("%.0f min", c.Longest.Minutes())
}

func text(b *bytes.Buffer, x, y float64, class, s string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" class="%s">%s</text>`+"\n", x, y, class, s)
}

// axes draws a line across the plot for each label of waits, and labels of time below.
func axes(b *bytes.Buffer) {
	for wait := time.Duration(0); wait <= highest; wait += perLabel {
		class := "grid"
		if wait == 0 {
			class = "axis"
		}
		fmt.Fprintf(b, `<line class="%s" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/>`+"\n", class, left, yOf(wait), left+plotWidth,
			yOf(wait))
		fmt.Fprintf(b, `<text x="%d" y="%.1f" text-anchor="end">%.0f</text>`+"\n", left-10, yOf(wait)+4, wait.Minutes())
	}
	for at := time.Duration(0); at <= Lasts; at += perColumn {
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%.0f h</text>`+"\n", xOf(at), height-foot+22, at.Hours())
	}
}

func path(points []Point) string {
	var kept []Point
	for _, p := range points {
		if p.Wait > highest {
			break
		}
		if n := len(kept); n >= 2 && straight(kept[n-2], kept[n-1], p) {
			kept[n-1] = p
			continue
		}
		kept = append(kept, p)
	}
	var words []string
	for _, p := range kept {
		words = append(words, fmt.Sprintf("%.1f,%.1f", xOf(p.At), yOf(p.Wait)))
	}
	return strings.Join(words, " ")
}

// straight reports whether b lies on the line from a to c. It compares products of whole seconds: exact, without an
// overflow.
func straight(a, b, c Point) bool {
	return (b.Wait-a.Wait)/time.Second*((c.At-b.At)/time.Second) == (c.Wait-b.Wait)/time.Second*((b.At-a.At)/time.Second)
}

// names are beside the ends of the curves, from top to bottom, at least 36 apart.
func names(b *bytes.Buffer, curves []Curve) {
	type name struct {
		y float64
		i int
		c Curve
	}
	var list []name
	for i, c := range curves {
		y := yOf(min(c.Longest, highest))
		list = append(list, name{y: y, i: i, c: c})
	}
	slices.SortStableFunc(list, func(a, b name) int { return int(a.y - b.y) })
	next := float64(top)
	for _, n := range list {
		y := max(n.y, next)
		fmt.Fprintf(b, `<text x="%d" y="%.1f" class="name n%d">%s</text>`+"\n", left+plotWidth+12, y+4, n.i, n.c.Name)
		text(b, left+plotWidth+12, y+19, "", label(n.c))
		next = y + 36
	}
}

// yOf grows downwards, so a wait of 0 is lowest.
func xOf(at time.Duration) float64 { return left + plotWidth*at.Hours()/Lasts.Hours() }

func yOf(wait time.Duration) float64 {
	return top + plotHeight*(1-float64(wait)/float64(highest))
}
