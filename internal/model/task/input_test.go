package task_test

import (
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

func TestTimesHaveBounds(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		"0000-01-01T00:00:00+23:59":    false,
		"0001-01-01T00:00:00Z":         false,
		"1969-12-31T23:59:59Z":         false,
		"1970-01-01T00:00:00Z":         false, // would be stored as never
		"1970-01-01T00:00:00.0000005Z": false, // less than a microsecond after it
		"1970-01-01T00:00:00.000001Z":  true,
		"2026-01-31T15:04:05+02:00":    true,
		"8999-12-31T23:59:59Z":         true,
		"9000-01-01T00:00:00Z":         false,
		"9999-12-31T23:59:59-23:59":    false,
	} {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		i := task.FromTime(at)
		if fault := task.InstantFault(i); (fault == "") != good || i == 0 {
			t.Errorf("%s becomes %d: %q", text, i, fault)
		}
		if _, err := i.Time().MarshalJSON(); good && err != nil {
			t.Errorf("%s cannot be shown: %v", text, err)
		}
	}
	for _, far := range []time.Time{time.Date(-300_000, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(300_000, 1, 1, 0, 0, 0, 0, time.UTC)} {
		if task.InstantFault(task.FromTime(far)) == "" {
			t.Errorf("%v passes", far)
		}
	}
	if task.FromOptional(nil) != 0 || task.FromFilter(time.Time{}) != 0 || task.InstantFault(0) != "" {
		t.Error("no time is refused")
	}
}

func TestTextFault(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		limit int
		good  bool
	}{
		{"", 255, true}, {"señor 名前", 255, true}, {strings.Repeat("x", 255), 255, true},
		{strings.Repeat("x", 256), 255, false},
		{"a\x00", 255, false}, {"a\x00", 4096, false}, {"a\nb", 255, false}, {"a\nb\tc", 4096, true}, {"a\rb", 4096, false},
		{"\x7f", 255, false}, {"\u0085", 255, false}, {"\x1b[31m", 4096, false}, {"\xff", 255, false},
	} {
		if fault := task.TextFault(c.text, c.limit); (fault == "") != c.good {
			t.Errorf("%q of at most %d bytes: %q", c.text, c.limit, fault)
		}
	}
}

func TestJSONFault(t *testing.T) {
	t.Parallel()
	nested := func(open, leaf, end string, n int) string {
		return strings.Repeat(open, n) + leaf + strings.Repeat(end, n)
	}
	for _, c := range []struct{ document, want string }{
		{`null`, ""}, {`{"a":[1,2]}`, ""}, {``, "is not valid JSON"}, {`{`, "is not valid JSON"},
		{`{} {}`, "is not valid JSON"},
		{"\"\xff\"", "is not valid UTF-8"}, {`"` + strings.Repeat("x", 1<<16) + `"`, "the limit is 65536"},
		{nested("[", "", "]", 200), ""}, {nested("[", "", "]", 201), "nests deeper than 200 levels"},
		{nested(`{"a":`, "1", "}", 200), ""}, {nested(`{"a":`, "1", "}", 9_998), "nests deeper than 200 levels"},
		{`["` + strings.Repeat("[", 500) + `"]`, ""}, {`["\"` + strings.Repeat("[", 500) + `"]`, ""},
		{`["\\",` + nested("[", "", "]", 200) + `]`, "nests deeper"},
		{"[" + strings.Repeat("[],", 1000) + "[]]", ""},
	} {
		got := task.JSONFault([]byte(c.document), 1<<16)
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%.40s: %q, want %q", c.document, got, c.want)
		}
	}
	if task.JSONFault(nil, 0) != "" {
		t.Error("no document is refused")
	}
}
