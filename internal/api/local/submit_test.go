package local_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
	"github.com/taskerhq/tasker/worker/protocol"
)

// strict accepts only objects with a count.
const strict = `
name: strict
version: "1"
input_schema:
  type: object
  required: [count]
  additionalProperties: false
  properties: {count: {type: integer, minimum: 1}}
steps: [{name: a, handler: h}]
`

func (r *rig) nothingStored(t *testing.T, after string) {
	t.Helper()
	page, err := r.Tasks(t.Context(), tasker.TaskFilter{})
	if err != nil || len(page.Tasks) != 0 || page.NextCursor != "" {
		t.Fatalf("after %s the store holds %+v, %v", after, page, err)
	}
}

// TestRefusedSubmissions: one bad task refuses the whole batch, with the place of its fault, and nothing is stored.
func TestRefusedSubmissions(t *testing.T) {
	late := time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -14*3600))
	early := time.Date(0, 1, 1, 0, 0, 0, 0, time.FixedZone("", 24*3600-60))
	one := 1
	tooMany := make([]string, 33)
	for i := range tooMany {
		tooMany[i] = "t"
	}
	bad := map[string]struct {
		task  tasker.TaskRequest
		place string
		words string
	}{
		"Nothing": {tasker.TaskRequest{}, "/name", "name a template (name) or a handler (task_type)"},
		"Both":    {tasker.TaskRequest{Name: "strict", TaskType: "h"}, "/task_type", "not both"},
		"NoSuchTemplate": {tasker.TaskRequest{Name: "nope"}, "/name",
			`there is no template "nope" in namespace "default"`},
		"OtherNamespace":    {tasker.TaskRequest{Name: "strict", Namespace: "ops"}, "/name", `in namespace "ops"`},
		"NoSuchVersion":     {tasker.TaskRequest{Name: "strict", Version: "2"}, "/version", `has no version "2"`},
		"TemplatesBusiness": {tasker.TaskRequest{Name: "strict", MaxRetries: &one}, "/name", "go with task_type only"},
		"Schema": {tasker.TaskRequest{Name: "strict", Context: json.RawMessage(`{"count":0}`)}, "/context/count",
			"must be at least 1, not 0"},
		"NoContext": {tasker.TaskRequest{Name: "strict"}, "/context", "object"},
		"BrokenJSON": {tasker.TaskRequest{TaskType: "h", Context: json.RawMessage(`{"a":`)}, "/context",
			"not valid JSON"},
		"TooDeep": {tasker.TaskRequest{TaskType: "h",
			Context: json.RawMessage(strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000))}, "/context",
			"nests deeper than 200 levels"},
		"Oversized": {tasker.TaskRequest{TaskType: "h",
			Context: json.RawMessage(`"` + strings.Repeat("x", 256<<10) + `"`)}, "/context",
			"262146 bytes long; the limit is 262144"},
		"ControlCharacter": {tasker.TaskRequest{TaskType: "rm\x1b[2J"}, "/task_type", "control character U+001B"},
		"LineBreak":        {tasker.TaskRequest{TaskType: "a\nb"}, "/task_type", "control character U+000A"},
		"Megabyte": {tasker.TaskRequest{TaskType: strings.Repeat("h", 1<<20)}, "/task_type",
			"1048576 bytes long; the limit is 255"},
		"NotUTF8":  {tasker.TaskRequest{TaskType: "a\xff"}, "/task_type", "UTF-8"},
		"Priority": {tasker.TaskRequest{TaskType: "h", Priority: "soon"}, "/priority", `"soon" is not a priority`},
		"PriorityMegabyte": {tasker.TaskRequest{TaskType: "h", Priority: tasker.Priority(strings.Repeat("p", 1<<20))},
			"/priority", "the limit is"},
		"PriorityTooHigh": {tasker.TaskRequest{TaskType: "h", Priority: tasker.Level(101)}, "/priority", "0 to 100"},
		"Timeout": {tasker.TaskRequest{TaskType: "h", TimeoutSeconds: -1}, "/timeout_seconds",
			"must be 0 to 2592000"},
		"Tags":     {tasker.TaskRequest{TaskType: "h", Tags: tooMany}, "/tags", "33 entries; the limit is 32"},
		"EmptyTag": {tasker.TaskRequest{TaskType: "h", Tags: []string{"ok", ""}}, "/tags/1", "must not be empty"},
		"Capability": {tasker.TaskRequest{TaskType: "h", RequiredCapabilities: []string{"g\x00"}},
			"/required_capabilities/0", "U+0000"},
		"RunAtWithoutForm": {tasker.TaskRequest{TaskType: "h", RunAt: &late}, "/run_at", "before 9000-01-01"},
		"RunAtInYear0":     {tasker.TaskRequest{TaskType: "h", RunAt: &early}, "/run_at", "after 1970-01-01"},
		"RunAtZero":        {tasker.TaskRequest{TaskType: "h", RunAt: &time.Time{}}, "/run_at", "after 1970-01-01"},
		"Reason": {tasker.TaskRequest{TaskType: "h", Reason: strings.Repeat("r", 1025)}, "/reason",
			"the limit is 1024"},
	}
	onEveryStore(t, func(t *testing.T, r *rig) {
		r.template(t, strict)
		good := tasker.TaskRequest{TaskType: "h"}
		for name, test := range bad {
			_, err := r.Submit(t.Context(), test.task)
			alone := refusal(t, err, tasker.CodeInvalid)
			_, err = r.SubmitTasks(t.Context(), tasker.SubmitRequest{Tasks: []tasker.TaskRequest{good, test.task, good}})
			batch := refusal(t, err, tasker.CodeInvalid)
			if places(alone) != "/tasks/0"+test.place || places(batch) != "/tasks/1"+test.place {
				t.Errorf("%s: refused at %q alone and at %q in a batch, want %q", name, places(alone), places(batch), test.place)
			}
			for _, e := range []*tasker.Error{alone, batch} {
				if !strings.Contains(e.Error(), test.words) || len(e.Error()) > 1000 {
					t.Errorf("%s: refused with %.1000s", name, e)
				}
			}
			r.nothingStored(t, name)
		}
	})
}

