package tasker_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/taskerhq/tasker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type store struct {
	tasker.Backend
	submitted tasker.SubmitRequest
	receipt   tasker.TaskReceipt
	settledAt time.Time
	last      tasker.TaskState
	steps     []tasker.Step
	hold      bool
	asked     int
	// calls fail between these times, also one that waits when they begin
	awayFrom, awayTo time.Time
}

func (s *store) SubmitTasks(_ context.Context, req tasker.SubmitRequest) ([]tasker.TaskReceipt, error) {
	s.submitted = req
	return []tasker.TaskReceipt{s.receipt}, nil
}

func (s *store) Task(_ context.Context, id uuid.UUID, wait time.Duration) (*tasker.Task, error) {
	s.asked++
	if s.hold {
		wait = min(wait, time.Until(s.settledAt))
		if ahead := time.Until(s.awayFrom); ahead > 0 {
			wait = min(wait, ahead)
		}
		if time.Now().Before(s.awayFrom) || !time.Now().Before(s.awayTo) {
			time.Sleep(wait)
		}
	}
	if now := time.Now(); !now.Before(s.awayFrom) && now.Before(s.awayTo) {
		return nil, tasker.Errorf(tasker.CodeUnavailable, "away")
	}
	t := &tasker.Task{TaskUUID: id, State: tasker.TaskStepsInProcess}
	if !time.Now().Before(s.settledAt) {
		t.State = s.last
	}
	return t, nil
}

func (s *store) Steps(context.Context, uuid.UUID) ([]tasker.Step, error) { return s.steps, nil }

func TestClientWait(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		hold bool
		most int
	}{
		"LongPolls":          {true, 4},
		"BackendDoesNotHold": {false, 250},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &store{settledAt: time.Now().Add(100 * time.Second), last: tasker.TaskError, hold: tc.hold}
				task, err := tasker.NewClient(s).Wait(t.Context(), uuid.New())
				if err != nil || task.State != tasker.TaskError || s.asked > tc.most {
					t.Errorf("Wait = %+v, %v after %d calls; want at most %d", task, err, s.asked, tc.most)
				}
			})
		})
	}
	for name, tc := range map[string]struct {
		from, to, within time.Duration // the outage; how long Wait bears it
		survives         bool
	}{
		"ShortOutage":        {20 * time.Second, 60 * time.Second, 101 * time.Second, true},
		"ShortOutageLater":   {50 * time.Second, 90 * time.Second, 115 * time.Second, true},
		"LongOutage":         {20 * time.Second, time.Hour, 110 * time.Second, false},
		"AwayFromTheStart":   {0, 5 * time.Second, 0, false},
		"OutageAtTheVeryEnd": {99 * time.Second, 110 * time.Second, 130 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				s := &store{settledAt: begun.Add(100 * time.Second), last: tasker.TaskComplete, hold: true,
					awayFrom: begun.Add(tc.from), awayTo: begun.Add(tc.to)}
				got, err := tasker.NewClient(s).Wait(t.Context(), uuid.New())
				if took := time.Since(begun); took > tc.within {
					t.Errorf("Wait took %v, want at most %v", took, tc.within)
				}
				switch {
				case tc.survives && (err != nil || got.State != tasker.TaskComplete):
					t.Errorf("Wait = %+v, %v; want the task", got, err)
				case !tc.survives && tasker.ErrorCode(err) != tasker.CodeUnavailable:
					t.Errorf("Wait = %v, want CodeUnavailable", err)
				}
				if s.asked > 30 {
					t.Errorf("%d calls", s.asked)
				}
			})
		})
	}
	t.Run("ContextEnds", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			s := &store{settledAt: time.Now().Add(time.Hour)}
			if _, err := tasker.NewClient(s).Wait(ctx, uuid.New()); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Wait = %v, want the end of its context", err)
			}
		})
	})
}

func TestPriorityJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]tasker.Priority{`"high"`: tasker.High, `80`: tasker.Level(80), `"80"`: "80"} {
		var p tasker.Priority
		if err := json.Unmarshal([]byte(text), &p); err != nil || p != want {
			t.Errorf("%s = %q, %v; want %q", text, p, err, want)
		}
	}
	for _, text := range []string{`1.5`, `true`, `{}`} {
		var p tasker.Priority
		if err := json.Unmarshal([]byte(text), &p); err == nil {
			t.Errorf("%s was taken for the priority %q", text, p)
		}
	}
}

