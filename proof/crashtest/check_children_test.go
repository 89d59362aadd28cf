package crashtest_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/proof/crashtest"
)

const family = `
name: family
namespace_name: default
version: 1.0.0
steps:
  - {name: first, handler: first}
  - {name: each, for_each: {items: context.items, handler: ok}, dependencies: [first]}
  - {name: approve, wait: {approval: "go on?"}, dependencies: [each]}
`

// tellFamily adds a task with child tasks and an approval to the story.
func tellFamily(t *testing.T) *story {
	t.Helper()
	s, ctx := tell(t), t.Context()
	if _, err := s.client.RegisterTemplate(ctx, tasker.TemplateSource{YAML: family}); err != nil {
		t.Fatal(err)
	}
	receipt, err := s.client.Submit(ctx, tasker.TaskRequest{Name: "family", CorrelationID: "family",
		Context: json.RawMessage(`{"items":[1,2,3]}`)})
	if err != nil {
		t.Fatal(err)
	}
	for {
		check(t, s.workAll(ctx))
		steps, err := s.client.Steps(ctx, receipt.TaskUUID)
		if err != nil {
			t.Fatal(err)
		}
		if steps[2].State == tasker.StepWaiting {
			check(t, s.approve(ctx, &steps[2]))
			break
		}
		if _, err := s.client.Task(ctx, receipt.TaskUUID, 10*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	if s.found, err = crashtest.Read(ctx, s.client.Backend); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *story) approve(ctx context.Context, step *tasker.Step) error {
	_, err := s.client.ActOnStep(ctx, step.TaskUUID, step.StepUUID, tasker.StepAction{ActionType: tasker.Approve,
		DecidedBy: "op", Reason: "fine"})
	return err
}

func (s *story) child(index int) *crashtest.Found {
	i := slices.IndexFunc(s.found, func(f crashtest.Found) bool {
		return f.Task.Parent != nil && f.Task.Parent.Index == index
	})
	return &s.found[i]
}

func (s *story) parent() *crashtest.Found {
	i := slices.IndexFunc(s.found, func(f crashtest.Found) bool { return f.Task.Name == "family" })
	return &s.found[i]
}

// TestFamilyViolations: faults of child tasks and approvals are reported, and no others.
func TestFamilyViolations(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rule    crashtest.Rule
		corrupt func(*story)
	}{
		"Good": {"", func(*story) {}},
		"ChildGone": {crashtest.Lost, func(s *story) {
			gone := s.child(2).Task.TaskUUID
			s.found = slices.DeleteFunc(s.found, func(f crashtest.Found) bool { return f.Task.TaskUUID == gone })
		}},
		"ChildTwice": {crashtest.DuplicateKey, func(s *story) {
			again := *s.child(1)
			again.Task.TaskUUID = uuid.New()
			s.found = append(s.found, again)
		}},
		"ChildOfNobody": {crashtest.Phantom, func(s *story) {
			s.child(1).Task.Parent = &tasker.TaskParent{StepUUID: uuid.New(), Index: 1}
		}},
		"ChildForEver":   {crashtest.Unsettled, func(s *story) { s.child(0).Task.State = tasker.TaskStepsInProcess }},
		"ChildInError":   {crashtest.Unsettled, func(s *story) { s.child(0).Task.State = tasker.TaskError }},
		"ChildCancelled": {crashtest.Unsettled, func(s *story) { s.child(0).Task.State = tasker.TaskCancelled }},
		"WrongCounts":    {crashtest.BadCounts, func(s *story) { s.parent().Steps[1].Children.Done = 2 }},
		"WrongJoin":      {crashtest.WrongResult, func(s *story) { s.parent().Steps[1].Results = []byte(`[1,2,3]`) }},
		"NobodyApproved": {crashtest.Phantom, func(s *story) { s.Acts = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tellFamily(t)
			test.corrupt(s)
			v := crashtest.Check(s.Journal, s.found)
			if test.rule == "" {
				if len(v.Violations) > 0 || v.Children != 3 {
					t.Errorf("the verdict is %+v", v)
				}
			} else if v.Count(test.rule) == 0 {
				t.Errorf("no violation of %q was found, only %v", test.rule, v.Violations)
			}
		})
	}
}