func TestItemErrors(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		receipts, err := r.SubmitTasks(t.Context(), tasker.SubmitRequest{ItemErrors: true, Tasks: []tasker.TaskRequest{
			{TaskType: "h", CorrelationID: "first"}, {Name: "nope"}, {TaskType: "h", CorrelationID: "third"},
		}})
		if err != nil || len(receipts) != 3 {
			t.Fatalf("answered %+v, %v", receipts, err)
		}
		if !receipts[0].Created || !receipts[2].Created || receipts[1].Created || receipts[1].TaskUUID != uuid.Nil {
			t.Errorf("answered %+v", receipts)
		}
		if e := refusal(t, receipts[1].Error, tasker.CodeInvalid); places(e) != "/tasks/1/name" {
			t.Errorf("the bad one is refused with %v", e)
		}
		if page, err := r.Tasks(t.Context(), tasker.TaskFilter{}); err != nil || names(page) != "third first" {
			t.Errorf("the store holds %+v, %v", page, err)
		}
	})
}

func TestIdempotency(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		ctx := t.Context()
		first, err := r.Submit(ctx, tasker.TaskRequest{TaskType: "h", IdempotencyKey: "k"})
		if err != nil || !first.Created {
			t.Fatalf("answered %+v, %v", first, err)
		}
		receipts, err := r.SubmitTasks(ctx, tasker.SubmitRequest{Tasks: []tasker.TaskRequest{
			{TaskType: "h", IdempotencyKey: "k"}, {TaskType: "h", IdempotencyKey: "k", Namespace: "other"},
			{TaskType: "h", IdempotencyKey: "new"}, {TaskType: "h", IdempotencyKey: "new"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if receipts[0].Created || receipts[0].TaskUUID != first.TaskUUID {
			t.Errorf("the key that is known was answered %+v", receipts[0])
		}
		if !receipts[1].Created || !receipts[2].Created || receipts[3].Created ||
			receipts[3].TaskUUID != receipts[2].TaskUUID {
			t.Errorf("the others were answered %+v", receipts[1:])
		}
		r.wait(t, 24*time.Hour)
		if again, err := r.Submit(ctx, tasker.TaskRequest{TaskType: "h", IdempotencyKey: "k"}); err != nil || !again.Created {
			t.Errorf("after a day the key was answered %+v, %v", again, err)
		}
	})
}

// TestLimits: a call beyond a bound is refused whole.
func TestLimits(t *testing.T) {
	t.Parallel()
	r := newRig(t, memstore.New(nil),
		settings.Config{Limits: settings.Limits{PayloadBytes: 10, BatchItems: 2, PageItems: 5, TemplateBytes: 100}})
	ctx := t.Context()
	three := []tasker.TaskRequest{{TaskType: "h"}, {TaskType: "h"}, {TaskType: "h"}}
	for name, call := range map[string]func() error{
		"Submit": func() error { _, err := r.SubmitTasks(ctx, tasker.SubmitRequest{Tasks: three}); return err },
		"SubmitItemErrors": func() error {
			_, err := r.SubmitTasks(ctx, tasker.SubmitRequest{Tasks: three, ItemErrors: true})
			return err
		},
		"Cancel": func() error {
			_, err := r.CancelTasks(ctx, tasker.CancelRequest{TaskUUIDs: make([]uuid.UUID, 3)})
			return err
		},
		"Start": func() error {
			_, err := protocol.Of(r.Client).Start(ctx,
				protocol.StartRequest{WorkerID: r.worker, Steps: make([]protocol.LeaseRef, 3)})
			return err
		},
		"Settle": func() error {
			_, err := protocol.Of(r.Client).Settle(ctx,
				protocol.SettleRequest{WorkerID: r.worker, Results: make([]protocol.StepResult, 3)})
			return err
		},
		"Heartbeat": func() error {
			_, err := protocol.Of(r.Client).Heartbeat(ctx,
				protocol.Heartbeat{WorkerID: r.worker, Steps: make([]protocol.LeaseRef, 10_001)})
			return err
		},
		"Template": func() error {
			_, err := r.RegisterTemplate(ctx, tasker.TemplateSource{YAML: strict})
			return err
		},
	} {
		if e := refusal(t, call(), tasker.CodeTooLarge); !strings.Contains(e.Message, "the limit is") {
			t.Errorf("%s: %v", name, e)
		}
	}
	for name, call := range map[string]func() error{
		"Submit": func() error { _, err := r.SubmitTasks(ctx, tasker.SubmitRequest{}); return err },
		"Cancel": func() error { _, err := r.CancelTasks(ctx, tasker.CancelRequest{}); return err },
		"Start": func() error {
			_, err := protocol.Of(r.Client).Start(ctx, protocol.StartRequest{WorkerID: r.worker})
			return err
		},
		"Settle": func() error {
			_, err := protocol.Of(r.Client).Settle(ctx, protocol.SettleRequest{WorkerID: r.worker})
			return err
		},
	} {
		if e := refusal(t, call(), tasker.CodeInvalid); !strings.Contains(e.Error(), "at least one item") {
			t.Errorf("an empty %s: %v", name, e)
		}
	}
	r.nothingStored(t, "what was refused")

	_, err := r.Submit(ctx, tasker.TaskRequest{TaskType: "h", Context: json.RawMessage(`"12345678"`)})
	if err != nil {
		t.Errorf("a payload of the very limit is refused: %v", err)
	}
	a := r.take(t, true)
	for name, result := range map[string]struct {
		result protocol.StepResult
		place  string
	}{
		"Result": {protocol.StepResult{Status: protocol.ResultCompleted, Result: json.RawMessage(`"123456789"`)},
			"/results/0/result"},
		"Broken": {protocol.StepResult{Status: protocol.ResultCompleted, Result: json.RawMessage(`{`)}, "/results/0/result"},
		"Details": {protocol.StepResult{Status: protocol.ResultFailed,
			Error: &tasker.Failure{Details: json.RawMessage(`"123456789"`)}}, "/results/0/error/details"},
		"NoError": {protocol.StepResult{Status: protocol.ResultFailed}, "/results/0/error"},
		"Status":  {protocol.StepResult{Status: "done"}, "/results/0/status"},
		"Snooze":  {protocol.StepResult{Status: protocol.ResultSnoozed, SnoozeSeconds: -1}, "/results/0/snooze_seconds"},
		"Ages":    {protocol.StepResult{Status: protocol.ResultSnoozed, SnoozeSeconds: 1e300}, "/results/0/snooze_seconds"},
	} {
		result.result.StepUUID, result.result.Token = a.StepUUID, a.Token
		_, err := protocol.Of(r.Client).Settle(ctx,
			protocol.SettleRequest{WorkerID: r.worker, Results: []protocol.StepResult{result.result}})
		if e := refusal(t, err, tasker.CodeInvalid); places(e) != result.place {
			t.Errorf("%s: refused with %v", name, e)
		}
	}
	if s := r.step(t, a.TaskUUID, "h"); s.State != tasker.StepInProgress {
		t.Errorf("after refused results the step is %s", s.State)
	}
}
