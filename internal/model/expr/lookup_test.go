package expr_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/model/expr"
)

func TestLookups(t *testing.T) {
	t.Parallel()
	const encoded = `{"$tasker.codec": "aes", "data": "eA=="}`
	numbers := []string{"0", "-0", "1", "-1.50", "2e0", "20e-1", "9223372036854775807", "9223372036854775808", "0.1e400",
		"18446744073709551615", "1E2", "-3"}
	others := []string{"null", "true", `"a"`, `"\u0061b"`, `""`, `"1"`}
	long := strings.TrimSuffix(strings.Repeat("7,", 40), ",")
	needles := append(append(append([]string{}, numbers...), others...), "100", "-1.5", "1.0", "1e400", "false", `"ab"`, "[]",
		"[1]", "{}", encoded, "["+encoded+"]", "1e9999999999999999", "9223372036854775807.0", "0e5")
	for _, elements := range [][]string{numbers, others, append(numbers[:4:4], others...), {"null"},
		{"1e9999999999999999", "1"}, {"[1]", "1"}, {encoded, `"a"`}, {`"a"`, encoded}} {
		document := "[" + strings.Join(elements, ",") + "," + long + "]"
		if elements[0] == "null" && len(elements) == 1 {
			document = "[" + strings.TrimSuffix(strings.Repeat("null,", 40), ",") + "]"
		}
		indexed := decoded(t, document)
		var plain []any
		for i := range 60 {
			if v := expr.Member(indexed, fmt.Sprint(i)); v != nil || i < 40 {
				plain = append(plain, v)
			}
		}
		for _, needle := range needles {
			p, err := expr.Compile("context.v in context.l")
			if err != nil {
				t.Fatal(err)
			}
			in := func(l any) string {
				is, err := p.Bool(expr.Values{expr.Context: map[string]any{"v": decoded(t, needle), "l": l}})
				return fmt.Sprint(is, err)
			}
			if got, want := in(indexed), in(plain); got != want {
				t.Errorf("%s in %s: %s, and element by element %s", needle, document, got, want)
			}
		}
	}
}

func decoded(t *testing.T, document string) any {
	t.Helper()
	v, err := expr.Decode([]byte(document))
	if err != nil {
		t.Fatalf("%s: %v", document, err)
	}
	return v
}
