package vault_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/kit/sensitive"
	"github.com/taskerhq/tasker/internal/kit/vault"
)

var here = vault.Place{Kind: vault.Context, ID: "task-1"}

func ring(t testing.TB, lines ...string) *vault.Ring {
	t.Helper()
	r, err := vault.Parse(strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func sealed(t testing.TB, r *vault.Ring, doc string, pointers ...string) []byte {
	t.Helper()
	out, err := r.Seal(sensitive.Lenient(pointers), []byte(doc), false, here)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSealed: selected values leave the document and come back to the byte; the rest stays.
func TestSealed(t *testing.T) {
	t.Parallel()
	r := ring(t, vault.Generate("a"))
	const doc = `{"card" : "4111", "n":12345678901234567890,"lines":[{"pin":1},{"pin":null}],"x":{"y":"plain"}}`
	out := sealed(t, r, doc, "/card", "/lines/*/pin")
	if !json.Valid(out) || bytes.Contains(out, []byte("4111")) || !bytes.Contains(out, []byte("plain")) ||
		!bytes.Contains(out, []byte("12345678901234567890")) || bytes.Count(out, []byte(vault.Prefix+"a:")) != 2 {
		t.Errorf("%s is sealed to %s", doc, out)
	}
	if back, err := r.Open(out, here); err != nil || string(back) != doc {
		t.Errorf("%s is opened to %s, %v", out, back, err)
	}
	if again := sealed(t, r, doc, "/card"); bytes.Equal(again, sealed(t, r, doc, "/card")) {
		t.Error("two encryptions of one document are equal")
	}
}

// TestMoved: a value is bound to its object, its document and its pointer.
func TestMoved(t *testing.T) {
	t.Parallel()
	r := ring(t, vault.Generate("a"))
	out := sealed(t, r, `{"card":"4111","pin":"22"}`, "/card", "/pin")
	for _, at := range []vault.Place{{Kind: vault.Context, ID: "task-2"}, {Kind: vault.Result, ID: "task-1"}} {
		if back, err := r.Open(out, at); err == nil {
			t.Errorf("moved to %v, it is opened to %s", at, back)
		}
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatal(err)
	}
	moved := fmt.Sprintf(`{"card":%s,"pin":%s}`, m["pin"], m["card"])
	if back, err := r.Open([]byte(moved), here); err == nil {
		t.Errorf("swapped, it is opened to %s", back)
	}
	if lenient := r.OpenLenient([]byte(moved), here); string(lenient) != `{"card":"[masked]","pin":"[masked]"}` {
		t.Errorf("looked at, it is %s", lenient)
	}
	flipped := bytes.Replace(out, m["card"][30:34], []byte("AAAA"), 1)
	if back, err := r.Open(flipped, here); err == nil && !bytes.Equal(flipped, out) {
		t.Errorf("changed, it is opened to %s", back)
	}
}

// TestRotation: the first key encrypts, all decrypt, and a missing one is named.
func TestRotation(t *testing.T) {
	t.Parallel()
	a, b := vault.Generate("a"), vault.Generate("b")
	before := sealed(t, ring(t, a), `{"card":"4111"}`, "/card")
	both := ring(t, b, a)
	if back, err := both.Open(before, here); err != nil || string(back) != `{"card":"4111"}` {
		t.Errorf("with both keys: %s, %v", back, err)
	}
	after := sealed(t, both, `{"card":"4111"}`, "/card")
	var missing *vault.MissingKeyError
	if _, err := ring(t, a).Open(after, here); !errors.As(err, &missing) || missing.ID != "b" {
		t.Errorf("without the new key: %v", err)
	}
	other := ring(t, vault.Generate("a"))
	if _, err := other.Open(before, here); err == nil || errors.As(err, &missing) {
		t.Errorf("with another key of the same ID: %v", err)
	}
	if x, y := ring(t, a).Checks()["a"], other.Checks()["a"]; x == y || len(x) != 16 {
		t.Errorf("the check values are %s and %s", x, y)
	}
}

// TestBounded: many values become one, so that a document's growth is bounded.
func TestBounded(t *testing.T) {
	t.Parallel()
	r := ring(t, vault.Generate("a"))
	doc := "[1" + strings.Repeat(",1", 200_000) + "]"
	out := sealed(t, r, doc, "/*")
	if len(out) > 2*len(doc) || out[0] != '"' {
		t.Errorf("%d bytes become %d", len(doc), len(out))
	}
	if back, err := r.Open(out, here); err != nil || string(back) != doc {
		t.Errorf("opened: %d bytes, %v", len(back), err)
	}
	doc = "[1" + strings.Repeat(",1", vault.MaxValues-1) + "]"
	if out = sealed(t, r, doc, "/*"); len(out) > len(doc)+vault.MaxValues*100 || out[0] != '[' {
		t.Errorf("%d bytes become %d", len(doc), len(out))
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	good := vault.Generate("k-1")
	secret := strings.Fields(good)[1]
	for text, want := range map[string]string{
		"# keys\n\n " + good + " \n":        "",
		"":                                  "no key",
		good + "\n" + vault.Generate("k-1"): "line 2: there is",
		"K " + secret:                       "line 1: an ID",
		"-k " + secret:                      "line 1: an ID",
		"k " + secret[:20]:                  "line 1: the key",
		"k " + base64.StdEncoding.EncodeToString(make([]byte, 16)): "line 1: the key",
		"k":                                  "line 1: a key is",
		strings.Repeat("#\n", vault.MaxText): "the limit",
	} {
		r, err := vault.Parse(text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), secret[:16]) {
			t.Errorf("the error shows the key: %v", err)
		}
		for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
			if r != nil && strings.Contains(fmt.Sprintf(format, r), secret[:16]) {
				t.Errorf("%s shows the key", format)
			}
		}
	}
}

// TestRoundTrip: any document comes back to the byte, even if it looks like an encrypted value.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	r := ring(t, vault.Generate("a"))
	rapid.Check(t, func(t *rapid.T) {
		doc, err := json.Marshal(value(t, 4))
		if err != nil {
			t.Fatal(err)
		}
		segment := rapid.SampledFrom([]string{"a", "b~1", "0", "*"})
		pointers := rapid.SliceOfN(rapid.Map(rapid.SliceOfN(segment, 0, 3), func(s []string) string {
			return strings.Join(append([]string{""}, s...), "/")
		}), 0, 3).Draw(t, "pointers")
		anywhere := rapid.Bool().Draw(t, "anywhere")
		set := sensitive.Lenient(pointers)
		out, err := r.Seal(set, doc, anywhere, here)
		if err != nil || !json.Valid(out) {
			t.Fatalf("%s is sealed to %s, %v", doc, out, err)
		}
		masked, _ := set.Document(doc)
		if anywhere {
			masked, _ = set.Anywhere(doc)
		}
		if !bytes.Contains(masked, []byte("secret")) && bytes.Contains(out, []byte("secret")) {
			t.Fatalf("%s with %q shows what is masked in %s", out, pointers, masked)
		}
		if back, err := r.Open(out, here); err != nil || !bytes.Equal(back, doc) {
			t.Fatalf("%s comes back as %s, %v", doc, back, err)
		}
	})
}

func value(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 4).Draw(t, "kind")
	if depth == 0 {
		kind %= 3
	}
	switch kind {
	case 0:
		return rapid.Int().Draw(t, "number")
	case 1:
		return rapid.SampledFrom([]string{"", "secret", vault.Prefix, vault.Prefix + "a:AAAA", `\` + vault.Prefix,
			`"` + vault.Prefix + "x"}).Draw(t, "text")
	case 2:
		return nil
	case 3:
		list := make([]any, rapid.IntRange(0, 3).Draw(t, "length"))
		for i := range list {
			list[i] = value(t, depth-1)
		}
		return list
	}
	object := map[string]any{}
	for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b/", vault.Prefix, "0"}), 0, 3).Draw(t, "names") {
		object[name] = value(t, depth-1)
	}
	return object
}

// FuzzOpen: any document is opened or refused, and OpenLenient keeps JSON.
func FuzzOpen(f *testing.F) {
	r := ring(f, "a "+base64.StdEncoding.EncodeToString(make([]byte, 32)))
	f.Add(`{"a":"tasker:sealed:1:a:AAAA"}`)
	f.Add(`"tasker:sealed:1:`)
	f.Add(string(sealed(f, r, `{"a":1}`, "/a")))
	f.Fuzz(func(t *testing.T, doc string) {
		if out := r.OpenLenient([]byte(doc), here); json.Valid([]byte(doc)) && !json.Valid(out) {
			t.Fatalf("%q is %q", doc, out)
		}
		out, err := r.Seal(sensitive.Lenient([]string{"/a"}), []byte(doc), true, here)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := r.Open(out, here); doc != "" && (err != nil || string(back) != doc) {
			t.Fatalf("%q comes back as %q, %v", doc, back, err)
		}
	})
}
