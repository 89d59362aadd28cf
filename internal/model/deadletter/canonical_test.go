package deadletter_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/model/deadletter"
)

func canonical(payload string) string {
	return deadletter.Canonical(deadletter.Content{Payload: []byte(payload)})
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{`{"a":1,"b":[true,null]}`, " {\n\"b\" : [ true , null ],\t\"a\" : 1 } ", `{"b":[true,null],"a":1.0}`,
			`{"\u0061":10e-1,"b":[true,null]}`, `{"a":0.1E+1,"b":[true,null]}`},
		{`"é"`, `"\u00e9"`}, {`"/"`, `"\/"`}, {`0`, `-0`, `0.00`, `0e5`}, {`1e400`, `10e399`, `0.001e403`},
		{`100`, `1e2`, `1.00E2`}, {`9.0`, `90e-1`}, {`" "`, `"\u0020"`},
		{`10`, "1e" + strings.Repeat("0", 99) + "1"}, {`-12.50`, `-125e-1`}, {`[]`, ` [ ] `}, {`{}`, `{ }`},
		{`"<&>"`, `"\u003c\u0026\u003e"`}, {`"\n\t\b\f\r"`, `"\u000a\u0009\u0008\u000C\u000d"`},
		{`"\"\\"`, `"\u0022\u005C"`}, {`"🚀"`, `"\ud83d\ude80"`}, {`"\ud800"`, `"\ufffd"`, `"\uD83D"`},
		{`"\ud83d\u0041"`, `"\ud83dA"`}, {`1e+20`, `1e020`, `100000000000000000000`},
		{`1e100000000000000000000`, `10e99999999999999999999`}, {`{"b":{"d":1,"c":2},"a":3}`, `{"a":3,"b":{"c":2,"d":1}}`},
	} {
		for _, other := range same[1:] {
			if canonical(same[0]) != canonical(other) {
				t.Errorf("%s and %s differ", same[0], other)
			}
		}
	}
	seen := map[string]string{}
	for _, s := range []string{``, ` `, `1`, `10`, `-1`, `"1"`, `1.1`, `11`, `9007199254740993`, `9007199254740992`,
		`[1,2]`,
		`[2,1]`, `[12]`, `[1]`, `{"a":1}`, `{"a":[1]}`, `{"a":"1"}`, `null`, `"null"`, `true`, `{"a":1,"a":2}`,
		`{"a":2,"a":1}`, `[[]]`, `[{}]`, `{"a":{}}`, `x`, `{`, `"a\nb"`, `"a\\nb"`, "\xff", "1\x00", `1e1000000`} {
		if other, is := seen[canonical(s)]; is {
			t.Errorf("%q and %q are the same", s, other)
		}
		seen[canonical(s)] = s
		if len(canonical(s)) != 33 {
			t.Errorf("%q is %s", s, canonical(s))
		}
	}
	a := deadletter.Content{Payload: []byte("1"), Key: []byte("k"), Headers: []deadletter.Header{{Name: "h"}}}
	if nothing := (deadletter.Content{}); deadletter.Canonical(nothing) == canonical("") {
		t.Error("no payload and an empty one are the same")
	}
	if deadletter.Canonical(a) != canonical("1") {
		t.Error("key and headers count")
	}
	// Stored forms must never change.
	if got := canonical(`{"b":1.50,"a":"é"}`) + " " + canonical("raw"); got != frozenCanonical {
		t.Errorf("they are %s", got)
	}
}

const frozenCanonical = "j5d8c8c073d9e3cc0000557f094dbf211 b835d0fd431bc9adfe679aa63d8255186"

func TestCanonicalOfAnything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := value(3).Draw(t, "value")
		a, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var back any
		d := json.NewDecoder(bytes.NewReader(a))
		d.UseNumber()
		if err := d.Decode(&back); err != nil {
			t.Fatal(err)
		}
		b, err := json.MarshalIndent(back, "", "  ")
		if err != nil || canonical(string(a)) != canonical(string(b)) {
			t.Fatalf("%s and %s: %v", a, b, err)
		}
		if d := deadletter.Diff(deadletter.Content{Payload: a}, deadletter.Content{Payload: b}); len(d) > 0 {
			t.Fatalf("%s and %s differ in %v", a, b, d)
		}
	})
}

func value(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(rapid.Map(rapid.String(), toAny), rapid.Map(rapid.Float64Range(-1e9, 1e9), toAny),
		rapid.Map(rapid.Int(), toAny), rapid.Just[any](nil), rapid.Map(rapid.Bool(), toAny))
	if depth == 0 {
		return leaf
	}
	return rapid.OneOf(leaf, rapid.Map(rapid.SliceOfN(value(depth-1), 0, 3), toAny),
		rapid.Map(rapid.MapOfN(rapid.String(), value(depth-1), 0, 3), toAny))
}

func toAny[T any](v T) any { return v }

func FuzzCanonical(f *testing.F) {
	f.Add([]byte(`{"a":[1.50,"\u00e9",{"b":null}]}`))
	f.Add([]byte("1e99999999999999999999"))
	f.Fuzz(func(t *testing.T, payload []byte) {
		got := deadletter.Canonical(deadletter.Content{Payload: payload})
		if len(got) != 33 {
			t.Fatalf("%q is %s", payload, got)
		}
		var compact bytes.Buffer
		if got[0] == 'j' && json.Compact(&compact, payload) == nil && canonical(compact.String()) != got {
			t.Fatalf("%q and %q differ", payload, compact.String())
		}
	})
}

