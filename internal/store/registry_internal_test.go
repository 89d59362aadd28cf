package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/taskerhq/tasker/internal/model/task"
)

// A template survives its column, down to digits that no float can hold.
func TestTemplateBody(t *testing.T) {
	t.Parallel()
	level := 0
	in := &task.Template{Description: "\"quoted\" \u2028 é </script>", Priority: &level,
		InputSchema: []byte(`{"maximum":123456789012345678901234567890}`),
		Lifecycle:   task.Lifecycle{MaxDuration: time.Hour, MaxWaitingForRetry: time.Minute},
		Steps: []task.StepSpec{
			{Name: "a", Handler: "h", Initialization: []byte(`{"n":1.50,"text":"é"}`),
				Retry: task.Retry{Backoff: task.BackoffNone}, Timeout: time.Second},
			{Name: "b", Handler: "h", Dependencies: []string{"a"}, Capabilities: []string{"eu", "gpu"}, Priority: &level,
				Retry: task.DefaultRetry()},
		}}
	if faults := in.Link(); len(faults) > 0 {
		t.Fatal(faults)
	}
	body, err := encodeTemplate(in)
	if err != nil {
		t.Fatal(err)
	}
	out := &task.Template{}
	if err := decodeTemplate(out, JSON(body.(string))); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, out); diff != "" {
		t.Errorf("(-stored +loaded):\n%s", diff)
	}
}

// A stored template with a cycle, which cannot be registered, is loaded: its tasks get a case.
func TestTemplateBodyWithCycle(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"steps":[{"name":"a","handler":"h","dependencies":["a"]}]}`: "the dependencies form a cycle: a -> a",
		`{"steps":[{"name":"a","handler":"h","dependencies":["b"]},{"name":"b","handler":"h","dependencies":["a"]},
 {"name":"c","handler":"h","dependencies":["d"]},{"name":"d","handler":"h","dependencies":["c"]}]}`: "the dependencies form a cycle: a -> b -> a",
	} {
		var got task.Template
		if err := decodeTemplate(&got, JSON(body)); err != nil || got.Cycle != want {
			t.Errorf("%s was loaded with the cycle %q, %v; want %q", body, got.Cycle, err, want)
		}
	}
}

func TestTemplateBodyRefuses(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"NotJSON":       `{`,
		"WrongType":     `{"steps": 5}`,
		"UnknownParent": `{"steps":[{"name":"a","handler":"h","dependencies":["b"]}]}`,
		"ParentTwice":   `{"steps":[{"name":"a","handler":"h"},{"name":"b","handler":"h","dependencies":["a","a"]}]}`,
		"NameTwice":     `{"steps":[{"name":"a","handler":"h"},{"name":"a","handler":"h"}]}`,
		"CycleAndMore":  `{"steps":[{"name":"a","handler":"h","dependencies":["a","b"]}]}`,
	} {
		if err := decodeTemplate(&task.Template{}, JSON(body)); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
