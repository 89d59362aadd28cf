package demo

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// The bar is redrawn often; plain lines pile up.
const (
	barEvery  = 100 * time.Millisecond
	lineEvery = 2 * time.Second
	barWidth  = 30
)

// A nil *progress shows nothing.
type progress struct {
	to       io.Writer
	redraw   bool
	started  time.Time
	lastShow time.Time
}

// newProgress returns nil without an output.
func newProgress(opts Options, now time.Time) *progress {
	if opts.Progress == nil {
		return nil
	}
	return &progress{to: opts.Progress, redraw: opts.IsTerminal, started: now, lastShow: now}
}

// show writes the progress unless it was just shown. It ignores write errors, which are no reason to stop.
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

func (p *progress) finish(now time.Time, c counts, total int) {
	if p == nil {
		return
	}
	p.write(now, c, total)
	if p.redraw {
		fmt.Fprintln(p.to)
	}
}

// write shows the steps in the bar, because ready steps are first come, first served, and the reports end close
// together.
func (p *progress) write(now time.Time, c counts, total int) {
	rate := float64(c.steps) / max(now.Sub(p.started).Seconds(), 0.001)
	text := fmt.Sprintf("%s steps, %s/s; %s of %s reports through, %s failed",
		grouped(c.steps), grouped(int(rate)), grouped(c.ended), grouped(total), grouped(c.failed))
	if !p.redraw {
		fmt.Fprintln(p.to, text)
		return
	}
	full := barWidth
	if c.ended < total { // steps behind a failed one never run, so the reports mark the end
		full = min(barWidth, c.steps*barWidth/(total*stepsPerReport))
	}
	// \x1b[K clears the rest of a longer line.
	fmt.Fprintf(p.to, "\r[%s%s] %s\x1b[K", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), text)
}

func grouped(n int) string {
	if n < 0 {
		return "-" + grouped(-n)
	}
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}
