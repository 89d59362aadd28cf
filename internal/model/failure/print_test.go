package failure_test

import (
	"bytes"

	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/model/failure"
)

func TestNormalise(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ message, want string }{
		{"", ""},
		{"connection refused", "connection refused"},
		{"order 4711 not found", "order <n> not found"},
		{"exit status -1", "exit status <n>"},
		{"took 1,234.5 ms of 1e-9", "took <n> ms of <n>"},
		{"timeout after 1m30.5s, not 250ms", "timeout after <n>, not <n>"},
		{"1.2.3 is not 1.4", "<n> is not <n>"},
		{"user42 of step-3 in E42", "user<n> of step-<n> in E<n>"},
		{"task 01a1fe28-4fcd-7000-a47a-b069f9c030a4 is gone", "task <uuid> is gone"},
		{"commit 3f2a9b8c7d: no", "commit <hex>: no"},
		{"at 0xc000123456", "at <hex>"},
		{"key ord8fJ2kQ9z expired", "key <id> expired"},
		{`column "email" of 'users' and` + " `x` and “y”", "column <str> of <str> and <str> and <str>"},
		{`value "a \"quoted\" b" is bad`, "value <str> is bad"},
		{"can't find Bob's hat", "can't find Bob's hat"},
		{`an "open quote`, `an "open quote`},
		{"at 2024-01-02T03:04:05.123Z and 2024-01-02 03:04:05+01:00", "at <time> and <time>"},
		{"on 2024-01-02, 3:04", "on <time>, <time>"},
		{"dial tcp 10.0.0.1:5432: refused", "dial tcp <addr>: refused"},
		{"from fe80::1 or [::1]:80 or 00:1b:44:11:3a:b7", "from <addr> or [<addr>]:<n> or <addr>"},
		{"std::vector of abc::def", "std::vector of abc::def"},
		{"lookup db.internal:5432 and localhost:6379", "lookup <addr> and <addr>"},
		{"status:500 in main.go:42", "status:<n> in main.go:<n>"},
		{"mail to ann.b@example.com bounced", "mail to <addr> bounced"},
		{"GET https://example.com/a?b=1: 503", "GET <addr>: <n>"},
		{"open /tmp/x-1.txt: no such file", "open <path>: no such file"},
		{`open C:\Users\ann\x.txt, then ../y and ~/z.`, "open <path>, then <path> and <path>."},
		{"read and/or write a/b", "read and/or write a/b"},
		{"panic at /app/main.go:12:3", "panic at <path>"},
		{"  \n first\nsecond", "first"},
		{"\x1b[31mred\x1b[0m\tand\x00bell\a", "red and bell"},
		{"bad \xff byte", "bad \uFFFD byte"},
		{"number ٣٤ here", "number <n> here"},
		{"left\u202eright", "leftright"},
	} {
		if got := failure.Normalise(c.message); got != c.want {
			t.Errorf("%q became %q, want %q", c.message, got, c.want)
		}
	}
}

func checkPrint(t interface{ Fatalf(string, ...any) }, r failure.Report, stack, where string) {
	p := failure.PrintOf(r, stack, where)
	for name, part := range map[string]string{"type": p.Type, "message": p.Message, "frame": p.Frame, "where": p.Where,
		"title": p.Title()} {
		if len(part) > 240 || name != "title" && len(part) > 200 || !utf8.ValidString(part) ||
			strings.ContainsFunc(part, unicode.IsControl) {
			t.Fatalf("the %s %q is not one line of 200 bytes", name, part)
		}
	}
	if again := failure.PrintOf(failure.Report{Message: p.Message}, "", ""); again.Message != p.Message {
		t.Fatalf("%q becomes %q when it is normalised again", p.Message, again.Message)
	}
	if p.Version == 1 && strings.ContainsAny(p.Message, "0123456789") {
		t.Fatalf("%q has a digit", p.Message)
	}
	one := failure.Normalise(r.Message)
	if again := failure.Normalise(one); again != one {
		t.Fatalf("%q becomes %q when it is normalised again", one, again)
	}
	if other := failure.Normalise(strings.Map(turn, r.Message)); other != one {
		t.Fatalf("with other digits %q is %q", one, other)
	}
	for _, part := range p.Why(r, stack, where) {
		if len(part.From) > 200 || !utf8.ValidString(part.From) {
			t.Fatalf("%s is from %q", part.Name, part.From)
		}
	}
}

// turn replaces a digit by another one, except 0, which begins a hexadecimal number.
func turn(r rune) rune {
	if '1' <= r && r <= '9' {
		return '1' + (r-'1'+3)%9
	}
	return r
}

