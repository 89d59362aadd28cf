package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/cli/bench"
)

// CostReport is the result of cost mode: the cost of a task, or of a workflow's step, by kind of load.
type CostReport struct {
	Loads []Cost `json:"loads"`
	// Missing names uncounted values, with the reason.
	Missing string `json:"missing,omitempty"`
}

// Cost is a load's cost per task, or per step of a workflow.
type Cost struct {
	Load   string  `json:"load"`
	CPU    float64 `json:"cpu_us"` // of this process and of PostgreSQL
	Allocs float64 `json:"allocations"`
	Bytes  float64 `json:"allocated_bytes"`
	// Written is this process's writes: on SQLite the log and its checkpoints.
	Written float64 `json:"written_bytes"`
	// nil on SQLite
	DB *databaseCost `json:"postgres,omitempty"`
}

// shapes are the measured workflows.
var shapes = []struct {
	name, yaml string
	steps      int
}{
	{"linear of 4", workflow("cost_linear", `
  - {name: a, handler: bench}
  - {name: b, handler: bench, dependencies: [a]}
  - {name: c, handler: bench, dependencies: [b]}
  - {name: d, handler: bench, dependencies: [c]}
`), 4},
	{"diamond of 4", workflow("cost_diamond", `
  - {name: a, handler: bench}
  - {name: b, handler: bench, dependencies: [a]}
  - {name: c, handler: bench, dependencies: [a]}
  - {name: d, handler: bench, dependencies: [b, c]}
`), 4},
}

func workflow(name, steps string) string {
	return "name: " + name + "\nnamespace_name: bench\nversion: \"1\"\nsteps:" + steps
}

// cost measures one load after the other. Counts and allocations hardly depend on other work of the machine; CPU does.
func (r *run) cost(ctx context.Context) (err error) {
	report := &CostReport{}
	r.report.Cost = report
	if err := r.load.WarmUp(ctx); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	database, missing, err := watchDatabase(ctx, r.opts.DB)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.close(ctx)) }()
	report.Missing = missing
	n := r.opts.Tasks
	for _, load := range []struct {
		name string
		run  func(context.Context, int) (*bench.Phase, error)
	}{
		{"submit one by one", r.load.Insert}, {"drain", r.load.Drain}, {"bulk", r.load.BulkInsert}, {"drain", r.load.Drain},
		{"end to end", r.load.EndToEnd},
	} {
		if err := report.add(ctx, database, load.name, n, 1, load.run); err != nil {
			return err
		}
	}
	for _, s := range shapes {
		if _, err := r.client().RegisterTemplate(ctx, tasker.TemplateSource{YAML: s.yaml}); err != nil {
			return err
		}
		l := *r.load
		l.System = workflows{r.tasker, strings.Fields(s.yaml)[1], int64(s.steps)}
		if err := report.add(ctx, database, "step of "+s.name, max(n/s.steps, 1), s.steps, l.EndToEnd); err != nil {
			return err
		}
	}
	return nil
}

// add measures a load of n tasks, each of several units.
func (r *CostReport) add(ctx context.Context, db *database, name string, n, units int,
	load func(context.Context, int) (*bench.Phase, error),
) error {
	c, err := costOf(ctx, db, n*units, func() (*bench.Phase, error) { return load(ctx, n) })
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	c.Load, c.CPU = name, bench.Round3(c.CPU/float64(units))
	r.Loads = append(r.Loads, *c)
	return nil
}

// costOf counts the events during a load, divided by its units.
func costOf(ctx context.Context, db *database, units int, load func() (*bench.Phase, error)) (*Cost, error) {
	var before, after runtime.MemStats
	from, err := db.counts(ctx)
	if err != nil {
		return nil, err
	}
	written, err := writtenBytes()
	if err != nil {
		return nil, err
	}
	runtime.ReadMemStats(&before)
	phase, err := load()
	if err != nil {
		return nil, err
	}
	runtime.ReadMemStats(&after)
	per := func(n float64) float64 { return bench.Round3(n / float64(units)) }
	c := &Cost{CPU: phase.CPUPerTask, Allocs: per(float64(after.Mallocs - before.Mallocs)),
		Bytes: per(float64(after.TotalAlloc - before.TotalAlloc))}
	now, err := writtenBytes()
	if err != nil {
		return nil, err
	}
	c.Written = per(now - written)
	c.DB, err = db.since(ctx, from, per)
	return c, err
}

// writtenBytes is this process's writes so far; 0 where the system does not count.
func writtenBytes() (float64, error) {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0, nil //nolint:nilerr // not Linux
	}
	_, rest, _ := strings.Cut(string(text), "wchar: ")
	n, _, _ := strings.Cut(rest, "\n")
	return strconv.ParseFloat(n, 64)
}

// workflows submits tasks of a template. A task is settled once its last step is.
type workflows struct {
	*bench.Tasker
	template string
	steps    int64
}

func (w workflows) Submit(ctx context.Context, _ int, body json.RawMessage) error {
	_, err := w.Client().Submit(ctx, tasker.TaskRequest{Namespace: "bench", Name: w.template, Context: body})
	return err
}

func (w workflows) Settled() int64 { return w.Tasker.Settled() / w.steps }
