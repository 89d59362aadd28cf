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

// FailureGroup has all failures of one cause.
type FailureGroup struct {
	Step      string  `json:"step"`
	ErrorType string  `json:"error_type"`
	Code      string  `json:"code"`
	Count     int     `json:"count"`
	Example   Example `json:"example"`
}

// Example is a group's first failed step in the file.
type Example struct {
	TaskUUID uuid.UUID `json:"task_uuid"`
	StepUUID uuid.UUID `json:"step_uuid"`
	Record   int       `json:"record"`
	Field    string    `json:"field"`
	Value    string    `json:"value"`
	Message  string    `json:"message"`
}

// readers bounds concurrent reads of tasks.
const readers = 8

// failures reads the failed steps of all tasks in error from the server, as an operator would, and groups them by
// step, error type and code, the most frequent first.
func failures(ctx context.Context, client *tasker.Client, settled map[uuid.UUID]tasker.TaskState,
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
		// The first record in the file makes runs repeatable.
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

// A failure from elsewhere, such as a time-out, has no details, only its message.
func example(s tasker.Step, f tasker.Failure) Example {
	e := Example{TaskUUID: s.TaskUUID, StepUUID: s.StepUUID, Message: f.Message}
	var d dirt
	if json.Unmarshal(f.Details, &d) == nil {
		e.Record, e.Field, e.Value = d.Record, d.Field, d.Value
	}
	return e
}
