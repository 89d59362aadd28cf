package expr_test

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/model/expr"
)

const numbers = `{"big": 9223372036854775807, "min": -9223372036854775808, "zero": 0, "one": 1.0, "neg": -1,
	"huge": 123456789012345678901234567890, "huger": 123456789012345678901234567891, "account": 18446744073709551615,
	"long": 0.12345678901234567890, "price": 1.10, "out": 1e400, "none": -0, "exponent": 1E+2, "billions": 4000000000,
	"bomb": 1e999999999, "bombs": [1e999999999, 1e999999998], "beyond": 1e1234567890123456, "list": [10, 20, 30]}`

func numberOf(t *testing.T, text string) (string, error) {
	t.Helper()
	p, err := expr.Compile(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	v, err := p.Value(values(t, numbers))
	if err != nil {
		return "", err
	}
	out, err := expr.Encode(v, 1<<20)
	return string(out), err
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`context.big + 1`:                                     "9223372036854775808",
		`context.big + 1 - 1`:                                 "9223372036854775807",
		`context.big + 1 > context.big`:                       "true",
		`context.min - 1`:                                     "-9223372036854775809",
		`-context.min`:                                        "9223372036854775808",
		`context.min * context.neg`:                           "9223372036854775808",
		`context.neg * context.min`:                           "9223372036854775808",
		`context.min / context.neg`:                           "9223372036854775808",
		`context.min % context.neg`:                           "0",
		`context.big * context.big`:                           "85070591730234615847396907784232501249",
		`context.billions * context.billions > 1000000`:       "true",
		`context.huge == context.huger`:                       "false",
		`context.huge < context.huger`:                        "true",
		`context.huge == 123456789012345678901234567890`:      "true",
		`context.huge == 1.2345678901234567890123456789e29`:   "true",
		`context.huge in [123456789012345678901234567891]`:    "false",
		`context.account == 0xFFFF_FFFF_FFFF_FFFF`:            "true",
		`-9223372036854775808 == context.min`:                 "true",
		`9007199254740993.0 == 9007199254740993`:              "true",
		`9007199254740993 == 9007199254740992.0`:              "false",
		`context.big == 9223372036854775807.0`:                "true",
		`0.1 + 0.2`:                                           "0.3",
		`0.1 + 0.2 == 0.3`:                                    "true",
		`context.price * 3`:                                   "3.3",
		`context.price == 1.1`:                                "true",
		`7 / 2`:                                               "3.5",
		`6 / 3`:                                               "2",
		`1 / 3`:                                               "0.3333333333333333333333333333333333",
		`-2 / 3`:                                              "-0.6666666666666666666666666666666667",
		`context.huge * 1000000000000 / 7`:                    "17636684144620811271604938270000000000000",
		`context.huge * 1000000000001 / 7`:                    "17636684144638447955749559081271604938270",
		`7 % 3`:                                               "1",
		`-7 % 3`:                                              "-1",
		`7.0 % 3`:                                             "1",
		`context.huge % 1000`:                                 "890",
		`1e3 + 1`:                                             "1001",
		`1_000.5 + .5`:                                        "1001",
		`context.none == 0`:                                   "true",
		`context.none < 0`:                                    "false",
		`context.exponent == 100`:                             "true",
		`context.out == context.out`:                          "true",
		`context.out > context.huge`:                          "true",
		`-context.out < context.min`:                          "true",
		`context.bomb > context.out`:                          "true",
		`context.bomb == context.bomb`:                        "true",
		`context.bombs[0] == context.bombs[1]`:                "false",
		`context.bombs == [1e999999999, 10e999999997]`:        "true",
		`context.list[context.one]`:                           "20",
		`context.list[4 / 2]`:                                 "30",
		`context.list[0.5]`:                                   "null",
		`context.list[18446744073709551616]`:                  "null",
		`+context.price`:                                      "1.10",
		`[context.price, context.long, 1.50, 1e2, 0x10, 007]`: "[1.10,0.12345678901234567890,1.50,1e2,16,7]",
	} {
		if got, err := numberOf(t, text); err != nil || got != want {
			t.Errorf("%s is %s %v, want %s", text, got, err, want)
		}
	}
}

