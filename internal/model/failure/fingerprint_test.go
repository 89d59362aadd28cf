package failure_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/model/failure"
)

func TestFingerprint(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of   failure.Report
		want string
	}{
		"Nothing":     {failure.Report{}, ""},
		"Code":        {failure.Report{Code: "DB_DOWN", Type: "ConnectionError", Message: "no"}, "DB_DOWN"},
		"CodeOfPanic": {failure.Report{Code: "DB_DOWN", Type: "panic", Message: "no"}, "DB_DOWN"},
		"CodeIsKept":  {failure.Report{Code: "E42"}, "E42"},
		"Type":        {failure.Report{Type: "ConnectionError", Message: "no"}, "ConnectionError"},
		"PlainError":  {failure.Report{Type: "error", Message: "order 4711 of a9f3-22: no stock"}, "order # of #: no stock"},
		"UUID":        {failure.Report{Message: "task 01a1fe28-4fcd-7000-a47a-b069f9c030a4 not found"}, "task # not found"},
		"OneLine":     {failure.Report{Message: " first\nsecond 2"}, "first"},
		"Panic": {failure.Report{Type: "panic", Message: "index 5 out of range [3]"},
			"panic: index # out of range [#]"},
		"Punctuation": {failure.Report{Message: "10.0.0.1:5432 – refused"}, "#.#.#.#:# – refused"},
		"Unseen":      {failure.Report{Code: "a\x00b\t"}, "a b"},
		"NoUTF8":      {failure.Report{Message: "ok \xc3"}, "ok \uFFFD"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := failure.Fingerprint(c.of); got != c.want {
				t.Errorf("the fingerprint is %q, want %q", got, c.want)
			}
		})
	}
}

func TestFingerprintIsBounded(t *testing.T) {
	t.Parallel()
	const mark = "…[truncated]"
	long, fits := strings.Repeat("x", 121), strings.Repeat("x", 120)
	for name, of := range map[string]func(text string) failure.Report{
		"Code":    func(s string) failure.Report { return failure.Report{Code: s} },
		"Type":    func(s string) failure.Report { return failure.Report{Type: s} },
		"Message": func(s string) failure.Report { return failure.Report{Message: s} },
	} {
		if got := failure.Fingerprint(of(fits)); got != fits {
			t.Errorf("%s: 120 bytes became %q", name, got)
		}
		if got, want := failure.Fingerprint(of(long)), long[:120-len(mark)]+mark; got != want {
			t.Errorf("%s: 121 bytes became %q, want %q", name, got, want)
		}
	}
	if got := failure.Fingerprint(failure.Report{Type: "panic", Message: fits}); len(got) != 120 ||
		!strings.HasPrefix(got, "panic: xxx") {
		t.Errorf("a long panic became %q", got)
	}
}

func TestFingerprintOfAnything(t *testing.T) {
	t.Parallel()
	texts := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.RuneFrom([]rune("a1-_ :.\n\t\x00äÄ²٣é🚀\u2028"))),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	rapid.Check(t, func(t *rapid.T) {
		r := failure.Report{Type: rapid.OneOf(rapid.SampledFrom([]string{"", "error", "panic"}), texts).Draw(t, "type"),
			Code: rapid.OneOf(rapid.Just(""), texts).Draw(t, "code"), Message: texts.Draw(t, "message")}
		got := failure.Fingerprint(r)
		if len(got) > 120 || !utf8.ValidString(got) || strings.ContainsFunc(got, unicode.IsControl) {
			t.Fatalf("%q is not one line of 120 bytes", got)
		}
		r.Class, r.Retryable = failure.Worker, !r.Retryable
		if again := failure.Fingerprint(r); again != got {
			t.Fatalf("with a class it is %q, without %q", again, got)
		}
		plain := failure.Fingerprint(failure.Report{Message: r.Message})
		if strings.ContainsAny(plain, "0123456789") {
			t.Fatalf("%q has a digit", plain)
		}
		if again := failure.Fingerprint(failure.Report{Message: plain}); again != plain {
			t.Fatalf("the fingerprint of %q is %q", plain, again)
		}
	})
}

func TestFingerprintForgetsNumbers(t *testing.T) {
	t.Parallel()
	words, numbers := rapid.StringMatching(`[a-z]{1,8}`), rapid.StringMatching(`[a-f-]{0,3}[0-9]{1,9}[a-f_-]{0,3}`)
	rapid.Check(t, func(t *rapid.T) {
		before, after := words.Draw(t, "before"), words.Draw(t, "after")
		of := func(number string) string {
			return failure.Fingerprint(failure.Report{Message: before + " " + number + ": " + after})
		}
		if a, b := of(numbers.Draw(t, "one")), of(numbers.Draw(t, "other")); a != b || a != before+" #: "+after {
			t.Fatalf("%q and %q", a, b)
		}
	})
}
