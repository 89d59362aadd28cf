package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/taskerhq/tasker"
)

// FailureGroup is all failures with one cause.
type FailureGroup struct {
	Step      string  `json:"step"`
	ErrorType string  `json:"error_type"`
	Code      string  `json:"code"`
	Count     int     `json:"count"`
	Example   Example `json:"example"`
}

// Example is one failed step of a group: the one first in the file.
type Example struct {
	TaskUUID uuid.UUID `json:"task_uuid"`
	StepUUID uuid.UUID `json:"step_uuid"`
	Record   int       `json:"record"`
	Field    string    `json:"field"`
	Value    string    `json:"value"`
	Message  string    `json:"message"`
}

// readers is how many tasks are read at once.
const readers = 8

// failures reads the failed steps of all tasks in error and groups them by step, error type and code, the most frequent
// first. It reads them from the server, as an operator would, and not from what the worker has seen.
func failures(ctx context.Context, client *tasker.Client,
	settled map[uuid.UUID]tasker.TaskState,
) ([]FailureGroup, error) {
	var (
		mu     sync.Mutex
		failed []tasker.Step
	)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for id, state := range settled {
		if state != tasker.TaskError {
			continue
		}
		g.Go(func() error {
			steps, err := client.Steps(ctx, id)
			if err != nil {
				return fmt.Errorf("read steps of task %s: %w", id, err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, s := range steps {
				if s.State == tasker.StepError {
					failed = append(failed, s)
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return group(failed), nil
}

// group groups failed steps by cause.
func group(failed []tasker.Step) []FailureGroup {
	type cause struct{ step, errorType, code string }
	byCause := map[cause]*FailureGroup{}
	for _, s := range failed {
		f := tasker.Failure{Type: "Unknown", Message: "no failure was stored"}
		if s.LastError != nil {
			f = *s.LastError
		}
		key := cause{s.Name, f.Type, f.Code}
		g, ok := byCause[key]
		if !ok {
			g = &FailureGroup{Step: s.Name, ErrorType: f.Type, Code: f.Code}
			byCause[key] = g
		}
		g.Count++
		// The first record of the file is the example, so that each run shows the same.
		e := example(s, f)
		if g.Count == 1 || cmp.Or(cmp.Compare(e.Record, g.Example.Record),
			cmp.Compare(e.StepUUID.String(), g.Example.StepUUID.String())) < 0 {
			g.Example = e
		}
	}
	groups := make([]FailureGroup, 0, len(byCause))
	for _, g := range byCause {
		groups = append(groups, *g)
	}
	slices.SortFunc(groups, func(a, b FailureGroup) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Step, b.Step), cmp.Compare(a.Code, b.Code))
	})
	return groups
}

// example describes one failed step. A failure that is not of this package,
// such as a time-out, has no details to read; it then stays at the message.
func example(s tasker.Step, f tasker.Failure) Example {
	e := Example{TaskUUID: s.TaskUUID, StepUUID: s.StepUUID, Message: f.Message}
	var d dirt
	if json.Unmarshal(f.Details, &d) == nil {
		e.Record, e.Field, e.Value = d.Record, d.Field, d.Value
	}
	return e
}
