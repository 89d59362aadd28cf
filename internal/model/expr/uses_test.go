package expr_test

import (
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/model/expr"
)

func TestReadsOfSteps(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`parents.a.state == "complete"`:                                     "",
		`parents["a"]["state"] == "complete"`:                               "",
		`parents?.a?.state == "complete"`:                                   "",
		`parents.a.state == "x" && parents.a_b.result.ok`:                   "a_b",
		`parents.a.state == "x" && parents.b.result.a == 1`:                 "b",
		`parents.a.state == "x" && context.a`:                               "context",
		`parents.a.result.state == "x"`:                                     "a",
		`parents.a.state == "x" && parents.a.result == 1`:                   "a",
		`parents.a.state == "x" && has(parents.a)`:                          "a",
		`parents.a == null`:                                                 "a",
		`parents.a["sta" + "te"] == "x"`:                                    "a",
		`parents.a[context.of] == "x"`:                                      "a context",
		`parents.a.state[context.of] == "x"`:                                "context",
		`parents.a.state == parents.b["result"].a_b && len(context) > 0`:    "b context",
		`parents["b"].result[parents.a.state] == 1`:                         "b",
		`has(parents.a.state) ? parents.b.state : parents["a_b"]?.result.x`: "a_b",
	} {
		p, err := expr.Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for _, step := range []string{"a", "a_b", "b"} {
			if p.ReadsResult(step) {
				got = append(got, step)
			}
		}
		if p.ReadsContext() {
			got = append(got, "context")
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s reads %q, want %q", text, got, want)
		}
	}
}

func TestWork(t *testing.T) {
	t.Parallel()
	document := `{"l": [` + strings.TrimSuffix(strings.Repeat("1,", 1000), ",") + `], "x": 2, "t": "` +
		strings.Repeat("a", 64_000) + `", "m": [` + strings.Repeat("1,", 998) + `[], 1]}`
	for text, want := range map[string]int{
		`context.x == 2`:                       1,
		`context.x in context.l`:               1002,
		`2 in context.l || 3 in context.l`:     1002,
		`2 not in context.l`:                   1001,
		`2 in context.m || 3 in context.m`:     2002,
		`context.l[0] == 1`:                    1,
		`context.l[context.x] == 1`:            1002,
		`context.t contains "b"`:               1001,
		`context == 1`:                         3005,
		`parents.charge.state == "x"`:          1,
		`context.nothing.at.all == 1`:          1,
		`1 in [1, 2, 3]`:                       0,
		`has(context.l) && has(context.l[0])`:  1004,
		`context.x > 1 && parents.charge == 1`: 9,
	} {
		p, err := expr.Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := p.Work(values(t, document)); got != want {
			t.Errorf("%s is the work %d, want %d", text, got, want)
		}
	}
}
