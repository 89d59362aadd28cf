package chart

import (
	"html/template"

	"github.com/taskerhq/tasker"
)

// Mark is the visible state of a node or of a segment: a class and a shape.
type Mark string

// The marks.
const (
	MarkPending   Mark = "pending"   // waits for others
	MarkReady     Mark = "ready"     // can run now
	MarkHeld      Mark = "held"      // a worker holds it and has not started it
	MarkRunning   Mark = "running"   // runs
	MarkDeciding  Mark = "deciding"  // has run, and the engine decides
	MarkRetry     Mark = "retry"     // waits for its next attempt
	MarkComplete  Mark = "complete"  // ended well
	MarkError     Mark = "error"     // failed, and needs a human
	MarkCancelled Mark = "cancelled" // was cancelled
	MarkResolved  Mark = "resolved"  // an operator resolved it
	MarkSkipped   Mark = "skipped"   // its condition did not hold
)

// Marks are all marks, in the order of a life. A legend shows them with Glyph.
var Marks = []Mark{MarkPending, MarkReady, MarkHeld, MarkRunning, MarkDeciding, MarkRetry, MarkComplete, MarkError,
	MarkCancelled, MarkResolved, MarkSkipped}

// StepMark returns the mark of a step's state; MarkPending for an unknown one.
func StepMark(state tasker.StepState) Mark {
	switch state {
	case tasker.StepEnqueued:
		return MarkReady
	case tasker.StepAssigned:
		return MarkHeld
	case tasker.StepInProgress:
		return MarkRunning
	case tasker.StepEnqueuedForOrchestration:
		return MarkDeciding
	case tasker.StepWaitingForRetry:
		return MarkRetry
	case tasker.StepComplete:
		return MarkComplete
	case tasker.StepError:
		return MarkError
	case tasker.StepCancelled:
		return MarkCancelled
	case tasker.StepResolvedManually:
		return MarkResolved
	case tasker.StepSkipped:
		return MarkSkipped
	}
	return MarkPending
}

// met reports whether dependants need not wait for this mark.
func (m Mark) met() bool { return m == MarkComplete || m == MarkResolved || m == MarkSkipped }

type glyph struct {
	path  string
	solid bool
}

const disc = "M8 1.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 1 0 0-13z"

// glyphs are lines, or solid shapes whose inner paths are holes.
var glyphs = map[Mark]glyph{
	MarkPending:   {path: "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11z"},
	MarkReady:     {path: "M4.5 3l8 5l-8 5z"},
	MarkHeld:      {path: "M3 3v10M6.5 3.5l7 4.5l-7 4.5z"},
	MarkRunning:   {path: disc + "M6.2 4.8l5.2 3.2l-5.2 3.2z", solid: true},
	MarkDeciding:  {path: disc + "M3.6 7.1h1.9v1.9h-1.9zM7.05 7.1h1.9v1.9h-1.9zM10.5 7.1h1.9v1.9h-1.9z", solid: true},
	MarkRetry:     {path: "M13.2 9.2a5.3 5.3 0 1 1-1.3-4.8M12.6 1.6v3.2h-3.2"},
	MarkComplete:  {path: disc + "M4.2 8.3l1.1-1.2l1.8 1.7l3.6-3.9l1.1 1.1l-4.7 5.1z", solid: true},
	MarkError:     {path: "M8 1l7 7l-7 7l-7-7zM7.1 4.3h1.8v4.4h-1.8zM7.1 9.9h1.8v1.8h-1.8z", solid: true},
	MarkCancelled: {path: "M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11zM4.2 11.8l7.6-7.6"},
	MarkSkipped:   {path: "M3 4l5 4l-5 4M9 4l5 4l-5 4"},
	MarkResolved:  {path: "M2.2 2.2h11.6v11.6h-11.6zM4.8 8.2l2.3 2.3l4.2-4.6"},
}

func (m Mark) known() Mark {
	if _, ok := glyphs[m]; ok {
		return m
	}
	return MarkPending
}

func (m Mark) orNone() Mark {
	if _, ok := glyphs[m]; ok {
		return m
	}
	return ""
}

// Glyph returns the shape of a mark as an image of 16 pixels without a name, for text that names the state. Its classes
// are glyph and the mark; it has the colour of the text.
func Glyph(m Mark) template.HTML {
	m = m.known()
	var d drawing
	d.open("svg", "xmlns", "http://www.w3.org/2000/svg", "class", "glyph "+string(m), "width", 16, "height", 16,
		"viewBox", "0 0 16 16", "aria-hidden", "true")
	d.shape(m, "")
	return d.end()
}

func (d *drawing) shape(m Mark, transform string) {
	g := glyphs[m.known()]
	if g.solid {
		d.tag("path", "class", "glyph", "transform", transform, "fill", "currentColor", "fill-rule", "evenodd", "d", g.path)
		return
	}
	d.tag("path", "class", "glyph", "transform", transform, "fill", "none", "stroke", "currentColor",
		"stroke-width", "1.7", "stroke-linejoin", "round", "stroke-linecap", "round", "d", g.path)
}
