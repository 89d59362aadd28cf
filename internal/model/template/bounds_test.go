package template_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/model/template"
)

func TestParseAtTheBounds(t *testing.T) {
	t.Parallel()
	steps := func(n int) string {
		var b strings.Builder
		b.WriteString("name: n\nversion: \"1\"\nsteps:\n")
		for i := range n {
			fmt.Fprintf(&b, "  - {name: s%d, handler: h}\n", i)
		}
		return b.String()
	}
	capabilities := func(n int) string {
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf("c%d", i)
		}
		return doc("required_capabilities: [" + strings.Join(names, ",") + "]")
	}
	schema := func(values int) string { // the object, the list, three lists in it and their contents
		list := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("1,", n), ",") + "]" }
		return "input_schema: {examples: [" + list(4000) + "," + list(4000) + "," + list(values-8005) + "]}\n" + doc()
	}
	for name, c := range map[string]struct {
		yaml string
		want string // "" for none
	}{
		"Steps":         {steps(task.MaxSteps), ""},
		"TooManySteps":  {steps(task.MaxSteps + 1), fmt.Sprintf("at most %d steps", task.MaxSteps)},
		"Capabilities":  {capabilities(template.MaxCapabilities), ""},
		"TooManyOfThem": {capabilities(template.MaxCapabilities + 1), "at most 100 capabilities"},
		"Handler":       {strings.Replace(doc(), "handler: h", "handler: "+strings.Repeat("ä", 255), 1), ""},
		"LongHandler": {strings.Replace(doc(), "handler: h", "handler: "+strings.Repeat("ä", 256), 1),
			"at most 255 characters"},
		"Priority":         {doc(`priority: "100"`), ""},
		"LowPriority":      {doc(`priority: "0"`), ""},
		"HighPriority":     {doc(`priority: "101"`), "nor a level from 0 to 100"},
		"NegativePriority": {doc(`priority: "-1"`), "nor a level from 0 to 100"},
		"Schema":           {schema(10_000), ""},
		"LargeSchema":      {schema(10_001), "the schema has more than 10000 values, with its aliases expanded"},
	} {
		_, err := template.Parse("", []byte(c.yaml), nil)
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestCheckAtTheBounds(t *testing.T) {
	t.Parallel()
	nested := func(depth int, left, right string) string {
		return strings.Repeat(left, depth-1) + "1" + strings.Repeat(right, depth-1)
	}
	s := compile(t, `{}`)
	for context, want := range map[string]string{
		strings.Repeat("1", 1000): "", strings.Repeat("1", 1001): "more than 1000 digits",
		"1e400": "", "1e401": "out of range", "1e-400": "", "1e-401": "out of range", "1E401": "out of range",
		"1e99999999999999999999": "out of range",
		nested(200, "[", "]"):    "", nested(201, "[", "]"): "deeper than 200 levels",
		nested(200, `{"a":`, "}"): "", nested(201, `{"a":`, "}"): "deeper than 200 levels",
	} {
		got := s.Check([]byte(context))
		if (len(got) > 0) != (want != "") || len(got) > 0 && !strings.Contains(got[0].Message, want) {
			t.Errorf("%.30s...: %v, want %q", context, got, want)
		}
	}
}

func TestReportsAreShort(t *testing.T) {
	t.Parallel()
	required := func(n int) string {
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf(`"p%02d"`, i)
		}
		return `{"required":[` + strings.Join(names, ",") + `]}`
	}
	for n, want := range map[int]string{1: `the property "p00"`, 2: `the properties "p00", "p01"`, 10: `"p09"`,
		11: `"p09", and 1 more`, 13: `"p09", and 3 more`} {
		got := compile(t, required(n)).Check([]byte(`{}`))
		if len(got) != 1 || !strings.HasSuffix(got[0].Message, want) {
			t.Errorf("%d properties: %v, want %s", n, got, want)
		}
	}
	for digits, whole := range map[int]bool{200: true, 201: false} {
		got := compile(t, `{"maximum":1}`).Check([]byte(strings.Repeat("7", digits)))
		if len(got) != 1 || strings.HasSuffix(got[0].Message, "...") == whole {
			t.Errorf("%d digits: %v", digits, got)
		}
	}
}

func TestFaultsAreBounded(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]bool{1000: false, 1001: false} {
		got := compile(t, `{"items":{"type":"string"}}`).Check([]byte("[" + strings.Repeat("1,", n) + "1]"))
		seen := false
		for _, p := range got {
			seen = seen || p.Location == "/1000"
		}
		if len(got) != 100 || got[1].Location != "/1" || got[99].Location != "/188" || seen != want {
			t.Errorf("of %d faults %d are shown, up to %s", n+1, len(got), got[len(got)-1].Location)
		}
	}
	many := "name: n\nversion: \"1\"\nsteps:\n" + strings.Repeat("  - {name: '', handler: ''}\n", 501)
	_, err := template.Parse("", []byte(many), nil)
	if err == nil || !strings.Contains(err.Error(), "the template has 1000 problems") {
		t.Errorf("of 1002 problems is said: %.80v", err)
	}
}
