package expr_test

import (
	"slices"
	"testing"

	"github.com/taskerhq/tasker/internal/model/expr"
)

func TestPaths(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`context.a.b > 1 && context.a.b < 9`:                            {"context.a.b"},
		`has(context.a) && context.a.b == context["x y"][0].z`:          {"context.a.b", `context["x y"][0].z`},
		`parents["gift-wrap"].state == "complete"`:                      {`parents["gift-wrap"].state`},
		`context.list[context.at] == 1`:                                 {"context.at", "context.list"},
		`len(context.items) > 0 ? parents.a.result.b : context["q\"]"]`: {"context.items", `context["q\"]"]`, "parents.a.result.b"},
		`1 == 1`: nil,
	} {
		p, err := expr.Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := p.Paths(); !slices.Equal(got, want) {
			t.Errorf("%s reads %q, want %q", text, got, want)
		}
		for _, path := range p.Paths() {
			if _, err := expr.Compile(path); err != nil {
				t.Errorf("%s of %s: %v", path, text, err)
			}
		}
	}
}
