package rule_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/rule"
)

func someFacts() deadletter.Facts {
	return deadletter.Facts{Kind: model.KindLetter, Failure: failure.Report{Type: "CardDeclined", Code: "card-7",
		Message: "customer acme: card 4711 was declined", Class: failure.Logic}, Frame: "charge (card.go)",
		Handler: "charge", Source: "billing", Origin: "orders",
		Headers: []deadletter.Header{{Name: "tenant", Value: []byte("acme")}}}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		when string
		keys []string
		want string
	}{
		{`error_type == "CardDeclined"`, nil, "true []"},
		{`error_type == "Other"`, []string{"code"}, "false []"},
		{`message contains "declined" and header("tenant") == "acme"`, []string{`header("tenant")`}, "true [acme]"},
		{`message matches "card \\d+" && class == "logic"`, []string{`extract(message, "customer (\\w+)")`},
			"true [acme]"},
		{`kind == "letter" ? frame startsWith "charge" : false`, []string{`normalize(message)`, `lower(source) + "/" + origin`},
			"true [customer acme: card <n> was declined billing/orders]"},
		{`origin in ["orders", "returns"]`, []string{`len(message) > 10`, `len(code)`, `message[0:8]`},
			"true [true 6 customer]"},
		{`header("missing") == "" and not retryable and step + template + reason == ""`, []string{
			`extract(message, "declined$")`, `extract(message, "nothing")`}, "true [declined ]"},
	} {
		p, problems := rule.Compile(&deadletter.Rule{When: c.when, Keys: c.keys})
		if len(problems) > 0 {
			t.Errorf("%s: %v", c.when, problems)
			continue
		}
		f := someFacts()
		matched, keys, err := p.Decide(&f)
		if got := fmt.Sprint(matched, " ", keys); err != nil || got != c.want {
			t.Errorf("%s decides %s %v, want %s", c.when, got, err, c.want)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for when, want := range map[string]string{
		`error_type ==`:                         `/when at 1:13: `,
		"true and\n  eror_type == 1":            `/when at 2:3: unknown name eror_type`,
		`message`:                               `/when at 1:1: expected bool, but got string`,
		`message > 1`:                           `/when at 1:9: invalid operation`,
		`any([1, 2], # == 1)`:                   `/when at 1:13: an expression has no loops`,
		`let x = 1; x == 1`:                     `/when at 1:5: an expression has no variables`,
		`1 in 1..100000000`:                     `/when at 1:7: an expression has no ranges`,
		`message matches error_type`:            `/when at 1:17: a regular expression is a text in quotes`,
		`message matches "("`:                   `/when at 1:17: the regular expression is not valid`,
		`message matches "((a{100}){100}){9}"`:  `/when at 1:17: the regular expression`,
		`message matches "(abcdefgh){200}"`:     `/when at 1:17: the regular expressions have the size`,
		`repeat(message, 100000) == ""`:         `/when at 1:1: unknown name repeat`,
		`replace(message, "", message) == ""`:   `/when at 1:1: unknown name replace`,
		`{"a": 1}.a == 1`:                       `/when at 1:`,
		`now().Year() > 1`:                      `/when at 1:`,
		`$env == nil`:                           `/when at 1:1: `,
		strings.Repeat("!", 200) + "retryable":  `/when at 1:209: compilation failed: expression exceeds maximum`,
		strings.Repeat("(", 1500) + "retryable": `/when at 1:`,
		`extract(message, message) == ""`:       `/when at 1:18: a regular expression is a text in quotes`,
		`extract("a") == ""`:                    `/when at 1:`,
		`split(message, "")[0] == ""`:           `/when at 1:`,
	} {
		p, problems := rule.Compile(&deadletter.Rule{When: when})
		if p != nil || len(problems) != 1 ||
			!strings.HasPrefix(problems[0].Location+" "+problems[0].Message, want) {
			t.Errorf("%.60s is refused with %v, want %s", when, problems, want)
		}
	}
	_, problems := rule.Compile(&deadletter.Rule{When: "true", Keys: []string{"code", "[code]", "true ? 1 : code"}})
	if len(problems) != 2 || problems[0].Location != "/group_by/1" || problems[1].Location != "/group_by/2" {
		t.Errorf("keys that are no plain values: %v", problems)
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for when, want := range map[string]string{
		`1 / len(step) > 0`:                                              "false when: at 1:3: division by zero",
		`0.5 / 0.0 > 0`:                                                  "false when: at 1:5: division by zero",
		`9223372036854775807 + len(code) > 0`:                            "false when: at 1:21: the result has more than 64 bits",
		`-9223372036854775807 - len(code) < 0`:                           "false when: at 1:22: the result has more than 64 bits",
		`(len(code) + 4294967296) * 4294967296 < 1`:                      "false when: at 1:26: the result has more than 64 bits",
		`(-9223372036854775807 - 1) * (0 - 1) < 0`:                       "false when: at 1:28: the result has more than 64 bits",
		`(0 - 1) * (-9223372036854775807 - 1) < 0`:                       "false when: at 1:9: the result has more than 64 bits",
		`(len(code) - 2) * 3 + 1 == 13 and len(code) / 4 == 1.5`:         "true <nil>",
		`len(code) * 0 - 1 < 0 and code + step == code`:                  "true <nil>",
		`len(code) / 0.5 == 12 and 1.5 / len(code) < 1 and -1 * 3 == -3`: "true <nil>",
	} {
		p, problems := rule.Compile(&deadletter.Rule{When: when, Keys: []string{"len(code) + 1", "2 * len(code)"}})
		if len(problems) > 0 {
			t.Errorf("%s: %v", when, problems)
			continue
		}
		f := someFacts()
		matched, keys, err := p.Decide(&f)
		if got := fmt.Sprint(matched, " ", err); got != want || matched && fmt.Sprint(keys) != "[7 12]" {
			t.Errorf("%s decides %s %v, want %s", when, got, keys, want)
		}
	}
}

func TestFailing(t *testing.T) {
	t.Parallel()
	p, problems := rule.Compile(&deadletter.Rule{When: "true", Keys: []string{`1 % len(step)`}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	f := someFacts()
	matched, _, err := p.Decide(&f)
	if matched || err == nil || !strings.HasPrefix(err.Error(), "group_by[0]: at 1:3: ") {
		t.Errorf("decided %t, %v", matched, err)
	}
}

func BenchmarkDecide(b *testing.B) {
	p, _ := rule.Compile(&deadletter.Rule{When: `error_type == "CardDeclined" and message contains "card"`,
		Keys: []string{`header("tenant")`}})
	f := someFacts()
	for b.Loop() {
		if ok, _, err := p.Decide(&f); !ok || err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{`error_type == "a"`, `message matches "a+" ? true : header("x") in ["y"]`, `!(((1 + 2) * 3 > 4))`,
		"a\x00", `"\u0000" == "\xff"`, `message[1:][:2] == ""`, `1 / 0 > 0`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > deadletter.MaxRuleText {
			t.Skip()
		}
		p, problems := rule.Compile(&deadletter.Rule{When: s, Keys: []string{s}})
		if (p == nil) != (len(problems) > 0) {
			t.Fatalf("%q: %v, %v", s, p, problems)
		}
		if p != nil {
			facts := someFacts()
			_, _, _ = p.Decide(&facts)
		}
	})
}
