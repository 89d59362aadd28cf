package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/taskerhq/tasker/internal/starvation"
)

// starvationMode is a mode of bench that measures no time: its clock is made up.
const starvationMode = "starvation"

// starvation simulates how long low priorities wait, and draws it if a file is named.
func (s *session) starvation(ctx context.Context, svg string) error {
	curves, err := starvation.Run(ctx)
	if err != nil {
		return err
	}
	if svg != "" {
		var b bytes.Buffer
		if err := starvation.Plot(&b, curves); err != nil {
			return err
		}
		if err := os.WriteFile(svg, b.Bytes(), 0o644); err != nil { //nolint:gosec // a picture that everybody may see
			return fmt.Errorf("write plot: %w", err)
		}
	}
	if s.json {
		return s.printJSONLine(waits(curves))
	}
	if err := s.printf("%d workers saturated by high priorities for %s; a step of low priority every %s\n\n",
		starvation.Workers, starvation.Lasts, starvation.LowEach); err != nil {
		return err
	}
	t := newTable(s.Out, "MODE", "OVERTAKEN FOR", "LONGEST WAIT", "TAKEN", "LEFT")
	for _, c := range curves {
		bound := "ever"
		if c.Bound > 0 {
			bound = c.Bound.String()
		}
		t.row(c.Name, bound, c.Longest.String(), fmt.Sprint(c.Taken), fmt.Sprint(c.Left))
	}
	return t.flush()
}

// longWait is a curve in JSON. A bound of null is none.
type longWait struct {
	Mode    string   `json:"mode"`
	Bound   *float64 `json:"overtaken_for_seconds"`
	Longest float64  `json:"longest_wait_seconds"`
	Taken   int      `json:"taken"`
	Left    int      `json:"left"`
}

func waits(curves []starvation.Curve) []longWait {
	list := make([]longWait, len(curves))
	for i, c := range curves {
		list[i] = longWait{Mode: c.Name, Longest: c.Longest.Seconds(), Taken: c.Taken, Left: c.Left}
		if c.Bound > 0 {
			bound := c.Bound.Seconds()
			list[i].Bound = &bound
		}
	}
	return list
}
