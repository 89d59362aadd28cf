package cli_test

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/cli"
)

// YAML and JSON output have the same values for any strings.
func TestYAMLIsTheSameAsJSON(t *testing.T) {
	t.Parallel()
	words := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "no", "Null", "~", "1e5", "0x1f", "- a", "a: b",
		"a #b", "2026-01-01", "{}", "[", "'", "\"", "a\nb", " a ", "*x", "&x", "!t", "%d", "@", "a:", "?", "=", "<<",
		"12:30"}))
	rapid.Check(t, func(t *rapid.T) {
		var value func(depth int) any
		value = func(depth int) any {
			switch n := rapid.IntRange(0, 7).Draw(t, "kind"); {
			case n == 0:
				return nil
			case n == 1:
				return rapid.Bool().Draw(t, "bool")
			case n == 2:
				return float64(rapid.IntRange(-1000, 1000).Draw(t, "number"))
			case n < 5 || depth == 0:
				return words.Draw(t, "text")
			case n == 5:
				list := []any{}
				for range rapid.IntRange(0, 3).Draw(t, "items") {
					list = append(list, value(depth-1))
				}
				return list
			default:
				object := map[string]any{}
				for range rapid.IntRange(0, 3).Draw(t, "members") {
					object[words.Draw(t, "key")] = value(depth - 1)
				}
				return object
			}
		}
		want := map[string]any{"top": value(3)}
		document, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		text, err := cli.ToYAML(document)
		if err != nil {
			t.Fatal(err)
		}
		var values any
		if err := yaml.Unmarshal(text, &values); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		read, err := json.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(read, &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(document, &want); err != nil { // JSON changes invalid UTF-8
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s\nis not %s but %s", text, document, read)
		}
	})
}

func TestOutputKinds(t *testing.T) {
	t.Parallel()
	page := tasker.TaskPage{Tasks: []tasker.Task{{TaskUUID: uuid.New(), Name: "invoice", State: "error"}}}
	for _, tt := range []struct {
		args string
		want string
	}{
		{"task list -o yaml", "tasks:\n  - task_uuid: "},
		{"task list --output=json", "{\n  \"tasks\": ["},
		{"task list --json", "{\n  \"tasks\": ["},
		{"task list --json -o table", "TASK "},
		{"-o yaml task list", "tasks:\n"},
	} {
		code, stdout, stderr := run(t, page, strings.Fields(tt.args)...)
		if code != 0 || !strings.HasPrefix(stdout, tt.want) {
			t.Errorf("%s: exit code %d, %s%s", tt.args, code, stdout, stderr)
		}
	}
	for args, want := range map[string]string{
		"task list -o xml":                `"xml" is none of table, json, yaml`,
		"worker --handler a=true -o yaml": "omit --output",
		"completion bash -o json":         "omit --output",
		"task list --color blue":          `"blue" is none of auto, always, never`,
	} {
		if code, _, stderr := run(t, page, strings.Fields(args)...); code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, %s", args, code, stderr)
		}
	}
}

func TestColors(t *testing.T) {
	t.Parallel()
	page := tasker.TaskPage{Tasks: []tasker.Task{{TaskUUID: uuid.New(), Name: "invoice", State: "error"},
		{TaskUUID: uuid.New(), Name: hostile, State: "complete"}}}
	_, stdout, _ := run(t, page, "task", "list", "--color", "always")
	for _, want := range []string{"\x1b[31merror\x1b[0m", "\x1b[32mcomplete\x1b[0m", "\x1b[1mTASK\x1b[0m"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not in %q", want, stdout)
		}
	}
	if strings.Contains(stdout, "\x1b[2J") {
		t.Errorf("the name of a task is an escape sequence in %q", stdout)
	}
	for _, args := range []string{"task list", "task list --color never", "task list --color always -o json"} {
		if _, stdout, _ := run(t, page, strings.Fields(args)...); strings.Contains(stdout, "\x1b") {
			t.Errorf("%s: %q", args, stdout)
		}
	}
	for _, tt := range []struct {
		environ []string
		colored bool
	}{{nil, true}, {[]string{"NO_COLOR=1"}, false}, {[]string{"TERM=dumb"}, false}} {
		if got := strings.Contains(onTerminal(t, page, tt.environ, "task", "list"), "\x1b["); got != tt.colored {
			t.Errorf("%v: colored is %v", tt.environ, got)
		}
	}
}

