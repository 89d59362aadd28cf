package template_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/model/template"
)

func compile(t testing.TB, schema string) *template.Schema {
	t.Helper()
	s, err := template.CompileSchema([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCheck(t *testing.T) {
	t.Parallel()
	const order = `{"type":"object","required":["amount","sku"],"additionalProperties":false,"properties":{
		"amount":{"type":"number","exclusiveMinimum":0,"maximum":100},"sku":{"type":"string","pattern":"^[A-Z]+$","maxLength":4},
		"lines":{"type":"array","minItems":1,"items":{"type":"object","properties":{"n":{"type":"integer","multipleOf":2}}}},
		"when":{"type":"string","format":"date-time"},"size":{"enum":["s","m"]},"a/b~c":{"const":1}}}`
	for _, c := range []struct {
		name, schema, context string
		want                  []task.Problem
	}{
		{"OK", order, `{"amount":5,"sku":"AB","lines":[{"n":4}],"when":"2026-01-02T03:04:05Z","size":"s","a/b~c":1.0}`, nil},
		{"OrderOfProblems", order,
			`{"amount":-1,"sku":"abcde","lines":[{"n":3},{"n":"x"}],"when":"soon","size":"xl","a/b~c":2}`, []task.Problem{
				{Location: "/amount", Message: "must be more than 0, not -1"},
				{Location: "/a~1b~0c", Message: "value must be 1"},
				{Location: "/lines/0/n", Message: "must be a multiple of 2, not 3"},
				{Location: "/lines/1/n", Message: "must be of type integer, not string"},
				{Location: "/size", Message: "value must be one of 's', 'm'"},
				{Location: "/sku", Message: "must have at most 4 characters, not 5"},
				{Location: "/sku", Message: `must match the pattern "^[A-Z]+$"`},
				{Location: "/when", Message: "is not a valid date-time: less than 20 characters long"},
			}},
		{"Missing", order, `{}`, []task.Problem{{Message: `lacks the properties "amount", "sku"`}}},
		{"MissingOne", order, `{"amount":1}`, []task.Problem{{Message: `lacks the property "sku"`}}},
		{"Additional", order, `{"amount":1,"sku":"A","x":1}`, []task.Problem{{Message: `must not have the property "x"`}}},
		{"NotAnObject", order, `[1]`, []task.Problem{{Message: "must be of type object, not array"}}},
		{"NotJSON", order, `{"amount":`, []task.Problem{{Message: "it is not valid JSON: unexpected EOF"}}},
		{"Empty", order, ``, []task.Problem{{Message: "it is not valid JSON: EOF"}}},
		{"TwoValues", order, `{} {}`,
			[]task.Problem{{Message: "it is not valid JSON: invalid character after top-level value"}}},
		{"TrueSchema", `true`, `{"anything":1}`, nil},
		{"FalseSchema", `false`, `1`, []task.Problem{{Message: "is not allowed"}}},
		{"AnyOfTheRightType", `{"anyOf":[{"type":"string"},{"type":"object","required":["id"]}]}`, `{}`,
			[]task.Problem{{Message: `lacks the property "id"`}}},
		{"AnyOfNone", `{"anyOf":[{"type":"string"},{"type":"number"}]}`, `[]`, []task.Problem{
			{Message: "matches none of the alternatives (anyOf)"},
			{Message: "must be of type string, not array"},
			{Message: "must be of type number, not array"},
		}},
		{"OneOfBoth", `{"oneOf":[{"type":"number"},{"type":"integer"}]}`, `1`,
			[]task.Problem{{Message: "matches the alternatives 0 and 1; it must match exactly one (oneOf)"}}},
		{"Not", `{"not":{"type":"string"}}`, `"x"`, []task.Problem{{Message: "matches what it must not (not)"}}},
		{"Reference", `{"$defs":{"p":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/p"}}}`, `{"a":1}`,
			[]task.Problem{{Location: "/a", Message: "must be of type string, not number"}}},
		{"UnknownFormatIsIgnored", `{"format":"int64"}`, `"x"`, nil},
		{"Draft07", `{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}`, `[1]`,
			[]task.Problem{{Location: "/0", Message: "must be of type string, not number"}}},
		{"BigIntegerOverMaximum", `{"maximum":123456789012345678901234567890}`, `123456789012345678901234567891`,
			[]task.Problem{{Message: "must be at most 123456789012345678901234567890, not 123456789012345678901234567891"}}},
		{"BigIntegerAtMaximum", `{"maximum":123456789012345678901234567890,"type":"integer"}`,
			`123456789012345678901234567890`, nil},
		{"BigIntegersAreDistinct", `{"const":9007199254740993}`, `9007199254740992`,
			[]task.Problem{{Message: "value must be 9007199254740993"}}},
		{"DecimalsAreExact", `{"multipleOf":0.1}`, `0.3`, nil},
		{"HugeExponent", `{"minimum":1}`, `{"a":[1e999999999]}`,
			[]task.Problem{{Location: "/a/0", Message: `the number "1e999999999" is out of range`}}},
		{"TinyExponent", `{"minimum":1}`, `1E-999999999999999999999`,
			[]task.Problem{{Message: `the number "1E-999999999999999999999" is out of range`}}},
		{"TooDeep", `{"items":{"$ref":"#"}}`, strings.Repeat("[", 300) + strings.Repeat("]", 300),
			[]task.Problem{{Location: strings.Repeat("/0", 200), Message: "it nests deeper than 200 levels"}}},
		{"ControlCharacters", `{"additionalProperties":false}`, `{"\u001b[31m\n":1}`,
			[]task.Problem{{Message: `must not have the property "\x1b[31m\n"`}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, compile(t, c.schema).Check([]byte(c.context))); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompileSchemaRefuses(t *testing.T) {
	t.Parallel()
	const elsewhere = ": a reference must stay inside the schema; nothing is loaded from elsewhere"
	for _, c := range []struct {
		name, schema string
		want         task.Problem
	}{
		{"NotJSON", `{`, task.Problem{Message: "it is not valid JSON: unexpected EOF"}},
		{"NotASchema", `[]`, task.Problem{Message: "must be of type boolean or object, not array"}},
		{"UnknownType", `{"properties":{"a/b":{"type":"date"}}}`,
			task.Problem{Location: "/properties/a~1b/type",
				Message: "value must be one of 'array', 'boolean', 'integer', 'null', 'number', 'object', 'string'"}},
		{"Network", `{"$ref":"https://example.com/x"}`,
			task.Problem{Location: "/$ref", Message: `cannot use "https://example.com/x"` + elsewhere}},
		{"SecondReference", `{"$defs":{"a":true},"allOf":[{"$ref":"#/$defs/a"},{"$ref":"https://example.com/x"}]}`,
			task.Problem{Location: "/allOf/1/$ref", Message: `cannot use "https://example.com/x"` + elsewhere}},
		{"Disk", `{"items":{"$ref":"file:///etc/passwd"}}`,
			task.Problem{Location: "/items/$ref", Message: `cannot use "file:///etc/passwd"` + elsewhere}},
		{"Path", `{"$ref":"/etc/passwd#/x"}`, task.Problem{Location: "/$ref",
			Message: `cannot use "etc/passwd"` + elsewhere}},
		{"MetaSchema", `{"$schema":"https://example.com/s"}`,
			task.Problem{Location: "/$schema", Message: `cannot use "https://example.com/s"` + elsewhere}},
		{"DeadPointer", `{"allOf":[{"$ref":"#/$defs/x"}]}`,
			task.Problem{Location: "/allOf/0/$ref", Message: `the reference "#/$defs/x" leads nowhere`}},
		{"DeadAnchor", `{"$dynamicRef":"#x"}`, task.Problem{Location: "/$dynamicRef",
			Message: `the reference "#x" leads nowhere`}},
		{"Pattern", `{"pattern":"(?<=a)b"}`, task.Problem{Location: "/pattern",
			Message: "is not a valid regex: error parsing regexp: invalid named capture: `(?<=a)b`"}},
		{"EndlessReference", `{"$ref":"#"}`,
			task.Problem{Message: "refers to itself for one and the same value, without end"}},
		{"EndlessAlternative", `{"items":{"anyOf":[{"type":"null"},{"$ref":"#/items"}]}}`,
			task.Problem{Location: "/items", Message: "refers to itself for one and the same value, without end"}},
		{"EndlessDynamicReference", `{"$dynamicAnchor":"n","allOf":[{"$dynamicRef":"#n"}]}`,
			task.Problem{Message: "refers to itself for one and the same value, without end"}},
		{"HugeExponent", `{"maximum":1e99999999}`, task.Problem{Location: "/maximum",
			Message: `the number "1e99999999" is out of range`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := template.CompileSchema([]byte(c.schema))
			var e *task.Error
			if !errors.As(err, &e) || e.Code != task.Invalid {
				t.Fatalf("%v, want a task.Error of code %s", err, task.Invalid)
			}
			if diff := cmp.Diff([]task.Problem{c.want}, e.Problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompileParsedSchema(t *testing.T) {
	t.Parallel()
	full := parse(t, string(read(t, "testdata/good/full.yaml")))
	s := compile(t, string(full.InputSchema))
	if got := s.Check([]byte(`{"amount":123456789012345678901234567890,"sku":"ABC-1"}`)); got != nil {
		t.Errorf("a good context: %v", got)
	}
	want := []task.Problem{{Location: "/amount", Message: "must be at most 123456789012345678901234567890, not " +
		"123456789012345678901234567891"}}
	if diff := cmp.Diff(want, s.Check([]byte(`{"amount":123456789012345678901234567891,"sku":"ABC-1"}`))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCheckIsBounded(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"items":{"type":"string"},"uniqueItems":true}`)
	var items []string
	for i := range 40_000 {
		items = append(items, fmt.Sprint(i))
	}
	got := s.Check([]byte("[" + strings.Join(items, ",") + "]"))
	if len(got) == 0 || len(got) > 100 {
		t.Errorf("%d problems, want 1 to 100", len(got))
	}
	long := compile(t, `{"type":"number"}`).Check([]byte(`"` + strings.Repeat("x", 100_000) + `"`))
	if len(long) != 1 || len(long[0].Message) > 300 {
		t.Errorf("%d problems; the message has %d bytes", len(long), len(long[0].Message))
	}
}

func TestCheckConcurrently(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"$defs":{"p":{"type":"object","properties":{"next":{"$ref":"#/$defs/p"}}}},"$ref":"#/$defs/p"}`)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			context := fmt.Sprintf(`{"next":{"next":%d}}`, i)
			want := []task.Problem{{Location: "/next/next", Message: "must be of type object, not number"}}
			for range 20 {
				if diff := cmp.Diff(want, s.Check([]byte(context))); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
	wg.Wait()
}

// FuzzSchemaCheck: compiling and checking never panic; results repeat; broken JSON never passes.
func FuzzSchemaCheck(f *testing.F) {
	f.Add(`{"type":"object","required":["a"]}`, `{"a":1}`)
	f.Add(`{"$ref":"#"}`, `{}`)
	f.Add(`{"anyOf":[{"minimum":1e3},{"pattern":"a+"}]}`, `1e400`)
	f.Add(`{"multipleOf":0.01,"uniqueItems":true}`, `[1,1.0]`)
	f.Add(`{"$id":"http://x/y","$defs":{"a":{"$anchor":"b"}},"$ref":"#b"}`, `null`)
	f.Add(`{"$schema":"http://json-schema.org/draft-04/schema#","id":"#a","format":"email"}`, `"\ud800"`)
	f.Add(`{"propertyNames":{"maxLength":1},"dependentRequired":{"a":["b"]}}`, `{"aa":1,"a":2}`)
	f.Fuzz(func(t *testing.T, schema, context string) {
		s, err := template.CompileSchema([]byte(schema))
		if err != nil {
			var e *task.Error
			if !errors.As(err, &e) || e.Code != task.Invalid || len(e.Problems) == 0 {
				t.Fatalf("%v is not a list of problems", err)
			}
			return
		}
		got := s.Check([]byte(context))
		if len(got) == 0 && !json.Valid([]byte(context)) {
			t.Fatalf("%q passes", context)
		}
		// Pointers exist or name the parent of a missing value.
		for _, p := range got {
			if p.Message == "" || p.Location != "" && !strings.HasPrefix(p.Location, "/") {
				t.Fatalf("problem %+v", p)
			}
		}
		if again := s.Check([]byte(context)); len(again) != len(got) {
			t.Fatalf("%v, then %v", got, again)
		}
	})
}
