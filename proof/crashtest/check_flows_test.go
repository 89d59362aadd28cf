package crashtest_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/proof/crashtest"
	"github.com/taskerhq/tasker/waits"
)

const deal = `
name: deal
namespace_name: default
version: 1.0.0
steps:
  - {name: charge, handler: charge}
  - {name: await_paid, wait: {signal: paid, key: "{{ref}}"}, dependencies: [charge]}
  - {name: ship, handler: ship, dependencies: [await_paid]}
on_failure:
  - {name: refund, handler: refund, dependencies: [charge]}
  - {name: recall, handler: recall, dependencies: [ship]}
`

// tellDeals adds two tasks that wait for a signal: one completes, the other is compensated.
func tellDeals(t *testing.T) *story {
	t.Helper()
	s, ctx := tell(t), t.Context()
	if _, err := s.client.RegisterTemplate(ctx, tasker.TemplateSource{YAML: deal}); err != nil {
		t.Fatal(err)
	}
	s.Expect("sunk", tasker.TaskError)
	for _, ref := range []string{"sold", "sunk"} {
		signal := waits.SignalRequest{Name: "paid", Key: ref, SignalID: "s-" + ref,
			Payload: json.RawMessage(`{"by":"` + ref + `"}`)}
		for range 2 { // the second one is the same
			_, err := waits.Of(s.client).SendSignal(ctx, signal)
			check(t, err)
		}
		receipt, err := s.client.Submit(ctx, tasker.TaskRequest{Name: "deal", CorrelationID: ref,
			Context: json.RawMessage(`{"ref":"` + ref + `"}`)})
		check(t, err)
		for state := tasker.TaskPending; !state.Settled(); {
			check(t, s.workAll(ctx))
			k, err := s.client.Task(ctx, receipt.TaskUUID, 10*time.Millisecond)
			check(t, err)
			state = k.State
		}
	}
	check(t, s.recorder.ResendSignals(ctx, "default"))
	var err error
	s.found, err = crashtest.Read(ctx, s.client.Backend)
	check(t, err)
	return s
}

func (s *story) of(ref, name string) *tasker.Step {
	f := s.end(ref)
	for i := range f.Steps {
		if f.Steps[i].Name == name {
			return &f.Steps[i]
		}
	}
	return nil
}

func (s *story) attempt(ref string, step uuid.UUID) *tasker.Attempt {
	attempts := s.end(ref).History.Attempts
	for i := range attempts {
		if attempts[i].StepUUID == step {
			return &attempts[i]
		}
	}
	return nil
}

// TestFlowViolations: faults of signals and compensation are reported, and no others.
func TestFlowViolations(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rule    crashtest.Rule
		corrupt func(*story)
	}{
		"Good":       {"", func(*story) {}},
		"SignalGone": {crashtest.Lost, func(s *story) { s.SignalEnds["s-sold"] = crashtest.SignalEnd{Gone: true} }},
		"TakenTwice": {crashtest.BadCounts, func(s *story) { s.SignalEnds["s-sold"] = crashtest.SignalEnd{Taken: 2} }},
		"NobodySent": {crashtest.Phantom, func(s *story) { s.Signals = nil }},
		"WrongSignal": {crashtest.Phantom, func(s *story) {
			s.of("sold", "await_paid").Results = s.of("sunk", "await_paid").Results
		}},
		"InVain": {crashtest.Lost, func(s *story) {
			late := s.Signals[0].ConfirmedAt.Add(time.Minute)
			step := s.of("sold", "await_paid")
			step.Results, step.CompletedAt = json.RawMessage(`{"timed_out":true}`), &late
		}},
		"NotSkipped":  {crashtest.Unsettled, func(s *story) { s.of("sold", "refund").State = tasker.StepPending }},
		"NotUndone":   {crashtest.Unsettled, func(s *story) { s.of("sunk", "refund").State = tasker.StepPending }},
		"NotFailed":   {crashtest.TooEarly, func(s *story) { s.of("sunk", "ship").State = tasker.StepComplete }},
		"NothingDone": {crashtest.TooEarly, func(s *story) { s.of("sunk", "charge").State = tasker.StepError }},
		"GoesOn": {crashtest.Revived, func(s *story) {
			late := time.Now().Add(time.Hour)
			s.attempt("sunk", s.of("sunk", "ship").StepUUID).AssignedAt = &late
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tellDeals(t)
			test.corrupt(s)
			v := crashtest.Check(s.Journal, s.found)
			if test.rule == "" {
				if len(v.Violations) > 0 || v.Signals != 2 || v.Taken != 2 || v.Compensated != 1 {
					t.Errorf("the verdict is %+v", v)
				}
			} else if v.Count(test.rule) == 0 {
				t.Errorf("no violation of %q was found, only %v", test.rule, v.Violations)
			}
		})
	}
}
