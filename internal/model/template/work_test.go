package template_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/model/template"
)

func doubling(keyword string, n int) string {
	var b strings.Builder
	b.WriteString(`{"$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"%s":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, keyword, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{"type":"string"}},"$ref":"#/$defs/d0"}`, n)
	return b.String()
}

// costs fails when f takes long or much memory.
func costs(t *testing.T, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	f()
	took := time.Since(began)
	runtime.ReadMemStats(&after)
	if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 100 || took > 20*time.Second {
		t.Errorf("it took %v and %d MB", took, mb)
	}
}

func TestSchemaIsBounded(t *testing.T) {
	var chain strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&chain, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
	}
	for name, c := range map[string]struct{ schema, words string }{
		"AnyOf": {doubling("anyOf", 24), "more than 10000 subschemas"},
		"OneOf": {doubling("oneOf", 24), "more than 10000 subschemas"},
		"AllOf": {doubling("allOf", 24), "more than 10000 subschemas"},
		"Conditions": {`{"$defs":{"a":` + strings.Repeat(`{"if":{"not":`, 40) + `{}` + strings.Repeat(`}}`, 40) +
			`},"$ref":"#/$defs/a"}`, "more than 64"},
		"Dependent": {`{"$defs":{"a":{"dependentSchemas":{"x":{"$ref":"#/$defs/b"},"y":{"$ref":"#/$defs/b"}}},"b":` +
			strings.ReplaceAll(doubling("anyOf", 13), "#/$defs/", "#/$defs/b/$defs/") + `},"items":{"$ref":"#/$defs/a"}}`,
			"more than 10000 subschemas"},
		"Chain":       {`{"$defs":{` + chain.String() + `"d3000":{}},"$ref":"#/$defs/d0"}`, "more than 64 references"},
		"Values":      {`{"enum":[` + strings.Repeat("1,", 20_000) + `2]}`, "more than 10000 values"},
		"Pattern":     {`{"pattern":"` + strings.Repeat("(a?b|c)", 900) + `"}`, "more than 1000 instructions"},
		"Repetitions": {`{"patternProperties":{"((xyz|[0-9]a){20}){20}":true}}`, "more than 1000 instructions"},
		"Classes":     {`{"pattern":"(\\p{L}{100}){10}"}`, "more than 1000 instructions"},
	} {
		t.Run(name, func(t *testing.T) {
			costs(t, func() {
				_, err := template.CompileSchema([]byte(c.schema))
				var e *task.Error
				if !errors.As(err, &e) || !strings.Contains(fmt.Sprint(e.Problems), c.words) {
					t.Errorf("%.500v", err)
				}
			})
		})
	}
}

func TestCheckHasABudget(t *testing.T) {
	const branch = `{"type":"object","properties":{"a":{"$ref":"#"}},"required":["x"]}`
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	list := func(item string, n int) string { return "[" + strings.Repeat(item+",", n-1) + item + "]" }
	for name, c := range map[string]struct{ schema, context string }{
		"Depth": {`{"anyOf":[` + branch + "," + branch + `]}`, nested(100)},
		"Items": {`{"items":` + strings.ReplaceAll(doubling("anyOf", 10), "#/$defs", "#/items/$defs") + `}`,
			list("1", 10_000)},
		"Text": {`{"pattern":"^(` + strings.Repeat("a?", 300) + `)*b$"}`, `"` + strings.Repeat("a", 250_000) + `"`},
		"Names": {`{"patternProperties":{"^(` + strings.Repeat("a?", 300) + `)*b$":{}}}`,
			`{"` + strings.Repeat("a", 250_000) + `":1}`},
		"NamesAlone": {`{"propertyNames":` + strings.ReplaceAll(doubling("anyOf", 10), "#/$defs", "#/propertyNames/$defs") +
			`}`, `{` + numbered(3000) + `}`},
		"Comparison": {`{"items":{"enum":` + list("1.5", 9_000) + `}}`, list("1.25", 10_000)},
		"Dynamic": {
			`{"$dynamicAnchor":"n","anyOf":[{"properties":{"a":{"$dynamicRef":"#n"}},"required":["x"]},{"properties":{"a":{"$dynamicRef":"#n"}},"required":["x"]}]}`, nested(100)},
	} {
		t.Run(name, func(t *testing.T) {
			s := compile(t, c.schema)
			costs(t, func() {
				if got := s.Check([]byte(c.context)); len(got) != 1 || !strings.Contains(got[0].Message, "too much work") {
					t.Errorf("%.500v", got)
				}
			})
		})
	}
}

func TestDocumentIsBounded(t *testing.T) {
	fill := func(s string) string { return strings.Repeat(s, (template.MaxSource-300)/len(s)) }
	for name, source := range map[string]string{
		"Anchors": "metadata:\n" + fill("- &a x\n"), "OneLine": "metadata: " + fill("&a "),
		"Aliases":  "a: &a x\nmetadata: [" + fill("*a,") + "]",
		"Brackets": fill("["), "Empty": "metadata: [" + fill(",") + "]", "JSON": `{"metadata":[` + fill("1,") + "1]}",
		"Keys": fill("a: 1\n"),
		"Tags": fill("! "), "Documents": fill("---\n"), "Comments": fill("#\n"), "Quotes": fill(`''`), "Words": fill("x "),
		"Strings": "metadata: [" + fill(`"",`) + "]",
	} {
		t.Run(name, func(t *testing.T) {
			costs(t, func() {
				var e *task.Error
				if _, err := template.Parse("t", []byte(source), nil); !errors.As(err, &e) || e.Code != task.Invalid {
					t.Errorf("%.500v", err)
				}
			})
		})
	}
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"m%d":1,`, i)
	}
	return b.String() + `"last":1`
}

func TestLargeContextsAreChecked(t *testing.T) {
	t.Parallel()
	const order = `{"$defs":{"line":{"type":"object","required":["sku","n"],"additionalProperties":false,"properties":{
		"sku":{"type":"string","pattern":"^[A-Z]{2,4}-[0-9]+$"},"n":{"type":"integer","minimum":1},"note":{"anyOf":[{"type":"string"},{"type":"null"}]}}}},
		"type":"array","items":{"$ref":"#/$defs/line"}}`
	line := `{"sku":"ABC-12345","n":3,"note":null}`
	for name, c := range map[string]struct{ schema, context string }{
		"Records": {order, "[" + strings.Repeat(line+",", 6000) + line + "]"},
		"Numbers": {`{"items":{"$ref":"#/$defs/n"},"$defs":{"n":{"type":"integer","minimum":0}}}`,
			"[" + strings.Repeat("1,", 130_000) + "1]"},
		"LongText": {`{"type":"string","pattern":"^[ -~]+$"}`, `"` + strings.Repeat("x", 260_000) + `"`},
		"Recursive": {`{"properties":{"next":{"$ref":"#"},"n":{"type":"integer"}},"additionalProperties":false}`,
			strings.Repeat(`{"n":1,"next":`, 190) + "{}" + strings.Repeat("}", 190)},
		"Tree": {`{"items":{"$ref":"#"},"type":["array","number"]}`,
			"[" + strings.Repeat("[[[1,2],[3]],[4]],", 10_000) + "1]"},
	} {
		if got := compile(t, c.schema).Check([]byte(c.context)); got != nil {
			t.Errorf("%s: %.500v", name, got)
		}
	}
}
