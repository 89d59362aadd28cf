package crashtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/proof/crashtest"
	"github.com/taskerhq/tasker/worker/protocol"
)

func TestGoodStory(t *testing.T) {
	t.Parallel()
	s := tell(t)
	v := crashtest.Check(s.Journal, s.found)
	for _, found := range v.Violations {
		t.Error(found)
	}
	if v.Tasks != 11 || v.Steps != 12 || v.Handouts != 12 || v.StaleRefused != 15 || v.Unknown != 0 || v.Orphans != 0 ||
		v.Duplicates != 1 {
		t.Errorf("the verdict is %+v", v)
	}
}

// TestLostAnswers: after a lost answer, both outcomes pass.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	lose := func(s *story) {
		for i := range s.Submits {
			s.Submits[i].Answer = crashtest.Answer{}
		}
		for i := range s.Reports {
			if s.Reports[i].Accepted() {
				s.Reports[i].Answer = crashtest.Answer{}
			}
		}
		for i := range s.Acts {
			s.Acts[i].Answer = crashtest.Answer{}
		}
		s.Cancels[0].Answer = crashtest.Answer{}
	}
	t.Run("HadTheirEffect", func(t *testing.T) {
		t.Parallel()
		s := tell(t)
		lose(s)
		v := crashtest.Check(s.Journal, s.found)
		if len(v.Violations) > 0 || v.Orphans != 11 || v.Unknown == 0 {
			t.Errorf("the verdict is %+v", v)
		}
	})
	t.Run("HadNone", func(t *testing.T) {
		t.Parallel()
		s := tell(t)
		lose(s)
		s.Handouts, s.found = nil, nil
		if v := crashtest.Check(s.Journal, s.found); len(v.Violations) > 0 {
			t.Errorf("the verdict is %+v", v)
		}
	})
}

func TestViolations(t *testing.T) {
	t.Parallel()
	for name, test := range violations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tell(t)
			test.corrupt(s)
			v := crashtest.Check(s.Journal, s.found)
			if v.Count(test.rule) == 0 {
				t.Errorf("no violation of %q was found, only %v", test.rule, v.Violations)
			}
		})
	}
}

