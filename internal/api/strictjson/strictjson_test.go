package strictjson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/strictjson"
)

type order struct {
	Name     string            `json:"name" maxLength:"5"`
	Count    int               `json:"count,omitempty" minimum:"1" maximum:"100"`
	Share    float64           `json:"share,omitempty"`
	Urgent   bool              `json:"urgent,omitempty"`
	Colour   string            `json:"colour,omitempty" enum:"red,blue"`
	Tags     []string          `json:"tags,omitempty" minItems:"1" maxItems:"2"`
	Lines    []line            `json:"lines,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Payload  json.RawMessage   `json:"payload,omitempty"`
	Internal string            `json:"-"`
}

type line struct {
	SKU   string  `json:"sku"`
	Parts []int32 `json:"parts,omitempty"`
}

func shape() *strictjson.Shape {
	r := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	s := r.Schema(reflect.TypeFor[order](), true, "")
	return strictjson.NewCompiler(r).Compile(s)
}

func problems(t *testing.T, document string) (*tasker.Error, []string) {
	t.Helper()
	var o order
	err := strictjson.Decode([]byte(document), shape(), &o)
	var e *tasker.Error
	if !errors.As(err, &e) {
		t.Fatalf("%.100s is decoded to %+v, %v; want a *tasker.Error", document, o, err)
	}
	var out []string
	for _, d := range e.Details {
		out = append(out, d.Location+": "+d.Message)
	}
	return e, out
}

func TestEveryProblemHasItsPointer(t *testing.T) {
	t.Parallel()
	document := `{"Name": "x", "count": 0, "share": "much", "urgent": null, "colour": "green", "tags": [],
		"lines": [{"sku": "a"}, {"sku": null}, {"sku": "b", "sku": "c"}, {"s/k~u": 1},
		{"sku": "d", "parts": [2147483647, 2147483648, -2147483649]}], "labels": {"a": 1}}`
	_, got := problems(t, document)
	want := []string{
		"/Name: is not a known property",
		"/count: must be at least 1",
		"/share: must be a number, not a string",
		"/colour: must be one of red, blue",
		"/tags: must have at least 1 items, not 0",
		"/lines/1/sku: must be a string, not null",
		"/lines/2/sku: appears twice",
		"/lines/3/s~1k~0u: is not a known property",
		"/lines/3/sku: is required",
		"/lines/4/parts/1: must be an integer of at most 32 bits",
		"/lines/4/parts/2: must be an integer of at most 32 bits",
		"/labels/a: must be a string, not a number",
		"/name: is required",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems differ (-want +got):\n%s", diff)
	}
}

func TestLargeDocumentsAreReadLikeSmallOnes(t *testing.T) {
	t.Parallel()
	for _, filler := range []string{"", strings.Repeat(" ", 300<<10)} {
		document := `{"name":"a",` + filler + `"count":5.9e1,"tags":["x"],"payload":{"a":1,"a":2},"labels":null}`
		var o order
		if err := strictjson.Decode([]byte(document), shape(), &o); err != nil {
			t.Fatal(err)
		}
		want := order{Name: "a", Count: 59, Tags: []string{"x"}, Payload: json.RawMessage(`{"a":1,"a":2}`)}
		if diff := cmp.Diff(want, o); diff != "" {
			t.Errorf("the document is read differently (-want +got):\n%s", diff)
		}
		if _, got := problems(t, `{"name":"a",`+filler+`"count":1.5}`); len(got) != 1 ||
			!strings.HasPrefix(got[0], "/count: must be an integer") {
			t.Errorf("problems are %q", got)
		}
	}
}

func TestProblemsAreBounded(t *testing.T) {
	t.Parallel()
	e, got := problems(t, `{"name":"a","lines":[`+strings.Repeat("{},", 99)+"{}]}")
	if len(got) != 50 || e.Message != "the body breaks 50 rules or more" {
		t.Errorf("%d problems, %q; want 50", len(got), e.Message)
	}
	long := `{"name":"a","lines":[` + strings.Repeat(`{"sku":""},`, 10_000) + `{"sku":""}]}`
	if e, got := problems(t, long); e.Code != tasker.CodeTooLarge ||
		fmt.Sprint(got) != "[/lines: must have at most 10000 items, not 10001]" {
		t.Errorf("a long array is answered %s %q", e.Code, got)
	}
}

func TestSyntax(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]string{
		"":                     "unexpected end of JSON input, at line 1, column 1 (byte 0)",
		"{\n  \"name\": x}":    "at line 2, column 11 (byte 13)",
		`{"name":"x"} {}`:      "after top-level value, at line 1, column 14 (byte 14)",
		"{\"name\":\"\xff\"}":  "not valid UTF-8, at byte 9",
		"{\"name\":\"a\x01\"}": "invalid character '\\x01' in string literal",
		`{"payload":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + `}`: "exceeded max depth",
	} {
		if e, _ := problems(t, document); e.Code != tasker.CodeInvalid || !strings.Contains(e.Message, want) {
			t.Errorf("%.40q is answered %s %q, want %q in it", document, e.Code, e.Message, want)
		}
	}
}
