//go:build unix

package script_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/cli/script"
	"github.com/taskerhq/tasker/worker"
	"github.com/taskerhq/tasker/worker/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func job() *worker.Job {
	return &worker.Job{Assignment: protocol.Assignment{
		StepUUID: uuid.MustParse("00000000-0000-0000-0000-000000000001"), StepName: "charge", Handler: "charge_card",
		TaskName: "order", Namespace: "shop", Attempt: 2, MaxAttempts: 3,
		Parameters:    json.RawMessage(`{"amount":5}`),
		ParentResults: map[string]json.RawMessage{"check": json.RawMessage(`true`)},
	}}
}

func handler(t *testing.T, command string, opts *script.Options) worker.Handler {
	t.Helper()
	h, err := script.New(script.Shell(command), opts)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestInput(t *testing.T) {
	t.Parallel()
	out, err := handler(t, `cat`, nil)(t.Context(), job())
	if err != nil {
		t.Fatal(err)
	}
	var in struct {
		Parameters    struct{ Amount int }
		ParentResults map[string]bool `json:"parent_results"`
		Step          map[string]any
	}
	if err := json.Unmarshal(out.(json.RawMessage), &in); err != nil {
		t.Fatal(err)
	}
	if in.Parameters.Amount != 5 || !in.ParentResults["check"] || in.Step["attempt"] != 2.0 ||
		in.Step["name"] != "charge" ||
		in.Step["uuid"] != "00000000-0000-0000-0000-000000000001" || in.Step["task_name"] != "order" {
		t.Errorf("the program read %s", out)
	}
	out, err = handler(t, `cat`, nil)(t.Context(), &worker.Job{})
	if err != nil || !strings.HasPrefix(string(out.(json.RawMessage)), `{"parameters":null,"parent_results":{},`) {
		t.Errorf("a step without input: %s, %v", out, err)
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	traced := job()
	traced.TraceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	out, err := handler(t, `printf '"%s %s"' "$TASKER_STEP_UUID" "$TRACEPARENT"`, nil)(t.Context(), traced)
	if want := `"00000000-0000-0000-0000-000000000001 ` + traced.TraceParent + `"`; err != nil ||
		string(out.(json.RawMessage)) != want {
		t.Errorf("the program has %s, %v; want %s", out, err, want)
	}
}

// TestEnvironmentIsSmall sets foreign variables in the process's environment, so it is not parallel.
func TestEnvironmentIsSmall(t *testing.T) {
	for name, value := range map[string]string{
		"TASKER_API_KEY": "secret", "tasker_other": "secret", "AWS_SECRET_ACCESS_KEY": "secret", "LC_TIME": "C", "TZ": "UTC",
		"MINE": "passed",
	} {
		t.Setenv(name, value)
	}
	command := `printf '"%s"' "$(env | cut -d= -f1 | sort | tr '\n' ' ')$TZ $LC_TIME $MINE $SET $TWICE"`
	out, err := handler(t, command, &script.Options{Env: []string{"MINE", "ABSENT", "SET=a=b", "TWICE=1", "TWICE=2"}})(
		t.Context(), job())
	if err != nil {
		t.Fatal(err)
	}
	got := string(out.(json.RawMessage))
	for _, name := range []string{"TASKER_API_KEY", "tasker_other", "AWS_SECRET_ACCESS_KEY", "ABSENT"} {
		if strings.Contains(got, name) {
			t.Errorf("the program has %s: %s", name, got)
		}
	}
	for _, name := range []string{"PATH ", "HOME ", "TASKER_STEP_UUID ", "TASKER_CHECKPOINT_FILE "} {
		if !strings.Contains(got, name) {
			t.Errorf("the program has no %s: %s", name, got)
		}
	}
	if !strings.HasSuffix(got, `UTC C passed a=b 2"`) {
		t.Errorf("the program has the values %s", got)
	}
	for _, bad := range []string{"", "=x", "TASKER_API_KEY", "TASKER_X=1", "tasker_x", "A=\x00"} {
		if _, err := script.New(script.Shell("true"), &script.Options{Env: []string{bad}}); err == nil {
			t.Errorf("the variable %q is accepted", bad)
		}
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	opts := &script.Options{MaxOutput: 1000, MaxStderr: 50, KillDelay: 100 * time.Millisecond}
	for name, tc := range map[string]struct {
		command string
		result  string
		kind    string // of the failure; "" is success
		message string
		final   bool
	}{
		"Result":         {`echo '{"ok": true}'`, `{"ok": true}`, "", "", false},
		"NothingRead":    {`exec <&-; echo 1`, `1`, "", "", false},
		"Empty":          {`echo; echo note >&2`, ``, "", "", false},
		"TempFail":       {`echo connecting >&2; echo no route >&2; exit 75`, "", "exit", "exit status 75: no route", false},
		"Exit":           {`echo '{}'; echo bad card >&2; exit 1`, "", "exit", "exit status 1: bad card", false},
		"Usage":          {`exit 64`, "", "exit", "exit status 64", true},
		"DataErr":        {`exit 65`, "", "exit", "exit status 65", true},
		"NoInput":        {`exit 66`, "", "exit", "exit status 66", true},
		"NoUser":         {`exit 67`, "", "exit", "exit status 67", false},
		"NoPerm":         {`exit 77`, "", "exit", "exit status 77", true},
		"Config":         {`exit 78`, "", "exit", "exit status 78", true},
		"NotFound":       {`no-such-program-here 2>/dev/null`, "", "exit", "exit status 127", false},
		"Signal":         {`kill -9 $$`, "", "signal", "signal: killed", false},
		"BadJSON":        {`echo done`, "", "invalid_result", `standard output is not one JSON document: "done"`, true},
		"TwoDocuments":   {`echo 1; echo 2`, "", "invalid_result", `standard output is not one JSON document: "1\n2"`, true},
		"OutputTooLarge": {`yes`, "", "output_too_large", "the program wrote more than 1000 bytes to standard output", true},
		"LeftBehind":     {`sleep 1000 & echo 2`, `2`, "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := handler(t, tc.command, opts)(t.Context(), job())
			if tc.kind == "" {
				raw, _ := out.(json.RawMessage)
				if err != nil || string(raw) != tc.result {
					t.Errorf("result %s, %v; want %s", raw, err, tc.result)
				}
				return
			}
			var f *tasker.Failure
			if !errors.As(err, &f) || f.Type != tc.kind || f.Message != tc.message || !json.Valid(f.Details) {
				t.Fatalf("failure %+v (%v), want %s: %s", f, err, tc.kind, tc.message)
			}
			if final := err != error(f); final != tc.final {
				t.Errorf("for good = %v, want %v", final, tc.final)
			}
		})
	}
}

func TestStderrTail(t *testing.T) {
	t.Parallel()
	h := handler(t, `i=0; while [ $i -lt 500 ]; do echo "line $i" >&2; i=$((i+1)); done; printf 'end\377\n' >&2; exit 3`,
		&script.Options{MaxStderr: 100})
	_, err := h(t.Context(), job())
	var f *tasker.Failure
	if !errors.As(err, &f) {
		t.Fatal(err)
	}
	var d struct {
		ExitCode int `json:"exit_code"`
		Stderr   string
	}
	if err := json.Unmarshal(f.Details, &d); err != nil {
		t.Fatal(err)
	}
	if d.ExitCode != 3 || len(d.Stderr) > 110 || !strings.HasPrefix(d.Stderr, "...") ||
		!strings.HasSuffix(d.Stderr, "line 499\nend\uFFFD\n") {
		t.Errorf("details %+v, want the end of standard error", d)
	}
}

// TestCancel: after the context ends, the program and its children are gone, even if they ignore SIGTERM.
func TestCancel(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ trap, kind string }{
		"Obedient": {"", "signal"},
		"Tidy":     {"trap 'echo tidied up >&2; exit 75' TERM;", "exit"},
		"Deaf":     {"trap '' TERM;", "signal"},
		"Late":     {"trap 'exit 0' TERM;", "program"}, // too late for a success
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pipe := filepath.Join(t.TempDir(), "alive")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			// All processes hold the pipe open: its end shows that they are gone.
			command := `exec 3>` + pipe + `; ` + tc.trap + ` (while :; do sleep 1000; done) & echo ready >&3; wait; wait`
			h := handler(t, command, &script.Options{KillDelay: 200 * time.Millisecond})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() {
				_, err := h(ctx, job())
				done <- err
			}()
			alive, err := os.Open(pipe) // waits for the program
			if err != nil {
				t.Fatal(err)
			}
			defer alive.Close()
			in := bufio.NewReader(alive)
			if line, err := in.ReadString('\n'); line != "ready\n" {
				t.Fatalf("the program says %q, %v", line, err)
			}
			cancel()
			var f *tasker.Failure
			if err := <-done; !errors.As(err, &f) || f.Type != tc.kind {
				t.Errorf("failure %+v, want one of kind %s", f, tc.kind)
			}
			if err := alive.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(in); err != nil {
				t.Errorf("a process outlived its step: %v", err)
			}
		})
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for _, argv := range [][]string{nil, {""}, {"/no/such/program"}} {
		if _, err := script.New(argv, nil); err == nil {
			t.Errorf("New(%q) = nil error", argv)
		}
	}
	h, err := script.New([]string{"cat"}, &script.Options{Dir: "/no/such/directory"})
	if err != nil {
		t.Fatal(err)
	}
	var f *tasker.Failure
	if _, err := h(t.Context(), job()); !errors.As(err, &f) || f.Type != "start" {
		t.Errorf("a directory that is not there: %v", err)
	}
}
