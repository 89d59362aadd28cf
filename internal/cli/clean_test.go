package cli_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/cli"
	"github.com/taskerhq/tasker/operate"
)

// hostile has an escape sequence, a C1 control, a hiding carriage return, a bidirectional override, and invalid
// UTF-8.
const hostile = "\x1b[2J\x1b]0;owned\x07 a\u009b31mb\rc\u202egnp.exe\xff\n\u200f\x7f"

var fixedNow = time.Date(2025, 11, 2, 15, 0, 0, 0, time.UTC)

// run runs a command line against a server with one answer for all requests.
func run(t *testing.T, answer any, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return runAs(t, answer, cli.Process{}, args...)
}

func onTerminal(t *testing.T, answer any, environ []string, args ...string) (stdout string) {
	t.Helper()
	_, stdout, _ = runAs(t, answer, cli.Process{Terminal: true, Environ: environ}, args...)
	return stdout
}

func runAs(t *testing.T, answer any, p cli.Process, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	body, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	status := http.StatusOK
	if p, ok := answer.(map[string]any); ok && p["status"] != nil {
		status = http.StatusConflict
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}))
	t.Cleanup(srv.Close)
	var out, errOut bytes.Buffer
	p.Args, p.Environ, p.Version = append([]string{"tasker"}, args...), append(p.Environ, "TASKER_SERVER="+srv.URL), "test"
	p.In, p.Out, p.Err, p.Now = strings.NewReader(""), &out, &errOut, func() time.Time { return fixedNow }
	code = cli.Run(t.Context(), p)
	return code, out.String(), errOut.String()
}

func control(s string) (rune, bool) {
	for _, r := range s {
		switch {
		case r == '\n':
		case r < 0x20, r >= 0x7f && r < 0xa0, r == 0x202e, r == 0x200f, r == '\ufffd':
			return r, true
		}
	}
	return 0, false
}

func hostileStep() tasker.Step {
	at := fixedNow.Add(-time.Minute)
	return tasker.Step{
		StepUUID: uuid.New(), Name: hostile, Handler: hostile, State: tasker.StepState(hostile), Worker: hostile,
		StatusMessage: hostile, ProgressPercent: new(int), Results: json.RawMessage(`{"a":"` + "\u009b\u202e" + `"}`),
		Dependencies: []string{hostile}, RequiredCapabilities: []string{hostile}, ResolvedBy: hostile, LastFailureAt: &at,
		LastError: &tasker.Failure{Type: hostile, Message: hostile, Stack: hostile, ResponseBody: hostile, Code: hostile},
	}
}

