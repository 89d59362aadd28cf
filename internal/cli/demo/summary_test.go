package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

func id(n byte) uuid.UUID { return uuid.UUID{0: 0x01, 1: 0x93, 15: n} }

func canned(t *testing.T) Summary {
	t.Helper()
	return Summary{
		Records: 10_000, Duplicates: 24, Tasks: 9976, Completed: 9419, Failed: 555, Lost: 1,
		States: map[tasker.TaskState]int{
			tasker.TaskComplete: 9419, tasker.TaskError: 555, tasker.TaskCancelled: 1,
		},
		Steps: 58_700, Seconds: 3.25, TasksPerSecond: 3069.23, StepsPerSecond: 18061.5,
		CorrelationID: "demo-1", TemplateVersion: templateVersion,
		Failures: []FailureGroup{
			{
				Step: stepPrice, ErrorType: "MissingValue", Code: "cost_missing", Count: 418,
				Example: Example{
					TaskUUID: id(1), StepUUID: id(2), Record: 4, Field: "cost_total", Value: "0",
					Message: `cost_total "0" is no price for substantial damage`,
				},
			}, {
				Step: stepFlight, ErrorType: "timeout", Count: 1,
				Example: Example{TaskUUID: id(3), StepUUID: id(4), Message: "attempt ran longer than 30 s"},
			},
		},
		command: "tasker", serverURL: "http://127.0.0.1:8080", rows: rowsOf(t),
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestWriteText(t *testing.T) {
	t.Parallel()
	text := func(t *testing.T, s Summary) string {
		t.Helper()
		var b bytes.Buffer
		if err := s.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}

	t.Run("Failures", func(t *testing.T) {
		t.Parallel()
		golden(t, "failures.txt", text(t, canned(t)))
	})

	t.Run("NothingToComplete", func(t *testing.T) {
		t.Parallel()
		s := canned(t)
		s.Failures = s.Failures[1:]
		golden(t, "reset.txt", text(t, s))
	})

	t.Run("NothingIsLeft", func(t *testing.T) {
		t.Parallel()
		s := canned(t)
		s.serverURL = ""
		if got := text(t, s); strings.Contains(got, "tasker task") {
			t.Errorf("without a server, commands are shown that cannot work:\n%s", got)
		}
	})

	t.Run("AllWell", func(t *testing.T) {
		t.Parallel()
		golden(t, "well.txt", text(t, Summary{
			Records: 300, Tasks: 300, Completed: 300, Steps: 1800, Seconds: 0.5, TasksPerSecond: 600, StepsPerSecond: 3600,
			TemplateVersion: templateVersion, command: "tasker",
		}))
	})

	t.Run("WriterFails", func(t *testing.T) {
		t.Parallel()
		if err := canned(t).WriteText(brokenPipe{}); !errors.Is(err, os.ErrClosed) {
			t.Errorf("error is %v, want that of the writer", err)
		}
	})
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestJSON(t *testing.T) {
	t.Parallel()
	line, err := canned(t).JSON()
	if err != nil {
		t.Fatal(err)
	}
	if bytes.ContainsRune(line, '\n') {
		t.Error("more than one line")
	}
	var got map[string]any
	if err := json.Unmarshal(line, &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]float64{
		"tasks": 9976, "completed": 9419, "failed": 555, "lost": 1, "settled_twice": 0, "seconds": 3.25,
		"tasks_per_s": 3069.23, "steps_per_s": 18061.5, "duplicates": 24, "records": 10_000,
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	if strings.Contains(string(line), "127.0.0.1") {
		t.Error("the server's address is no result")
	}
}

// TestProposeRepair: proposed results equal the handler's for every failing row.
func TestProposeRepair(t *testing.T) {
	t.Parallel()
	for _, row := range rowsOf(t) {
		for step := range predict(t, row).refused {
			fix, ok := proposeRepair(step, row)
			if !ok {
				t.Fatalf("record %d: no repair for %s", row.Record, step)
			}
			var out any = &Price{}
			switch step {
			case stepFlight:
				out = &Flight{}
			case stepNames:
				out = &Names{}
			}
			in := json.NewDecoder(strings.NewReader(fix.Result))
			in.DisallowUnknownFields()
			if err := in.Decode(out); err != nil {
				t.Fatalf("record %d: repair %s of %s: %v", row.Record, fix.Result, step, err)
			}
		}
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	if got, want := quote(`O'Hare`), `'O'\''Hare'`; got != want {
		t.Errorf("quoted is %s, want %s", got, want)
	}
}