// TestDetailsWrap: values wrap at a terminal's width, but not in a pipe.
func TestDetailsWrap(t *testing.T) {
	t.Parallel()
	task := tasker.Task{TaskUUID: uuid.New(), Name: "invoice", State: "error",
		Reason:  strings.Repeat("because of it, ", 20),
		Context: json.RawMessage(`{"items":["` + strings.Repeat(`one two","`, 30) + `"],"n":1}`)}
	why := tasker.Explanation{Summary: strings.Repeat("It waits. ", 20), Steps: []tasker.StepExplanation{
		{Name: "charge", StepUUID: uuid.New(), State: "error", Why: strings.Repeat("It failed because it did. ", 12)}}}
	for args, answer := range map[string]any{"task get " + task.TaskUUID.String(): task,
		"task explain " + task.TaskUUID.String(): why} {
		text := onTerminal(t, answer, []string{"TASKER_PAGER=", "NO_COLOR=1"}, strings.Fields(args)...)
		for line := range strings.SplitSeq(text, "\n") {
			if n := utf8.RuneCountInString(line); n > 80 {
				t.Errorf("%s: %d columns: %s", args, n, line)
			}
		}
		_, piped, _ := run(t, answer, strings.Fields(args)...)
		if strings.Count(piped, "\n") >= strings.Count(text, "\n") || !strings.Contains(text, "\n    ") {
			t.Errorf("%s does not wrap:\n%s\nbut in a pipe\n%s", args, text, piped)
		}
		paged := onTerminal(t, answer, []string{"TASKER_PAGER=sed s/^/paged:/", "COLUMNS=20", "PATH=" + os.Getenv("PATH")},
			strings.Fields(args)...)
		if !strings.HasPrefix(paged, "paged:") || strings.Contains(paged, "\n ") {
			t.Errorf("%s does not go through the pager as one text: %s", args, paged)
		}
	}
}

func TestPager(t *testing.T) {
	t.Parallel()
	page := tasker.TaskPage{Tasks: make([]tasker.Task, 30)}
	for _, tt := range []struct {
		name    string
		environ []string
		args    string
		paged   bool
	}{
		{"Long", []string{"TASKER_PAGER=sed s/^/paged:/"}, "task list", true},
		{"Usual", []string{"PAGER=sed 's/^/paged:/'"}, "task list", true},
		{"Own", []string{"PAGER=false", "TASKER_PAGER=sed s/^/paged:/"}, "task list", true},
		{"Help", []string{"PAGER=sed s/^/paged:/"}, "task submit --help", true},
		{"Short", []string{"PAGER=sed s/^/paged:/"}, "version", false},
		{"Refused", []string{"PAGER=sed s/^/paged:/"}, "task list --no-pager", false},
		{"None", []string{"PAGER=sed s/^/paged:/", "TASKER_PAGER="}, "task list", false},
		{"Cat", []string{"PAGER=cat"}, "task list", false},
		{"Dumb", []string{"PAGER=sed s/^/paged:/", "TERM=dumb"}, "task list", false},
		{"JSON", []string{"PAGER=sed s/^/paged:/"}, "task list --json", false},
		{"Missing", []string{"PAGER=/no/such/pager"}, "task list", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			environ := append(tt.environ, "PATH="+os.Getenv("PATH"))
			stdout := onTerminal(t, page, environ, strings.Fields(tt.args)...)
			if got := strings.HasPrefix(stdout, "paged:"); got != tt.paged || stdout == "" {
				t.Errorf("paged is %v: %q", got, stdout)
			}
		})
	}
	_, stdout, _ := runAs(t, page, cli.Process{Environ: []string{"PAGER=false"}}, "task", "list")
	if !strings.HasPrefix(stdout, "TASK") {
		t.Errorf("without a terminal: %q", stdout)
	}
}
