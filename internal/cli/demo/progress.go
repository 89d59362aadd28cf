package demo

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// How often the progress is shown: a bar is redrawn, plain lines pile up.
const (
	barEvery  = 100 * time.Millisecond
	lineEvery = 2 * time.Second
	barWidth  = 30
)

// progress shows how far the run is. A nil *progress shows nothing.
type progress struct {
	to       io.Writer
	redraw   bool
	started  time.Time
	lastShow time.Time
}

// newProgress returns nil when there is nowhere to show anything.
func newProgress(opts Options, now time.Time) *progress {
	if opts.Progress == nil {
		return nil
	}
	return &progress{to: opts.Progress, redraw: opts.IsTerminal, started: now, lastShow: now}
}

// show writes the state of the run unless it has just done so. That a progress
// line cannot be written is no reason to stop, so errors are not looked at.
func (p *progress) show(now time.Time, c counts, total int) {
	if p == nil {
		return
	}
	every := lineEvery
	if p.redraw {
		every = barEvery
	}
	if now.Sub(p.lastShow) < every {
		return
	}
	p.lastShow = now
	p.write(now, c, total)
}

// finish writes the last state and leaves the line.
func (p *progress) finish(now time.Time, c counts, total int) {
	if p == nil {
		return
	}
	p.write(now, c, total)
	if p.redraw {
		fmt.Fprintln(p.to)
	}
}

// write writes one line, in place on a terminal. The bar follows the steps:
// ready steps go first come, first served, so the reports end close together.
func (p *progress) write(now time.Time, c counts, total int) {
	rate := float64(c.steps) / max(now.Sub(p.started).Seconds(), 0.001)
	text := fmt.Sprintf("%s steps, %s/s; %s of %s reports through, %s failed",
		grouped(c.steps), grouped(int(rate)), grouped(c.ended), grouped(total), grouped(c.failed))
	if !p.redraw {
		fmt.Fprintln(p.to, text)
		return
	}
	full := barWidth
	if c.ended < total { // the steps behind a failed one never run, so the end is known by the reports
		full = min(barWidth, c.steps*barWidth/(total*stepsPerReport))
	}
	// \x1b[K clears what a longer line has left behind.
	fmt.Fprintf(p.to, "\r[%s%s] %s\x1b[K", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), text)
}

// grouped writes n with commas: 9,976.
func grouped(n int) string {
	if n < 0 {
		return "-" + grouped(-n)
	}
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}