func TestIdentify(t *testing.T) {
	t.Parallel()
	c := deadletter.Content{Key: []byte("k"), Headers: []deadletter.Header{{Name: "a", Value: []byte("b")}},
		Payload: []byte("p")}
	seen := map[string]bool{}
	for _, id := range []string{
		deadletter.Identify("1", "m", c), deadletter.Identify("", "1", c), deadletter.Identify("", "m", c),
		deadletter.Identify("", "", c), deadletter.Identify("", "", deadletter.Content{}),
		deadletter.Identify("", "", deadletter.Content{Key: []byte{}}),
		deadletter.Identify("", "", deadletter.Content{Key: []byte("kp")}),
		deadletter.Identify("", "", deadletter.Content{Payload: []byte("kp")}),
		deadletter.Identify("", "", deadletter.Content{Headers: []deadletter.Header{{Name: "ab"}}}),
		deadletter.Identify("", "", deadletter.Content{Headers: []deadletter.Header{{Name: "a", Value: []byte("b")}}}),
	} {
		if seen[id] || len(id) != 33 {
			t.Errorf("%s is there twice, or long", id)
		}
		seen[id] = true
	}
	if deadletter.Identify("1", "m", c) != deadletter.Identify("1", "other", deadletter.Content{}) {
		t.Error("a position does not decide")
	}
	if deadletter.Identify("", "m", c) != deadletter.Identify("", "m", deadletter.Content{}) {
		t.Error("a message ID does not decide")
	}
	if id := deadletter.Identify(strings.Repeat("x", 10<<20), "", c); len(id) != 33 {
		t.Errorf("a long position gives %d bytes", len(id))
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	h := func(name, v string) deadletter.Header { return deadletter.Header{Name: name, Value: []byte(v)} }
	for name, c := range map[string]struct {
		a, b deadletter.Content
		want string
	}{
		"Nothing": {deadletter.Content{Payload: []byte(`{"a":1,"b":2}`)},
			deadletter.Content{Payload: []byte(`{"b":2.0, "a":1}`)},
			"[]"},
		"Members": {deadletter.Content{Payload: []byte(`{"a/b":{"c":[1,2]},"gone":null,"s":"x"}`)},
			deadletter.Content{Payload: []byte(`{"a/b":{"c":[1,3,4]},"new":{"y":1},"s":"x"}`)},
			`[{/a~1b/c/1 2 3} {/a~1b/c/2  4} {/gone null } {/new  {"y":1}}]`},
		"Kinds":     {deadletter.Content{Payload: []byte(`{}`)}, deadletter.Content{Payload: []byte(`[]`)}, "[{payload {} []}]"},
		"Text":      {deadletter.Content{Payload: []byte("abc")}, deadletter.Content{Payload: []byte(`1`)}, "[{payload abc 1}]"},
		"Binary":    {deadletter.Content{Payload: []byte("\xff\x00")}, deadletter.Content{}, `[{payload "\xff\x00" }]`},
		"Invalid":   {deadletter.Content{Payload: []byte("\xffa")}, deadletter.Content{}, `[{payload "\xffa" }]`},
		"Replaced":  {deadletter.Content{Payload: []byte("\ufffda")}, deadletter.Content{}, "[{payload \ufffda }]"},
		"NoPayload": {deadletter.Content{Payload: []byte("1")}, deadletter.Content{}, "[{payload 1 }]"},
		"EmptyHeader": {deadletter.Content{}, deadletter.Content{Headers: []deadletter.Header{h("a", "")}},
			"[{header a  }]"},
		"NoKey": {deadletter.Content{}, deadletter.Content{Key: []byte{}}, "[{key  }]"},
		"Headers": {deadletter.Content{Headers: []deadletter.Header{h("a", "1"), h("a", "2"), h("b", "3"), h("c", "")}},
			deadletter.Content{Headers: []deadletter.Header{h("b", "3"), h("a", "4"), h("d", "\x1b[1m")}},
			`[{header a 1 4} {header a 2 } {header c  } {header d  "\x1b[1m"}]`},
	} {
		if got := fmt.Sprint(deadletter.Diff(c.a, c.b)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	var long []byte
	long = append(append(append(long, '['), bytes.Repeat([]byte("1,"), 5000)...), "1]"...)
	if d := deadletter.Diff(deadletter.Content{Payload: []byte("[]")}, deadletter.Content{Payload: long}); len(d) !=
		deadletter.MaxChanges {
		t.Errorf("%d changes", len(d))
	}
	bell := deadletter.Content{Payload: append(bytes.Repeat([]byte("x"), 511), 7)}
	if d := deadletter.Diff(bell, deadletter.Content{}); len(d) != 1 || strings.Contains(d[0].Before, "\a") {
		t.Errorf("%q", d)
	}
	d := deadletter.Diff(deadletter.Content{Payload: bytes.Repeat([]byte("ä"), 5000)}, deadletter.Content{})
	if len(d) != 1 || len(d[0].Before) > 512 {
		t.Errorf("%v", d)
	}
}
