package tasker_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

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

// An input without a JSON form is refused before anything is sent, at its place, with everything beside it.
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
	// A template's name is the only field that the literal above leaves out.
	if all := jsonFields(want); err != nil || len(fields) != all-1 {
		t.Errorf("the test sets %d of %d fields, %v: add the option of the new one", len(fields), all-1, err)
	}
	if bare := tasker.NewTask("order", nil); bare.Name != "order" || bare.Context != nil {
		t.Errorf("without an input: %+v", bare)
	}
}
