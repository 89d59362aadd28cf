package expr_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/model/expr"
)

func values(t testing.TB, context string) expr.Values {
	t.Helper()
	v, err := expr.Decode([]byte(context))
	if err != nil {
		t.Fatal(err)
	}
	result, err := expr.Decode([]byte(`{"amount": 12.5, "lines": [1, 2, 3]}`))
	if err != nil {
		t.Fatal(err)
	}
	return expr.Values{expr.Context: v, expr.Parents: map[string]any{
		"charge": expr.Step("complete", result), "gift-wrap": expr.Step("skipped", nil)}}
}

const someContext = `{"customer": {"tier": "gold", "age": 41}, "items": [{"sku": "a"}, {"sku": "b"}], "a b": true,
	"big": 9007199254740993, "zero": 0, "nothing": null}`

func TestValue(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`context.customer.tier == "gold"`:                           "true",
		`context.customer.age >= 41 && context.customer.age < 41.5`: "true",
		`context.missing`:                                              "null",
		`context.missing.deeper[3]["x"] == null`:                       "true",
		`context.customer.tier.deeper == nil`:                          "true",
		`context.nothing == null`:                                      "true",
		`has(context.nothing) || has(context.zero)`:                    "true",
		`has(context.missing.deeper)`:                                  "false",
		`context.items[1].sku`:                                         "b",
		`context.items[2].sku == null && context.items[-1] == null`:    "true",
		`context["a b"]`:                                               "true",
		`context.customer["t" + "ier"]`:                                "gold",
		`context?.customer?.tier`:                                      "gold",
		`context.big == 9007199254740993`:                              "true",
		`context.big == 9007199254740992`:                              "false",
		`parents.charge.result.amount > 12`:                            "true",
		`parents["gift-wrap"].state == "skipped"`:                      "true",
		`parents["gift-wrap"].result.colour == null`:                   "true",
		`parents.charge.result.lines`:                                  "[1, 2, 3]",
		`parents.charge.result.lines == [1.0, 2, 3]`:                   "true",
		`parents.charge.result.lines != [1, 2]`:                        "true",
		`2 in parents.charge.result.lines`:                             "true",
		`"gold" not in ["silver", "bronze"]`:                           "true",
		`"tier" in context.customer && !("age2" in context.customer)`:  "true",
		`1 in context.missing`:                                         "false",
		`len(context.items) + len("äö") + len(context.missing)`:        "4",
		`context.missing ?? "default"`:                                 "default",
		`context.customer.age > 18 ? "adult" : "child"`:                "adult",
		`context.customer.tier startsWith "go" and 1 == 1.0`:           "true",
		`context.zero == false || context.zero == "0"`:                 "false",
		`true || context.customer.tier`:                                "true", // not evaluated
		`context.customer == context.customer`:                         "true",
		`{"tier": context.customer.tier, age: 41} == context.customer`: "true",
		`{"a": {"b": [1.50]}}.a.b[0]`:                                  "1.50",
		`{"n": context.big, "all": context.items, "a b": [{}]}`:        `{"a b":[{}],"all":[{"sku": "a"}, {"sku": "b"}],"n":9007199254740993}`,
		`[{"x": parents.charge.result.amount}, {"x": null}]`:           `[{"x":12.5},{"x":null}]`,
		`"tier" in {"tier": 1} && len({"a": 1, "b": 2}) == 2`:          "true",
	} {
		p, err := expr.Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		v, err := p.Value(values(t, someContext))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := expr.Encode(v, 1000); err != nil || strings.Trim(string(got), `"`) != want {
			t.Errorf("%s is %s %v, want %s", text, got, err, want)
		}
	}
}

func TestEvaluationErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`context.missing < 1`:                      `at 1:17: invalid operation: null < number`,
		"true and\n context.customer.tier":         `at 2:19: true or false is needed here, and this is a string`,
		`!context.missing`:                         `at 1:10: true or false is needed here, and this is null`,
		`context.customer.tier > 3`:                `at 1:23: invalid operation: string > number`,
		`len(context.customer.age) == 1`:           `at 1:1: len takes a list, an object or a string, and this is a number`,
		`1 in context.customer`:                    `at 1:3: the members of an object have strings for names`,
		`1 in context.customer.tier`:               `at 1:3: in looks into a list or an object, and this is a string`,
		`context.customer.age % context.zero == 1`: `at 1:22: division by zero`,
		`context.customer`:                         `at 1:1: the expression must be true or false, and it is an object`,
		`context.missing`:                          `at 1:1: the expression must be true or false, and it is null`,
	} {
		p, err := expr.Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if _, err := p.Bool(values(t, someContext)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	p, err := expr.Compile("context.customer")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.List(values(t, someContext)); err == nil || !strings.Contains(err.Error(), "must be a list") {
		t.Errorf("a list that is none: %v", err)
	}
}

func TestCompileErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                                 `at 1:1: the expression is empty`,
		`context.a ==`:                     `at 1:12: unexpected token EOF`,
		"true and\n  contxt.a == 1":        `at 2:3: unknown name "contxt"; an expression begins a path with context, parents`,
		`any(context.a, # == 1)`:           `at 1:`,
		`all(context.a, .b)`:               `at 1:`,
		`let x = 1; x == 1`:                `at 1:12: unknown name "x"`,
		`1 in 1..100000000`:                `at 1:7: an expression has no operator ..`,
		`2 ** 1000`:                        `at 1:3: an expression has no operator **`,
		`context.a matches "a+"`:           `at 1:11: an expression has no operator matches`,
		`lower(context.a) == "a"`:          `at 1:1: unknown function lower`,
		`now().Year() > 1`:                 `at 1:`,
		`context.a.b()`:                    `at 1:`,
		`__member(context, "a")`:           `at 1:1: unknown name "__member"`,
		`{(context.a): 1}`:                 `at 1:11: the name of a member is a text`,
		`{1.50: 1}`:                        `at 1:2: the name of a member is a text`,
		`{"a": 1, a: 2}`:                   `at 1:10: the object has two members with the name "a"`,
		`{"a": lower("A")}`:                `at 1:7: unknown function lower`,
		`{"a": 1} < 2`:                     `at 1:10: invalid operation: < (mismatched types object and number)`,
		`context.a[1:2] == 1`:              `at 1:`,
		`$env.context`:                     `at 1:`,
		`parents == 1`:                     `name a step of parents`,
		`len(parents) == 1`:                `name a step of parents`,
		`parents[context.name] == 1`:       `at 1:8: name the step`,
		`1 + "a"`:                          `at 1:3: invalid operation: + (mismatched types number and string)`,
		`len(context.a, 1)`:                `at 1:1: `,
		`has()`:                            `at 1:1: has takes one value`,
		`(1 == 1) < context.a`:             `at 1:10: invalid operation: < (mismatched types true or false and any value)`,
		`has == 1`:                         `at 1:`,
		`context.a; true`:                  `at 1:`,
		strings.Repeat("!", 300) + "true":  `at 1:`,
		strings.Repeat("(", 1000) + "true": `at 1:`,
		strings.Repeat(" ", 1025):          `at 1:1: the expression has 1025 bytes; the limit is 1024`,
	} {
		p, err := expr.Compile(text)
		var at *expr.Error
		if p != nil || !errors.As(err, &at) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q is refused with %v, want %s", text, err, want)
		}
	}
}

func TestSteps(t *testing.T) {
	t.Parallel()
	p, err := expr.Compile(`parents.b.state == "skipped" || parents["a-1"].result.x == item.parents.y`, "item")
	if err != nil || fmt.Sprint(p.Steps()) != "[a-1 b]" {
		t.Errorf("the steps are %v %v", p, err)
	}
	if v, err := p.Bool(expr.Values{"item": nil}); err != nil || !v {
		t.Errorf("with nothing: %v %v", v, err)
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	if b, err := expr.Encode([]any{1, map[string]any{"b": "<\n", "a": true}, nil}, 100); err != nil ||
		string(b) != `[1,{"a":true,"b":"<\n"},null]` {
		t.Errorf("encoded: %s %v", b, err)
	}
	for _, v := range []any{"0123456789", []any{1, 2, 3}, map[string]any{"a": nil}} {
		if _, err := expr.Encode(v, 5); !errors.Is(err, expr.ErrTooLarge) {
			t.Errorf("%v is too large: %v", v, err)
		}
	}
}

func FuzzExpression(f *testing.F) {
	for _, seed := range []string{`context.a.b[0] == parents.x.result`, `!has(context.a) && 1 < 2`, `a ?? b`,
		`len(context) in [1, "a", nil] ? -1 : 2 % 0`, `parents["x"].state == "skipped" or context.a + 1 > 0`} {
		f.Add(seed, `{"a": {"b": [1, null, "x"]}}`)
	}
	f.Fuzz(func(t *testing.T, text, context string) {
		p, err := expr.Compile(text)
		if err != nil {
			if at := new(expr.Error); !errors.As(err, &at) || at.Line < 1 || at.Column < 1 {
				t.Fatalf("an error without its place: %v", err)
			}
			return
		}
		v, err := expr.Decode([]byte(context))
		if err != nil {
			return
		}
		in := expr.Values{expr.Context: v, expr.Parents: map[string]any{"x": expr.Step("complete", v)}}
		first, err1 := p.Value(in)
		again, err2 := p.Value(in)
		if fmt.Sprint(first, err1) != fmt.Sprint(again, err2) {
			t.Fatalf("%q is %v %v, then %v %v", text, first, err1, again, err2)
		}
		_, _ = p.Bool(in)
		_, _ = p.List(in)
	})
}

func TestNoLoops(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`map(context.l, #.id)`, `filter(context.l, .ok)`} {
		_, err := expr.Compile(text)
		if err == nil || !strings.Contains(err.Error(), "for_each.context is evaluated for each") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