var violations = map[string]struct {
	rule    crashtest.Rule
	corrupt func(*story)
}{
	"TaskGone":          {crashtest.Lost, func(s *story) { s.forget("one") }},
	"KeyedTaskGone":     {crashtest.Lost, func(s *story) { s.forget("keyed") }},
	"TaskOfBatchGone":   {crashtest.Lost, func(s *story) { s.forget("b2") }},
	"HandedOutTaskGone": {crashtest.Lost, func(s *story) { s.Submits = nil; s.forget("one") }},
	"ContextChanged":    {crashtest.Lost, func(s *story) { s.end("one").Task.Context = json.RawMessage(`{}`) }},
	"KeyChanged":        {crashtest.Lost, func(s *story) { s.end("keyed").Task.IdempotencyKey = "" }},
	"AnotherTask":       {crashtest.Lost, func(s *story) { s.submitted("one")[0].Task = uuid.New() }},
	"CancelUndone":      {crashtest.Lost, func(s *story) { s.end("dropped").Task.State = tasker.TaskComplete }},
	"SuccessUndone":     {crashtest.Lost, func(s *story) { s.end("one").Steps[0].State = tasker.StepError }},
	"ActUndone":         {crashtest.Lost, func(s *story) { s.end("resolved").Steps[0].State = tasker.StepError }},
	"ActForgotten": {crashtest.Lost, func(s *story) {
		for i := range s.end("resolved").History.Transitions {
			s.end("resolved").History.Transitions[i].Reason = ""
		}
	}},

	"StillMoving": {crashtest.Unsettled, func(s *story) { s.end("one").Task.State = tasker.TaskStepsInProcess }},
	"WrongEnd":    {crashtest.Unsettled, func(s *story) { s.end("one").Task.State = tasker.TaskError }},
	"CancelledByNobody": {crashtest.Unsettled, func(s *story) {
		s.Cancels = nil
	}},

	"TaskOfNobody":       {crashtest.Phantom, func(s *story) { s.end("one").Task.CorrelationID = "?" }},
	"RefusedTaskIsThere": {crashtest.Phantom, func(s *story) { s.submitted("one")[0].Code = tasker.CodeInvalid }},
	"RefusedResultIsHeld": {crashtest.Phantom, func(s *story) {
		s.reports(s.step("one", 0))[0].Code = tasker.CodeStaleToken
	}},
	"ResultOfNobody":   {crashtest.Phantom, func(s *story) { s.Reports = nil }},
	"ResolvedByNobody": {crashtest.Phantom, func(s *story) { s.Acts = nil }},

	"HalfABatch": {crashtest.SplitBatch, func(s *story) {
		for _, ref := range []string{"b1", "b2", "b3"} {
			s.submitted(ref)[0].Answer = crashtest.Answer{}
		}
		s.forget("b2")
	}},

	"TwoTasksForOneKey": {crashtest.DuplicateKey, func(s *story) {
		other := *s.end("keyed")
		other.Task.TaskUUID = uuid.New()
		s.found = append(s.found, other)
	}},
	"TwoTasksNamed":   {crashtest.DuplicateKey, func(s *story) { s.submitted("keyed")[1].Task = uuid.New() }},
	"CreatedTwice":    {crashtest.DuplicateKey, func(s *story) { s.submitted("keyed")[1].Created = true }},
	"CreatedByNobody": {crashtest.DuplicateKey, func(s *story) { s.submitted("keyed")[0].Created = false }},

	"TwoResultsUnderOneToken": {crashtest.SettledTwice, func(s *story) { s.reports(s.step("one", 0))[1].Code = "" }},
	"TwoSuccesses": {crashtest.SettledTwice, func(s *story) {
		released := s.reports(s.step("retried", 0))[0]
		released.Status, released.Result = protocol.ResultCompleted, json.RawMessage(`1`)
	}},
	"TwoSuccessesInHistory": {crashtest.SettledTwice, func(s *story) {
		s.end("retried").History.Attempts[0].Outcome = "completed"
	}},
	"OperatorAndWorker": {crashtest.SettledTwice, func(s *story) {
		done := *s.reports(s.step("one", 0))[0]
		done.Step, done.Lease = s.step("supplied", 0), 1
		s.Reports = append(s.Reports, done)
	}},
	"LeasesOverlap": {crashtest.SettledTwice, func(s *story) {
		late := time.Now().Add(time.Hour)
		s.end("retried").History.Attempts[0].FinishedAt = &late
	}},

	"ResultChanged": {crashtest.WrongResult, func(s *story) {
		s.end("one").Steps[0].Results = json.RawMessage(`"stale"`)
	}},
	"CompletedByAnotherLease": {crashtest.WrongResult, func(s *story) {
		s.end("one").History.Attempts[0].Outcome = "released"
	}},
	"OperatorsResultChanged": {crashtest.WrongResult, func(s *story) {
		s.end("supplied").Steps[0].Results = json.RawMessage(`1`)
	}},
	"ResultOfAnotherStep": {crashtest.WrongResult, func(s *story) {
		s.Foreign["ok"] = true
		s.Reports = nil
	}},

	"StaleResultTaken": {crashtest.StaleTaken, func(s *story) { s.reports(s.step("one", 0))[1].Code = "" }},
	"OlderTokenTaken": {crashtest.StaleTaken, func(s *story) {
		// The step was handed out again before this came.
		stale := *s.reports(s.step("retried", 0))[2]
		stale.Verb, stale.Code = crashtest.VerbHeartbeat, ""
		s.Reports = append(s.Reports, stale)
	}},
	"StartAfterTheEndTaken": {crashtest.StaleTaken, func(s *story) {
		start := *s.reports(s.step("one", 0))[1]
		start.Verb, start.Code = crashtest.VerbStart, ""
		s.Reports = append(s.Reports, start)
	}},
	"TokenOfNobodyTaken": {crashtest.StaleTaken, func(s *story) {
		r := s.reports(s.step("one", 0))[1]
		r.Token, r.Lease, r.Code = "77.x", 77, ""
	}},
	"TokenOfAnotherTaken": {crashtest.StaleTaken, func(s *story) { s.reports(s.step("one", 0))[0].Worker = uuid.New() }},
	"StepOfNobodyTaken": {crashtest.StaleTaken, func(s *story) {
		r := s.reports(s.step("one", 0))[1]
		r.Step, r.Code = uuid.New(), ""
	}},
	"HeartbeatTaken": {crashtest.StaleTaken, func(s *story) { s.lease("slow", crashtest.VerbHeartbeat).Code = "" }},
	"ProgressTaken":  {crashtest.StaleTaken, func(s *story) { s.lease("slow", crashtest.VerbProgress).Code = "" }},
	"StartTaken":     {crashtest.StaleTaken, func(s *story) { s.lease("slow", crashtest.VerbStart).Code = "" }},
	"AfterCancelTaken": {crashtest.StaleTaken, func(s *story) {
		r := *s.reports(s.step("one", 0))[1]
		r.Step, r.Code = s.step("dropped", 0), ""
		r.Begin, r.End = s.Cancels[0].End+1, s.Cancels[0].End+2
		s.Reports = append(s.Reports, r)
	}},
	"RunFailedByALateLetter": {crashtest.RunFailed, func(s *story) {
		start := *s.reports(s.step("retried", 0))[0]
		start.Verb, start.Status, start.Answer = crashtest.VerbStart, "", crashtest.Answer{Known: true}
		s.Reports = append(s.Reports, start)
		s.end("retried").History.Attempts[0].Outcome = "dispatch_expired"
	}},
	"RefusedForTheWrongReason": {crashtest.StaleTaken, func(s *story) {
		s.reports(s.step("one", 0))[1].Code = tasker.CodeConflict
	}},

	"SameTokenTwice":    {crashtest.TokenReused, func(s *story) { s.handouts(s.step("retried", 0))[1].Lease = 1 }},
	"TokensDecrease":    {crashtest.TokenReused, func(s *story) { s.handouts(s.step("retried", 0))[0].Lease = 3 }},
	"HistoryOutOfOrder": {crashtest.TokenReused, func(s *story) { slices.Reverse(s.end("retried").History.Attempts) }},
	"HandedOutWhenOver": {crashtest.Revived, func(s *story) {
		h := *s.handouts(s.step("one", 0))[0]
		h.Lease, h.Begin, h.End = 2, 1<<40, 1<<40+1
		s.Handouts = append(s.Handouts, h)
	}},

	"DependencyUnknown": {crashtest.TooEarly, func(s *story) { s.end("flow").Steps[1].Dependencies = []string{"zeroth"} }},
	"ParentHadNoReport": {crashtest.TooEarly, func(s *story) { s.reports(s.step("flow", 0))[0].Begin = 1 << 40 }},
	"ParentSettledLater": {crashtest.TooEarly, func(s *story) {
		late := time.Now().Add(time.Hour)
		s.end("flow").Steps[0].CompletedAt = &late
	}},
	"ParentNotSettled": {crashtest.TooEarly, func(s *story) { s.end("flow").Steps[0].CompletedAt = nil }},
	"ParentsResultWrong": {crashtest.TooEarly, func(s *story) {
		s.handouts(s.step("flow", 1))[0].Parents["first"] = json.RawMessage(`0`)
	}},
	"ParentsResultMissed": {crashtest.TooEarly, func(s *story) { s.handouts(s.step("flow", 1))[0].Parents = nil }},

	"LeaseForgotten": {crashtest.BadHistory, func(s *story) {
		s.end("retried").History.Attempts = s.end("retried").History.Attempts[1:]
	}},
	"AnotherWorker": {crashtest.BadHistory, func(s *story) { s.end("one").History.Attempts[0].Worker = "w" }},
	"AnotherOutcome": {crashtest.BadHistory, func(s *story) {
		s.end("retried").History.Attempts[0].Outcome = "failed"
	}},
	"TransitionMissing": {crashtest.BadHistory, func(s *story) {
		s.end("one").History.Transitions = s.end("one").History.Transitions[1:]
	}},
	"TransitionTwice": {crashtest.BadHistory, func(s *story) {
		h := &s.end("one").History
		h.Transitions = append(h.Transitions, h.Transitions[len(h.Transitions)-1])
	}},
	"TransitionNotFound": {crashtest.BadHistory, func(s *story) { s.end("one").History.Transitions = nil }},
	"TransitionForbidden": {crashtest.BadHistory, func(s *story) {
		id := s.step("one", 0)
		h := &s.end("one").History
		h.Transitions = append(h.Transitions, tasker.Transition{StepUUID: &id, From: "complete", To: "enqueued"})
		s.end("one").Steps[0].State = tasker.StepEnqueued
	}},
	"NotPendingAtFirst": {crashtest.BadHistory, func(s *story) {
		for i := range s.end("one").History.Transitions {
			if tr := &s.end("one").History.Transitions[i]; tr.From == "" && tr.StepUUID != nil {
				tr.To = "enqueued"
			}
		}
	}},
	"TransitionsBackInTime": {crashtest.BadHistory, func(s *story) {
		last := len(s.end("one").History.Transitions) - 1
		s.end("one").History.Transitions[last].At = time.Unix(0, 0)
	}},
	"AttemptBackInTime": {crashtest.BadHistory, func(s *story) {
		long := time.Unix(0, 0)
		s.end("one").History.Attempts[0].FinishedAt = &long
	}},

	"CountsWrong":      {crashtest.BadCounts, func(s *story) { s.end("one").Task.CompletedSteps = 0 }},
	"StepMissing":      {crashtest.BadCounts, func(s *story) { s.end("flow").Steps = s.end("flow").Steps[:1] }},
	"StepTwice":        {crashtest.BadCounts, func(s *story) { s.end("flow").Steps[1].Name = "first" }},
	"TooManyAttempts":  {crashtest.BadCounts, func(s *story) { s.end("one").Steps[0].Attempts = 99 }},
	"AttemptForgotten": {crashtest.BadCounts, func(s *story) { s.end("one").Steps[0].Attempts = 0 }},
	"AttemptCharged":   {crashtest.BadCounts, func(s *story) { s.end("retried").History.Attempts[1].Attempt = 2 }},

	"ServerHasABug": {crashtest.ServerFault, func(s *story) {
		s.Faults = append(s.Faults, crashtest.Fault{Verb: "poll", Message: "bug"})
	}},
}