func TestPrintOfAnything(t *testing.T) {
	t.Parallel()
	alphabet := []rune("ab0123 9xT:.-/\\\"'`<>n@_()[]~,;=+é“”٣\n\t\x00\x1b[mZ")
	texts := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom(alphabet)),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	rapid.Check(t, func(t *rapid.T) {
		checkPrint(t, failure.Report{Type: texts.Draw(t, "type"), Code: texts.Draw(t, "code"),
			Message: texts.Draw(t, "message")}, texts.Draw(t, "stack"), texts.Draw(t, "where"))
	})
}

func TestPrintForgetsNumbers(t *testing.T) {
	t.Parallel()
	words, numbers := rapid.StringMatching(`[a-z]{1,8}`), rapid.StringMatching(`-?[0-9]{1,12}(\.[0-9]{1,3})?`)
	rapid.Check(t, func(t *rapid.T) {
		before, after := words.Draw(t, "before"), words.Draw(t, "after")
		of := func(number string) string { return failure.Normalise(before + " " + number + " " + after) }
		if a, b := of(numbers.Draw(t, "one")), of(numbers.Draw(t, "other")); a != b || a != before+" <n> "+after {
			t.Fatalf("%q and %q", a, b)
		}
	})
}

func FuzzPrint(f *testing.F) {
	f.Add("TypeError", "", "x is not a function at 12", "    at f (/app/a.js:1:2)", "mail")
	f.Add("", "E42", "\x1b[31m10.0.0.1:80 \xff", "  File \"/app/a.py\", line 3, in f", "")
	f.Fuzz(func(t *testing.T, kind, code, message, stack, where string) {
		checkPrint(t, failure.Report{Type: kind, Code: code, Message: message}, stack, where)
	})
}

func TestPrintIsQuickOnHugeTexts(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"Zeros": strings.Repeat("\x00", 10<<20),
		"Quotes": strings.Repeat(`"`, 10<<20),
		"NoUTF8": strings.Repeat("\xff", 10<<20), "Frames": strings.Repeat("at a.b(c)\n", 1<<20),
		"Python": strings.Repeat("  File \"a\", line 1, in f\n", 1<<19), "Slashes": strings.Repeat("/a:1", 10<<18),
		"Dots": strings.Repeat("a.", 5<<20), "Colons": strings.Repeat("a:", 5<<20),
		"Escapes": strings.Repeat("\x1b[", 5<<20)} {
		best := time.Hour
		for range 5 { // the machine may be busy
			start := time.Now()
			failure.PrintOf(failure.Report{Type: text, Message: text}, text, text)
			best = min(best, time.Since(start))
		}
		if best > 10*time.Millisecond {
			t.Errorf("%s: %s", name, best)
		}
	}
}

var traces = map[string]string{
	"Go": "goroutine 7 [running]:\nruntime/debug.Stack()\n\t/usr/local/go/src/runtime/debug/stack.go:24 +0x65\n" +
		"panic({0x1, 0x2})\n\t/usr/local/go/src/runtime/panic.go:884 +0x212\n" +
		"github.com/acme/lib.Do(0x1)\n\t/root/go/pkg/mod/github.com/acme/lib@v1.2.3/do.go:3 +0x1\n" +
		"github.com/acme/shop/mail.(*Sender).Send.func1({0xc000, 0x3})\n\t/app/mail/send.go:42 +0x1d\n",
	"Python": "Traceback (most recent call last):\n  File \"/app/run.py\", line 3, in main\n    f()\n" +
		"  File \"/app/mail/send.py\", line 42, in send\n    x()\n" +
		"  File \"/usr/lib/python3.11/site-packages/requests/api.py\", line 59, in request\n    y()\nValueError: no\n",
	"Java": "java.lang.IllegalStateException: no\n\tat java.base/java.util.Objects.check(Objects.java:385)\n" +
		"\tat org.springframework.web.Filter.run(Filter.java:1)\n" +
		"\tat com.acme.mail.Sender.lambda$send$3(Sender.java:42)\n\tat com.acme.Main.main(Main.java:1)\n",
	"JavaScript": "TypeError: x is not a function\n    at Object.get (/app/node_modules/lib/index.js:1:2)\n" +
		"    at node:internal/process/task_queues:95:5\n    at async Sender.send (/app/src/mail.js:42:7)\n",
	"Ruby": "/usr/lib/ruby/3.0/net/http.rb:987:in `initialize'\n" +
		"\tfrom /app/vendor/gems/x.rb:1:in `y'\n\tfrom /app/lib/mail.rb:42:in `block in send'\n",
	"DotNet": "System.InvalidOperationException: no\n   at System.Linq.Enumerable.First[T](IEnumerable`1 s)\n" +
		"   at Acme.Mail.Sender.<Send>d__3.MoveNext() in C:\\src\\Sender.cs:line 42\n",
}

