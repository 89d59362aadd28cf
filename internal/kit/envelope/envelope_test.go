package envelope_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/kit/envelope"
)

const one = `{"$tasker.codec":"aes-256-gcm","key":"a","data":"AAEC"}`

func TestForm(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]bool{
		one:                               true,
		`{"$tasker.codec":"x","data":""}`: true,
		" { \"data\" : \"AAEC\" ,\n\"key\":\"k\", \"$tasker.codec\" : \"x\" } ": true,
		`{"$tasker.codec":"x","data":"AAEC","key":""}`:                          false,
		`{"$tasker.codec":"x","data":"AAEC","more":"k"}`:                        false,
		`{"$tasker.codec":"x","data":"AAEC","key":"k","more":"k"}`:              false,
		`{"$tasker.codec":"x","data":"AAEC","data":"AAEC"}`:                     false,
		`{"$tasker.codec":"x","data":"AAE"}`:                                    false,
		`{"$tasker.codec":"x","data":"A\nAEC"}`:                                 false,
		`{"$tasker.codec":"x","data":"AAEC","key":"\n"}`:                        false,
		`{"$tasker.codec":"X","data":"AAEC"}`:                                   false,
		`{"$tasker.codec":"","data":"AAEC"}`:                                    false,
		`{"$tasker.codec":1,"data":"AAEC"}`:                                     false,
		`{"$tasker.codec":"x","data":null}`:                                     false,
		`{"$tasker.codec":"x"}`:                                                 false,
		`{"\u0024tasker.codec":"x","data":"AAEC"}`:                              false,
		`["$tasker.codec"]`:                                                     false,
		`"$tasker.codec"`:                                                       false,
		`{"$tasker.codec":"x","data":"AAEC"`:                                    false,
		``:                                                                      false,
	} {
		if got := envelope.Is([]byte(doc)); got != want {
			t.Errorf("%s is an envelope: %t, want %t", doc, got, want)
		}
	}
	e, at, found := envelope.Find([]byte(`{"a":[1,{"x/y~":` + one + `}]}`))
	if !found || at != "/a/1/x~1y~0" || e.Codec != "aes-256-gcm" || e.Key != "a" || !bytes.Equal(e.Data, []byte{0, 1, 2}) {
		t.Errorf("found %+v at %q, %t", e, at, found)
	}
	if back, err := e.MarshalJSON(); err != nil || string(back) != one {
		t.Errorf("written as %s, %v", back, err)
	}
}

func TestReserved(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		`{"a":[{"$tasker.codec":1}]}`:                 "/a/0",
		`{"\u0024tasker\u002ecodec":1}`:               "",
		`{"b":{"c":{"$ta\u0073ker.codec":"x"}}}`:      "/b/c",
		`{"a":"$tasker.codec","b":["$tasker.codec"]}`: "none",
		`{"a":"\u0024tasker.codec"}`:                  "none",
		`{"$tasker.codec":1`:                          "none",
		`{"$tasker.codecs":1}`:                        "none",
	} {
		at, found := envelope.Reserved([]byte(doc))
		if found != (want != "none") || found && at != want {
			t.Errorf("%s has it at %q, %t", doc, at, found)
		}
	}
}

func TestDamaged(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		one:                                  "none",
		`{"a":[` + one + `,` + one + `]}`:    "none",
		`{"a":{"$tasker.codec":"x","n":1}}`:  "/a",
		`[` + one + `,{"$tasker.codec":{}}]`: "/1",
		`["$tasker.codec"]`:                  "none",
	} {
		at, found := envelope.Damaged([]byte(doc))
		if found != (want != "none") || found && at != want {
			t.Errorf("%s is damaged at %q, %t", doc, at, found)
		}
	}
}

func TestShown(t *testing.T) {
	t.Parallel()
	got := string(envelope.Shown([]byte(`{"id" : 7,"card":` + one + `}`)))
	if want := `{"id" : 7,"card":"[encoded by the client (codec aes-256-gcm, key a)]"}`; got != want {
		t.Errorf("shown as %s", got)
	}
}

// TestRewrite: all envelopes of any document are replaced, in order, and everything else keeps its bytes.
func TestRewrite(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var marks int
		var value func(depth int) string
		spaces := func() string { return rapid.StringMatching(`[ \n\t]{0,2}`).Draw(t, "space") }
		text := func() string {
			raw, _ := json.Marshal(rapid.String().Draw(t, "text"))
			return string(raw)
		}
		value = func(depth int) string {
			kind := rapid.IntRange(0, 6).Draw(t, "kind")
			if depth > 4 {
				kind %= 4
			}
			switch kind {
			case 0:
				marks++
				return "@@"
			case 1:
				return text()
			case 2:
				return rapid.SampledFrom([]string{"1", "-2.5e7", "true", "false", "null", "{}", "[]"}).Draw(t, "scalar")
			case 3:
				return `{"data":"AAEC","key":` + text() + `}`
			}
			var parts []string
			for range rapid.IntRange(0, 4).Draw(t, "parts") {
				part := spaces() + value(depth+1) + spaces()
				if kind == 4 {
					part = spaces() + text() + spaces() + ":" + part
				}
				parts = append(parts, part)
			}
			if kind == 4 {
				return "{" + strings.Join(parts, ",") + "}"
			}
			return "[" + spaces() + strings.Join(parts, ",") + "]"
		}
		form := spaces() + value(0) + spaces()
		if strings.Count(form, "@@") != marks {
			t.Skip("a text has the mark")
		}
		doc := strings.ReplaceAll(form, "@@", one)
		seen := 0
		out, err := envelope.Rewrite([]byte(doc), func(at string, e envelope.Envelope) ([]byte, error) {
			seen++
			if e.Key != "a" {
				t.Fatalf("%+v at %s", e, at)
			}
			return []byte("@@"), nil
		})
		if err != nil || string(out) != form || seen != marks {
			t.Fatalf("%s becomes %s with %d of %d, %v", doc, out, seen, marks, err)
		}
	})
	broken := errors.New("broken")
	out, err := envelope.Rewrite([]byte("["+one+","+one+"]"), func(string, envelope.Envelope) ([]byte, error) {
		return nil, broken
	})
	if !errors.Is(err, broken) || out != nil {
		t.Errorf("rewritten as %s, %v", out, err)
	}
}

func FuzzRewrite(f *testing.F) {
	f.Add([]byte(one))
	f.Add([]byte(`{"a":[` + one + `,{"$tasker.codec":"\u0000","data":[]}],"b":"\"$tasker.codec\""}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		out, err := envelope.Rewrite(doc, func(string, envelope.Envelope) ([]byte, error) { return []byte("0"), nil })
		if err != nil || json.Valid(doc) && !json.Valid(out) {
			t.Fatalf("%q becomes %q, %v", doc, out, err)
		}
		if _, _, found := envelope.Find(out); found {
			t.Fatalf("%q still has one: %q", doc, out)
		}
		envelope.Reserved(doc)
		envelope.Shown(doc)
	})
}
