package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/taskerhq/tasker/proof/bench/starvation"
)

func starve(ctx context.Context, o options, out io.Writer) error {
	curves, err := starvation.Run(ctx)
	if err != nil {
		return err
	}
	if o.svg != "" {
		var b bytes.Buffer
		if err := starvation.Plot(&b, curves); err != nil {
			return err
		}
		if err := os.WriteFile(o.svg, b.Bytes(), 0o644); err != nil {
			return fmt.Errorf("write plot: %w", err)
		}
	}
	if o.json {
		return json.NewEncoder(out).Encode(waits(curves))
	}
	p := &page{tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)}
	p.line("%d workers saturated by high priorities for %s; a step of low priority every %s\n",
		starvation.Workers, starvation.Lasts, starvation.LowEach)
	p.row("MODE", "OVERTAKEN FOR", "LONGEST WAIT", "TAKEN", "LEFT")
	for _, c := range curves {
		bound := "ever"
		if c.Bound > 0 {
			bound = c.Bound.String()
		}
		p.row(c.Name, bound, c.Longest.String(), fmt.Sprint(c.Taken), fmt.Sprint(c.Left))
	}
	return p.w.Flush()
}

// longWait is a curve in JSON. A null bound is none.
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