func TestNumberErrors(t *testing.T) {
	t.Parallel()
	began := time.Now()
	for text, want := range map[string]string{
		`7 / context.zero`:                          "at 1:3: division by zero",
		`7 / 0`:                                     "at 1:3: division by zero",
		`context.zero / 0.0`:                        "at 1:14: division by zero",
		`7 % context.none`:                          "at 1:3: division by zero",
		`7 % 2.5`:                                   "at 1:3: % takes whole numbers",
		`context.bomb + 1`:                          "at 1:14: the number is too large or too exact",
		`context.bomb * context.bomb`:               "the number is too large or too exact",
		`1 / context.bomb`:                          "the number is too large or too exact",
		`1e-999999999 / 3`:                          "the number is too large or too exact",
		`-context.bomb`:                             "the number is too large or too exact",
		`1e600 * 1e600`:                             "the number is too large or too exact",
		`1e-600 * 1e-600`:                           "the number is too large or too exact",
		`1e-600 / 1e600 / 3`:                        "the number is too large or too exact",
		`1e-990 / 3`:                                "the number is too large or too exact",
		`context.beyond == context.beyond`:          "the exponent of a number has more than 15 digits",
		`context.beyond < 1`:                        "the exponent of a number has more than 15 digits",
		`context.price + "1"`:                       "invalid operation: number + string",
		`-context.list`:                             "invalid operation: - list",
		`context.list < context.list`:               "invalid operation: list < list",
		`context.bomb % 7`:                          "the number is too large or too exact",
		strings.Repeat("1e500 * ", 90) + "1":        "the number is too large or too exact",
		"1" + strings.Repeat("0", 999) + " * 10":    "the number is too large or too exact",
		"0." + strings.Repeat("0", 999) + "1 * 0.1": "the number is too large or too exact",
	} {
		if len(text) > expr.MaxLength {
			t.Fatal("the expression is too long")
		}
		if got, err := numberOf(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s is %s %v, want %s", text, got, err, want)
		}
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
	for text, want := range map[string]string{
		`-"a"`:                `at 1:1: invalid operation: - string`,
		`1 - "a"`:             `at 1:3: invalid operation: - (mismatched types number and string)`,
		`null < 1`:            `at 1:6: invalid operation: < (mismatched types null and number)`,
		`context.a * [1]`:     `at 1:11: invalid operation: * (mismatched types any value and list)`,
		`1 contains 2`:        `at 1:3: invalid operation: contains (mismatched types number and number)`,
		`"a" + context.a < 1`: `at 1:17: invalid operation: < (mismatched types string and number)`,
		`1e == 1`:             `at 1:4: invalid float literal`,
		`0xZ == 1`:            `at 1:`,
	} {
		p, err := expr.Compile(text)
		if err == nil { // the sign is checked at run time
			_, err = p.Value(expr.Values{})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestPassedOn(t *testing.T) {
	t.Parallel()
	for _, part := range []string{`18446744073709551615`, `0.12345678901234567890`, `1.10`, `1e400`, `-0`, `1E+2`,
		`1e99999999999999999999`, `"\u00e4 \/ <&> \ud800"`, "\"\u2028\"", `"plain <b>"`, `[ 1 , 2.0]`, `[]`, `{ }`, `[ ]`,
		`{"b": 1.0, "a": {"x": [1e400, "\u0041"]}}`, `{"a": 1, "\u0061": 2}`, `true`, `null`, `-1.5e-7`,
		`{"$tasker.codec": "x", "data":"AA\u003d="}`} {
		for text, document := range map[string]string{
			`context`: part, `context.a`: `{"a": ` + part + ` , "b": 1}`, `context["a"][1]`: `{"a": [0, ` + part + "]}",
			`context.none ?? context.a`: `{"a":` + part + `}`, `parents.x.result ?? context`: part,
		} {
			p, err := expr.Compile(text)
			if err != nil {
				t.Fatal(err)
			}
			v, err := p.Value(values(t, document))
			if err != nil {
				t.Errorf("%s of %s: %v", text, document, err)
				continue
			}
			if got, err := expr.Encode(v, 1000); err != nil || string(got) != part {
				t.Errorf("%s of %s is %s %v, want %s", text, document, got, err, part)
			}
		}
	}
	if v, err := expr.Decode([]byte(" \n")); v != nil || err != nil {
		t.Errorf("nothing is %v %v", v, err)
	}
	for _, bad := range []string{`{"a":}`, `1 2`, `[`} {
		if _, err := expr.Decode([]byte(bad)); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
}

func TestNumberProperties(t *testing.T) {
	t.Parallel()
	programs := map[string]*expr.Program{}
	for _, operator := range []string{"+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!="} {
		var err error
		if programs[operator], err = expr.Compile("context[0] " + operator + " context[1]"); err != nil {
			t.Fatal(err)
		}
	}
	number := rapid.OneOf(rapid.StringMatching(`-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?`),
		rapid.StringMatching(`-?(0|[1-9]|922337203685477580[78]|4294967296|1844674407370955161[56])`))
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		context, err := expr.Decode([]byte("[" + a + "," + b + "]"))
		if err != nil {
			t.Fatal(err)
		}
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		for operator, p := range programs {
			v, err := p.Value(expr.Values{expr.Context: context})
			if strings.Contains("/%", operator) && (y.Sign() == 0 || operator == "%" && !(x.IsInt() && y.IsInt())) {
				if err == nil {
					t.Fatalf("%s %s %s is %v", a, operator, b, v)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s %s %s: %v", a, operator, b, err)
			}
			out, _ := expr.Encode(v, 10_000)
			if !json.Valid(out) || !holds(string(out), operator, x, y) {
				t.Fatalf("%s %s %s is %s", a, operator, b, out)
			}
		}
	})
}

func holds(out, operator string, x, y *big.Rat) bool {
	order, want := x.Cmp(y), new(big.Rat)
	switch operator {
	case "<":
		return out == map[bool]string{true: "true", false: "false"}[order < 0]
	case "<=":
		return out == map[bool]string{true: "true", false: "false"}[order <= 0]
	case ">":
		return out == map[bool]string{true: "true", false: "false"}[order > 0]
	case ">=":
		return out == map[bool]string{true: "true", false: "false"}[order >= 0]
	case "==":
		return out == map[bool]string{true: "true", false: "false"}[order == 0]
	case "!=":
		return out == map[bool]string{true: "true", false: "false"}[order != 0]
	case "+":
		want.Add(x, y)
	case "-":
		want.Sub(x, y)
	case "*":
		want.Mul(x, y)
	case "/":
		want.Quo(x, y)
	case "%":
		want.SetInt(new(big.Int).Rem(x.Num(), y.Num()))
	}
	got, ok := new(big.Rat).SetString(out)
	if !ok {
		return false
	}
	if operator != "/" || got.Cmp(want) == 0 {
		return got.Cmp(want) == 0
	}
	// rounded: at most half a unit of the last of 34 digits
	off := new(big.Rat).Sub(got, want)
	bound := new(big.Rat).Mul(off.Abs(off), new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(33), nil)))
	return bound.Cmp(new(big.Rat).Abs(want)) <= 0
}