type broken struct {
	protocol.Backend
	err error
}

func (b broken) SubmitTasks(context.Context, tasker.SubmitRequest) ([]tasker.TaskReceipt, error) {
	return nil, b.err
}

// TestRecorder: unknown outcomes are distinguished from known ones.
func TestRecorder(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err    error
		want   crashtest.Answer
		faults int
	}{
		"Unavailable": {&tasker.Error{Code: tasker.CodeUnavailable}, crashtest.Answer{}, 0},
		"CallerLeft":  {context.Canceled, crashtest.Answer{}, 0},
		"Bug":         {&tasker.Error{Code: tasker.CodeInternal}, crashtest.Answer{}, 1},
		"Refused":     {&tasker.Error{Code: tasker.CodeInvalid}, crashtest.Answer{Known: true, Code: tasker.CodeInvalid}, 0},
		"WrappedError": {errors.Join(&tasker.Error{Code: tasker.CodeConflict}),
			crashtest.Answer{Known: true, Code: tasker.CodeConflict}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := crashtest.NewJournal()
			client := tasker.NewClient(crashtest.Record(broken{err: test.err}, j, nil))
			if _, err := client.Submit(t.Context(), single("x")); !errors.Is(err, test.err) {
				t.Errorf("the error became %v", err)
			}
			if len(j.Submits) != 1 || j.Submits[0].Answer != test.want || len(j.Faults) != test.faults {
				t.Errorf("noted were %+v and %+v", j.Submits, j.Faults)
			}
		})
	}
}