func TestHostileStringsNeverReachTheTerminal(t *testing.T) {
	t.Parallel()
	id := uuid.NewString()
	task := tasker.Task{
		TaskUUID: uuid.New(), Name: hostile, Namespace: hostile, State: tasker.TaskState(hostile),
		Priority: tasker.Priority(hostile),
		Tags:     []string{hostile}, Reason: hostile, Context: json.RawMessage(`"` + "\u009b" + `"`), CreatedAt: fixedNow,
	}
	tests := []struct {
		name   string
		answer any
		args   []string
	}{
		{"Get", task, []string{"task", "get", id}},
		{"List", tasker.TaskPage{Tasks: []tasker.Task{task}, NextCursor: hostile}, []string{"task", "list"}},
		{"Step", hostileStep(), []string{"task", "step", id, id}},
		{
			"Explain",
			tasker.Explanation{Summary: hostile, Steps: []tasker.StepExplanation{{Name: hostile, Why: hostile, Next: hostile}}},
			[]string{"task", "explain", id},
		},
		{"History", tasker.TaskHistory{
			Transitions: []tasker.Transition{{StepName: hostile, From: hostile, To: hostile, Reason: hostile, Actor: hostile}},
			Attempts: []tasker.Attempt{
				{StepName: hostile, Outcome: hostile, Worker: hostile, Error: &tasker.Failure{Message: hostile}},
			},
		}, []string{"task", "history", id}},
		{
			"Template",
			tasker.Template{
				Name:        hostile,
				Description: hostile,
				Steps:       []tasker.TemplateStep{{Name: hostile, Handler: hostile}},
			},
			[]string{"template", "show", "x"},
		},
		{"TemplateSource", tasker.Template{YAML: hostile}, []string{"template", "show", "x", "--yaml"}},
		{
			"Problem",
			map[string]any{
				"status": 409,
				"code":   "conflict",
				"detail": hostile,
				"hint":   hostile,
				"errors": []any{map[string]string{"message": hostile}},
			},
			[]string{"task", "get", id},
		},
	}
	for _, tt := range tests {
		for _, format := range []string{"Text", "JSON"} {
			t.Run(tt.name+format, func(t *testing.T) {
				t.Parallel()
				args := tt.args
				if format == "JSON" {
					args = append(args, "--json")
				}
				_, stdout, stderr := run(t, tt.answer, args...)
				if len(stdout)+len(stderr) < 20 {
					t.Fatalf("nothing was printed: %q %q", stdout, stderr)
				}
				// Programs read JSON, which must keep its text.
				printed := stdout + stderr
				if format == "JSON" {
					printed = strings.ReplaceAll(printed, "\ufffd", "")
					var v any
					if err := json.Unmarshal([]byte(printed), &v); err != nil {
						t.Errorf("not JSON: %v in %q", err, printed)
					}
				}
				if r, bad := control(strings.ReplaceAll(printed, "\ufffd", "")); bad {
					t.Errorf("%U is printed in %q", r, printed)
				}
			})
		}
	}
}

func TestStepAsInTheDocumentation(t *testing.T) {
	t.Parallel()
	failed := time.Date(2025, 11, 2, 14, 23, 45, 0, time.UTC)
	step := tasker.Step{
		StepUUID: uuid.MustParse("01933d7c-0000-7000-8000-000000000001"), Name: "process_order", State: tasker.StepError,
		DependenciesSatisfied: true, Attempts: 3, MaxAttempts: 3, LastFailureAt: &failed,
	}
	_, got, _ := run(t, step, "task", "step", uuid.NewString(), step.StepUUID.String())
	const want = `✓ Step Details:

  UUID: 01933d7c-0000-7000-8000-000000000001
  Name: process_order
  State: error
  Dependencies satisfied: true
  Ready for execution: false
  Retry eligible: false
  Attempts: 3/3
  Last failure: 2025-11-02T14:23:45Z
`
	if got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
}

// A row that cannot be shown whole is reported behind the table with its ID.
func TestListsTellOfDamage(t *testing.T) {
	t.Parallel()
	id := uuid.New()
	for line, answer := range map[string]any{
		"task list": tasker.TaskPage{Tasks: []tasker.Task{{TaskUUID: uuid.New()},
			{TaskUUID: id, Damage: "context is not\x1b valid JSON"}}},
		"queue list": queueapi.QueueTaskPage{Tasks: []queueapi.QueueListed{
			{TaskID: id, Damage: "context is not\x1b valid JSON"}}},
		"dlq list":      []operate.Case{{CaseUUID: id, Damage: "context is not\x1b valid JSON"}},
		"dlq queue":     []operate.QueuedCase{{CaseUUID: id, Damage: "context is not\x1b valid JSON"}},
		"dlq staleness": []operate.StaleTask{{TaskUUID: id, Damage: "context is not\x1b valid JSON"}},
		"dlq tasks": operate.FailedTaskPage{Tasks: []operate.FailedTask{
			{TaskID: id, Damage: "context is not\x1b valid JSON"}}},
	} {
		code, out, errOut := run(t, answer, strings.Fields(line)...)
		want := "Damaged: " + id.String() + ": context is not"
		if code != 0 || strings.Count(out, want) != 1 {
			t.Errorf("%s ends with %d and says %s%s", line, code, out, errOut)
		}
		if r, found := control(out); found {
			t.Errorf("%s prints %U", line, r)
		}
	}
}