func TestSubmit(t *testing.T) {
	t.Parallel()
	s := &store{receipt: tasker.TaskReceipt{TaskUUID: uuid.New(), Created: true}}
	c := tasker.NewClient(s)
	receipt, err := c.Submit(t.Context(), tasker.NewHandlerTask("greet", map[string]int{"n": 1}))
	if err != nil || receipt.TaskUUID != s.receipt.TaskUUID {
		t.Errorf("Submit = %+v, %v", receipt, err)
	}
	if got := s.submitted.Tasks[0]; got.TaskType != "greet" || string(got.Context) != `{"n":1}` {
		t.Errorf("submitted %+v", got)
	}
	s.receipt.Error = tasker.Errorf(tasker.CodeConflict, "no")
	if _, err := c.Submit(t.Context(), tasker.NewTask("order", 1)); tasker.ErrorCode(err) != tasker.CodeConflict {
		t.Errorf("an answer with an error: %v, want it", err)
	}
}

// A client refuses an input without a JSON form before sending, with its place.
func TestSubmitUnencodableInput(t *testing.T) {
	t.Parallel()
	s := &store{}
	c := tasker.NewClient(s)
	good, bad := tasker.NewTask("order", 1), tasker.NewTask("order", make(chan int))
	for name, req := range map[string]tasker.SubmitRequest{
		"Refused":    {Tasks: []tasker.TaskRequest{good, bad}},
		"ItemErrors": {Tasks: []tasker.TaskRequest{good, bad}, ItemErrors: true},
	} {
		_, err := c.SubmitTasks(t.Context(), req)
		var refused *tasker.Error
		var unsupported *json.UnsupportedTypeError
		if !errors.As(err, &refused) || refused.Code != tasker.CodeInvalid || !errors.As(err, &unsupported) {
			t.Fatalf("%s: %v, want CodeInvalid with its cause", name, err)
		}
		if len(refused.Details) != 1 || refused.Details[0].Location != "/tasks/1/context" {
			t.Errorf("%s: details %+v", name, refused.Details)
		}
	}
	if _, err := c.Submit(t.Context(), bad); tasker.ErrorCode(err) != tasker.CodeInvalid {
		t.Errorf("Submit: %v, want CodeInvalid", err)
	}
	if s.submitted.Tasks != nil {
		t.Errorf("sent %+v", s.submitted)
	}
}

// Every field of a request that a caller may set has its option.
func TestTaskOptions(t *testing.T) {
	t.Parallel()
	at, retries := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), 3
	want := tasker.TaskRequest{
		TaskType: "ship", Namespace: "shop", Version: "1.0", Context: json.RawMessage(`{"a":1}`),
		Priority: tasker.High, RequiredCapabilities: []string{"gpu", "ssd"}, TimeoutSeconds: 2, MaxRetries: &retries,
		RunAt: &at, DeadlineAt: &at, IdempotencyKey: "order-1", OrderingKey: "customer-7",
		Unique: &tasker.Unique{By: []string{"/a"}, OnConflict: tasker.UniqueRefuse}, Tags: []string{"x", "y"},
		CorrelationID: "c", ParentCorrelationID: "p", Initiator: "ann", SourceSystem: "shop", Reason: "because",
		TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	}
	got := tasker.NewHandlerTask("ship", json.RawMessage(`{"a":1}`),
		tasker.WithNamespace("shop"), tasker.WithVersion("1.0"), tasker.WithPriority(tasker.High),
		tasker.WithCapabilities("gpu"), tasker.WithCapabilities("ssd"), tasker.WithStepTimeout(1500*time.Millisecond),
		tasker.WithMaxRetries(3), tasker.WithRunAt(at), tasker.WithDeadline(at),
		tasker.WithIdempotencyKey("order-1"),
		tasker.WithOrderingKey("customer-7"),
		tasker.WithUnique(tasker.Unique{By: []string{"/a"}, OnConflict: tasker.UniqueRefuse}),
		tasker.WithTags("x"), tasker.WithTags("y"), tasker.WithCorrelationID("c"), tasker.WithParentCorrelationID("p"),
		tasker.WithInitiator("ann"), tasker.WithSourceSystem("shop"), tasker.WithReason("because"),
		tasker.WithTraceParent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("options differ from fields (-want +got):\n%s", diff)
	}
	fields := map[string]any{}
	encoded, err := json.Marshal(want)
	if err == nil {
		err = json.Unmarshal(encoded, &fields)
	}
	// The literal above omits only a template's name.
	if all := jsonFields(want); err != nil || len(fields) != all-1 {
		t.Errorf("the test sets %d of %d fields, %v: add the option of the new one", len(fields), all-1, err)
	}
	if bare := tasker.NewTask("order", nil); bare.Name != "order" || bare.Context != nil {
		t.Errorf("without an input: %+v", bare)
	}
}

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
		failed string
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
