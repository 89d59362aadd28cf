package expr_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/model/expr"
)

func TestEncoded(t *testing.T) {
	t.Parallel()
	const one = `{"$tasker.codec":"x","key":"k","data":"AAEC"}`
	context, err := expr.Decode([]byte(`{"a":` + one + `,"l":[1,` + one + `],"n":null,"o":{"a":` + one + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	const refused = "encoded by the client (codec x, key k)"
	for text, want := range map[string]string{
		`context.a`:              one,
		`context.a ?? 1`:         one,
		`context.n ?? context.a`: one,
		`context.l`:              `[1,` + one + `]`,
		`{"x": [context.a]}`:     `{"x":[` + one + `]}`,
		`has(context.a)`:         `true`,
		`context.a == null`:      `false`,
		`context.a != null`:      `true`,
		`1 in context.l`:         `true`,
		`len(context.l)`:         `2`,
		`len(context.o)`:         `1`,
		`context.a.b`:            refused,
		`context.a.b ?? 1`:       refused,
		`has(context.a.b)`:       refused,
		`context.l[1][0]`:        refused,
		`context.a == 1`:         refused,
		`context.a == context.a`: refused,
		`context.o == context.o`: refused,
		`2 in context.l`:         refused,
		`"b" in context.a`:       refused,
		`len(context.a)`:         refused,
		`context.a && true`:      refused,
		`context.a ? 1 : 2`:      refused,
		`context.a < 1`:          "value encoded by the client",
		`context.a + "x"`:        "value encoded by the client",
		`context.a contains "x"`: "value encoded by the client",
		`-context.a`:             "value encoded by the client",
	} {
		p, err := expr.Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		v, err := p.Value(expr.Values{expr.Context: context})
		if err != nil {
			if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "AAEC") {
				t.Errorf("%s fails with %v, want %s", text, err, want)
			}
			continue
		}
		if got, err := expr.Encode(v, 1000); err != nil || string(got) != want {
			t.Errorf("%s is %s, %v; want %s", text, got, err, want)
		}
	}
	p, err := expr.Compile("context.a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Bool(expr.Values{expr.Context: context}); err == nil || !strings.Contains(err.Error(), refused) {
		t.Errorf("as a condition: %v", err)
	}
	if _, err := p.List(expr.Values{expr.Context: context}); err == nil || !strings.Contains(err.Error(), refused) {
		t.Errorf("as a list: %v", err)
	}
}

func TestReads(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`context.a.b > 1 && context["x y"][0].c`:   `[[a b] [x y 0 c]]`,
		`has(context.a) && context.b`:              `[[b]]`,
		`has(context.a) && context.a > 1`:          `[[a]]`,
		`has(context.a) && has(context.a)`:         `[]`,
		`has(context.a) && context.a.b`:            `[[a b]]`,
		`has(context)`:                             `[]`,
		`len(context) > 1`:                         `[[]]`,
		`context`:                                  `[[]]`,
		`context.list[context.at]`:                 `[[at] [list]]`,
		`parents.a.result.b`:                       `[]`,
		`has(parents.a.result.b) && context?.a?.b`: `[[a b]]`,
		`1 == 1`: `[]`,
	} {
		p, err := expr.Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := fmt.Sprint(p.Reads()); got != want {
			t.Errorf("%s reads %s, want %s", text, got, want)
		}
	}
}
