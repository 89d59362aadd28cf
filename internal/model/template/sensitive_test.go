package template_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/model/template"
)

func TestSensitiveKeys(t *testing.T) {
	t.Parallel()
	for text, bad := range map[string]bool{
		`concurrency: {key: "{{card.number}}", limit: 1}`:           true,
		`concurrency: {key: "{{card}}", limit: 1}`:                  true,
		`rate_limit: {key: "{{card.number.x}}", limit: 1, per: 1s}`: true,
		`concurrency: {key: "{{card.bank}}", limit: 1}`:             false,
	} {
		_, err := template.Parse("a.yaml", []byte("name: a\nversion: \"1\"\nsensitive: [/card/number]\n"+text+
			"\nsteps: [{name: s, handler: h}]\n"), nil)
		if (err != nil) != bad {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestSensitive(t *testing.T) {
	t.Parallel()
	document := func(sensitive string) []byte {
		return []byte("name: pay\nversion: \"1\"\nsensitive: " + sensitive + "\nsteps: [{name: a, handler: a}]\n")
	}
	one, err := template.Parse("pay.yaml", document(`[/b, "/a/*/pin", /b]`), nil)
	if err != nil || !slices.Equal(one.Sensitive, []string{"/a/*/pin", "/b"}) {
		t.Fatalf("%v: %+v", err, one)
	}
	other, err := template.Parse("pay.yaml", document(`["/a/*/pin", /b]`), nil)
	if err != nil || other.Fingerprint != one.Fingerprint {
		t.Errorf("another order is another content: %v", err)
	}
	for text, want := range map[string]string{
		`[/a, b]`:                                "pay.yaml:3:17",
		`[/~2]`:                                  "pay.yaml:3:13",
		`[3]`:                                    "must be a string",
		`{}`:                                     "must be a list",
		`["/\x01"]`:                              "control characters",
		"[" + strings.Repeat("/a, ", 64) + "/b]": "at most 64 pointers",
	} {
		if _, err := template.Parse("pay.yaml", document(text), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is answered %v, want %s", text, err, want)
		}
	}
}