func TestFrames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Go":         "mail.(*Sender).Send.func (send.go)",
		"Python":     "send (send.py)",
		"Java":       "com.acme.mail.Sender.lambda$send (Sender.java)",
		"JavaScript": "Sender.send (mail.js)",
		"Ruby":       "send (mail.rb)",
		"DotNet":     "Acme.Mail.Sender.<Send>d__.MoveNext (Sender.cs)",
	} {
		stack := traces[name]
		if got := failure.PrintOf(failure.Report{}, stack, "").Frame; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		other := strings.ReplaceAll(strings.ReplaceAll(stack, "42", "1042"), "0xc000", "0xbeef12")
		if got := failure.PrintOf(failure.Report{}, other, "").Frame; got != want {
			t.Errorf("%s, with other lines: %q, want %q", name, got, want)
		}
		crlf := strings.ReplaceAll(stack, "\n", "\r\n")
		if got := failure.PrintOf(failure.Report{}, crlf, "").Frame; got != want {
			t.Errorf("%s, with CRLF: %q, want %q", name, got, want)
		}
	}
}

func TestPrintKey(t *testing.T) {
	t.Parallel()
	a := failure.Print{Version: 1, Type: "a", Message: "b 1:c", Where: "w"}
	b := failure.Print{Version: 1, Type: "a 5:b", Message: "c", Where: "w"}
	if a.Key() == b.Key() || a.Key() != "v1 5:print 1:a 5:b 1:c 0: 1:w" {
		t.Errorf("%q and %q", a.Key(), b.Key())
	}
	ruled, same := a.Ruled("mail", 2, []string{"acme"}, "one title"), b.Ruled("mail", 2, []string{"acme"}, "another")
	if ruled.Key() != same.Key() || ruled.Key() == a.Key() {
		t.Errorf("by a rule: %q and %q", ruled.Key(), same.Key())
	}
	for _, other := range []failure.Print{a.Ruled("mail", 3, []string{"acme"}, ""), a.Ruled("mail", 2, []string{"b"}, ""),
		a.Ruled("mai", 2, []string{"acme"}, ""), a.Ruled("mail", 2, []string{"acme", ""}, ""),
		a.Ruled("mail", 2, []string{"ac", "me"}, "")} {
		if other.Key() == ruled.Key() {
			t.Errorf("%+v has the key of %+v", other, ruled)
		}
	}
}

func TestPrintRuled(t *testing.T) {
	t.Parallel()
	p := failure.PrintOf(failure.Report{Type: "E"}, "", "mail").Ruled("tenant", 4,
		[]string{"a\nb\x00\x1b[31m", strings.Repeat("x", 1000)}, "")
	if keys := p.Keys(); len(keys) != 2 || strings.ContainsAny(p.RuleKeys, "\x00\x1b") || len(keys[1]) > 200 {
		t.Errorf("the keys are %q", keys)
	}
	if title := p.Title(); !strings.HasPrefix(title, "tenant: a b") || len(title) > 240 {
		t.Errorf("the title is %q", title)
	}
	if why := p.Why(failure.Report{}, "", ""); len(why) != 3 || why[0].Value != "tenant version 4" || why[1].Name != "key" {
		t.Errorf("why: %v", why)
	}
	if p = p.Ruled("tenant", 4, nil, "Tenants\nare down"); p.Title() != "Tenants are down" {
		t.Errorf("the title is %q", p.Title())
	}
}

func TestPrintTitleAndWhy(t *testing.T) {
	t.Parallel()
	r := failure.Report{Type: "ValueError", Message: "order 5 is bad\nmore"}
	p := failure.PrintOf(r, traces["Python"], "mail")
	if p.Title() != "ValueError: order <n> is bad" || p.Version != 1 {
		t.Errorf("the title is %q", p.Title())
	}
	want := []failure.Part{{"type", "ValueError", "ValueError"}, {"message", "order <n> is bad", "order 5 is bad"},
		{"frame", "send (send.py)", `File "/app/mail/send.py", line 42, in send`}, {"where", "mail", "mail"}}
	for i, part := range p.Why(r, traces["Python"], "mail") {
		if part != want[i] {
			t.Errorf("part %d is %+v, want %+v", i, part, want[i])
		}
	}
	for want, p := range map[string]failure.Print{"(nothing is known)": {}, "E": {Type: "E"},
		"m": {Type: "error", Message: "m"},
		"f": {Frame: "f"}, "r": {Rule: "r"}} {
		if p.Title() != want {
			t.Errorf("the title of %+v is %q", p, p.Title())
		}
	}
}

func BenchmarkPrint(b *testing.B) {
	r := failure.Report{Type: "ConnectionError", Message: "dial tcp 10.0.0.1:5432: task " +
		`01a1fe28-4fcd-7000-a47a-b069f9c030a4 of "mail" failed after 1m30s at 2024-01-02T03:04:05Z in /app/x.go:12`}
	stack := string(
		bytes.Repeat([]byte("goroutine 7 [running]:\nruntime.main()\n\t/usr/local/go/src/runtime/x.go:2 +0x1\n"),
			10)) + traces["Go"]
	b.ReportAllocs()
	for range b.N {
		failure.PrintOf(r, stack, "mail")
	}
}
