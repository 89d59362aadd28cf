package tasker_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// jsonFields counts the fields of a struct that travel.
func jsonFields(v any) (n int) {
	for f := range reflect.TypeOf(v).Fields() {
		if f.Tag.Get("json") != "-" {
			n++
		}
	}
	return n
}

func (s *store) Step(_ context.Context, _, id uuid.UUID) (*tasker.Step, error) {
	for _, step := range s.steps {
		if step.StepUUID == id {
			step.Results, step.ResultsOmitted = json.RawMessage(`5`), false
			return &step, nil
		}
	}
	return nil, tasker.Errorf(tasker.CodeNotFound, "no such step")
}

// Result returns nil only for a task that succeeded, and otherwise its failure.
func TestClientResult(t *testing.T) {
	t.Parallel()
	declined := &tasker.Failure{Message: "card declined", Code: "declined"}
	done := tasker.Step{Name: "a", StepUUID: uuid.New(), State: tasker.StepComplete, Results: json.RawMessage(`5`)}
	long := tasker.Step{Name: "a", StepUUID: uuid.New(), State: tasker.StepComplete, ResultsOmitted: true}
	silent := tasker.Step{Name: "s", State: tasker.StepResolvedManually}
	text := tasker.Step{Name: "t", State: tasker.StepComplete, Results: json.RawMessage(`"five"`)}
	failed := tasker.Step{Name: "b", StepUUID: uuid.New(), State: tasker.StepError, LastError: declined}
	other := tasker.Step{Name: "c", State: tasker.StepError, LastError: &tasker.Failure{Message: "no stock"}}
	stopped := tasker.Step{Name: "d", State: tasker.StepCancelled}
	for name, tc := range map[string]struct {
		state  tasker.TaskState
		steps  []tasker.Step
		step   string
		code   tasker.Code
		text   string
		failed string // step of the TaskFailure
	}{
		"OnlyStep":         {tasker.TaskComplete, []tasker.Step{done}, "", "", "", ""},
		"Named":            {tasker.TaskComplete, []tasker.Step{text, done}, "a", "", "", ""},
		"OmittedInList":    {tasker.TaskComplete, []tasker.Step{long, text}, "a", "", "", ""},
		"ResolvedManually": {tasker.TaskResolvedManually, []tasker.Step{silent, done}, "a", "", "", ""},
		"Failed":           {tasker.TaskError, []tasker.Step{failed}, "", tasker.CodeWrongState, "step b failed: card declined", "b"},
		"FailedBeside":     {tasker.TaskError, []tasker.Step{done, failed}, "a", tasker.CodeWrongState, "card declined", "b"},
		"FailedOther": {tasker.TaskError, []tasker.Step{failed, other}, "c", tasker.CodeWrongState,
			"no stock (and one other step)", "c"},
		"FailedUnknown":   {tasker.TaskError, []tasker.Step{failed}, "z", tasker.CodeWrongState, "card declined", "b"},
		"FailedNowhere":   {tasker.TaskError, []tasker.Step{done}, "a", tasker.CodeWrongState, "is in error", ""},
		"Cancelled":       {tasker.TaskCancelled, []tasker.Step{done, stopped}, "a", tasker.CodeWrongState, "was cancelled", ""},
		"WithoutResult":   {tasker.TaskResolvedManually, []tasker.Step{silent}, "", tasker.CodeNotFound, "has no result", ""},
		"Ambiguous":       {tasker.TaskComplete, []tasker.Step{done, text}, "", tasker.CodeNotFound, "has 2 steps", ""},
		"Unknown":         {tasker.TaskComplete, []tasker.Step{done}, "z", tasker.CodeNotFound, `no step "z"`, ""},
		"DoesNotFit":      {tasker.TaskComplete, []tasker.Step{text}, "t", tasker.CodeInvalid, "decode the result of step t", ""},
		"NoStepsAtAll":    {tasker.TaskError, nil, "", tasker.CodeWrongState, "is in error", ""},
		"EmptyAndUnnamed": {tasker.TaskComplete, nil, "", tasker.CodeNotFound, "has 0 steps", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := tasker.NewClient(&store{last: tc.state, steps: tc.steps})
			var out int
			err := c.Result(t.Context(), uuid.New(), tc.step, &out)
			if tasker.ErrorCode(err) != tc.code || (err == nil) != (out == 5) {
				t.Fatalf("Result = %d, %v; want code %q", out, err, tc.code)
			}
			if err != nil && !strings.Contains(err.Error(), tc.text) {
				t.Errorf("error %q lacks %q", err, tc.text)
			}
			var f *tasker.TaskFailure
			if errors.As(err, &f) != (tc.code == tasker.CodeWrongState) {
				t.Fatalf("%v carries the failure %+v", err, f)
			}
			if f != nil && (f.State != tc.state || f.Step != tc.failed) {
				t.Errorf("failure %+v, want step %q in %s", f, tc.failed, tc.state)
			}
			var reported *tasker.Failure
			if errors.As(err, &reported) != (tc.failed != "") || (tc.failed == "b" && reported.Code != "declined") {
				t.Errorf("%v carries the worker's report %+v", err, reported)
			}
			ended := tc.state == tasker.TaskComplete || tc.state == tasker.TaskResolvedManually
			if err := c.Result(t.Context(), uuid.New(), tc.step, nil); (err == nil) != ended {
				t.Errorf("without out: %v", err)
			}
		})
	}
}
