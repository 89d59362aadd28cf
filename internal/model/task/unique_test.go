package task_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/model/task"
)

func keyOf(t interface{ Fatal(...any) }, context string, by ...string) string {
	q := task.Unique{By: by}
	resolved := q.Resolved()
	key, err := resolved.Key([]string{"template", "t"}, []byte(context))
	if err != nil {
		t.Fatal(context, err)
	}
	return key
}

func TestUniqueKeyEquality(t *testing.T) {
	t.Parallel()
	groups := [][]string{
		{`1`, `1.0`, `1e0`, `10e-1`, `0.1E1`, `0.01e+2`, `1.000000000000000000000000`},
		{`0`, `-0`, `0.0`, `0e5`, `-0.000E-7`, `0e99999999999999999999999`},
		{`-1`, `-1.0`}, {`100`, `1e2`, `1.00e2`}, {`0.01`, `1e-2`},
		{`9007199254740993`, `9007199254740993.0`}, {`9007199254740992`}, {`9007199254740993.5`},
		{`123456789012345678901234567890`}, {`123456789012345678901234567891`},
		{`1e400`, `10e399`}, {`1e401`}, {`1e99999999999999999999`, `10e99999999999999999998`}, {`-1e99999999999999999999`},
		{`1e-99999999999999999999`, `0.1e-99999999999999999998`},
		{`"1"`, `"\u0031"`}, {`"a\/b"`, `"a/b"`}, {`"é"`, `"\u00e9"`}, {`"e\u0301"`}, {`"\ud83d\ude00"`, `"😀"`},
		{`"\u0000"`}, {`"\\u0000"`}, {`""`}, {`" "`}, {`"\ufffd"`, `"�"`}, {`"<&>"`, `"\u003c&>"`}, {`"\ud7ff\ue000"`},
		{`null`, ` null `}, {`true`}, {`false`}, {`"null"`}, {`[]`, `[ ]`}, {`{}`, `{ }`},
		{`[1,2]`, `[1.0, 2]`}, {`[2,1]`}, {`[[1],2]`}, {`[[1,2]]`}, {`["1,2"]`},
		{`{"a":1,"b":2}`, `{"b":2.0,"a":1}`, `{"a":0,"b":2,"a":1}`}, {`{"a":{"b":1}}`}, {`{"a":"{\"b\":1}"}`}, {`{"":1}`},
	}
	keys := map[string]int{}
	for i, group := range groups {
		for _, text := range group {
			key := keyOf(t, text)
			if other, known := keys[key]; known && other != i {
				t.Errorf("%s has the key of %s", text, groups[other][0])
			} else if !known && text != group[0] {
				t.Errorf("%s has another key than %s", text, group[0])
			}
			keys[key] = i
		}
	}
	if keyOf(t, "") != keyOf(t, "null") {
		t.Error("no context is another one than null")
	}
}

func TestUniqueKeyFields(t *testing.T) {
	t.Parallel()
	const context = `{"a":{"b/c":1,"d~e":2,"~1":3,"":4},"list":[10,{"x":20}],"null":null,"text":"ab"}`
	same := func(by, other string) {
		t.Helper()
		if keyOf(t, context, by) != keyOf(t, other, by) {
			t.Errorf("%s of %s is another key", by, other)
		}
	}
	differs := func(by, other string) {
		t.Helper()
		if keyOf(t, context, by) == keyOf(t, other, by) {
			t.Errorf("%s of %s is the same key", by, other)
		}
	}
	same("/a/b~1c", `{"a":{"b/c":1.0}}`)
	same("/a/d~0e", `{"a":{"d~e":2}}`)
	same("/a/~01", `{"a":{"~1":3}}`)
	same("/a/", `{"a":{"":4}}`)
	same("/list/1/x", `{"list":[0,{"x":20}]}`)
	same("/list/0", `{"list":{"0":10}}`)
	same("/list/2", `{}`)
	same("/list/00", `7`)
	same("/list/-1", `[]`)
	same("/list/+0", `[]`)
	same("/text/0", `[]`)
	differs("/list/0", `{"list":[11]}`)
	differs("/null", `{}`)
	same("/null", `{"null":null}`)
	differs("/text", `{"text":"aB"}`)
	if keyOf(t, context, "/a", "/text") != keyOf(t, context, "/text", "/a") {
		t.Error("the order of fields matters")
	}
	var keys []string
	for _, by := range [][]string{{"/a"}, {"/a", "/text"}, {"/text"}, {task.ByAll}, {task.ByTemplate}} {
		keys = append(keys, keyOf(t, context, by...))
	}
	for _, scope := range [][]string{{"template", "u"}, {"task type", "t"}, {"", "templatet"}, {"templatet", ""}} {
		q := task.Unique{By: []string{"/a"}}
		key, err := q.Key(scope, []byte(context))
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	if n := len(slices.Compact(slices.Clone(keys))); n != len(keys) {
		t.Errorf("%d of %d keys differ", n, len(keys))
	}
	if keyOf(t, `{"a":"x","b":""}`, "/a", "/b") == keyOf(t, `{"a":"","b":"x"}`, "/a", "/b") {
		t.Error("values of two fields are mixed up")
	}
}

func TestUniqueKeyOfLoneSurrogates(t *testing.T) {
	t.Parallel()
	q := (&task.Unique{}).Resolved()
	for text, bad := range map[string]bool{
		`"\ud800"`: true, `"\udc00"`: true, `"\ud800\u0061"`: true, `"\ud800a"`: true, `"\ud800\\udc00"`: true,
		`"\udc00\ud800"`: true, `"\ud83d\ude00\ude00"`: true, `{"\udfff":1}`: true, `"\uD800\uD800\uDC00"`: true,
		`"\ud83d\ude00"`: false, `"\\ud800"`: false, `"\\\\udc00"`: false, `"ud800"`: false, `"\uE000\uD7FF"`: false,
		`"\n\ud83d\ude00\n"`: false, `"\\\ud800"`: true, `"\uDBFF\uDFFF"`: false,
	} {
		if _, err := q.Key(nil, []byte(text)); (err != nil) != bad {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestUniqueKeyProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := drawJSON(t, 3)
		first, second := write(t, v), write(t, v)
		if keyOf(t, first) != keyOf(t, second) {
			t.Fatalf("%s and %s have different keys", first, second)
		}
		w := drawJSON(t, 3)
		if equal := meaning(v) == meaning(w); equal != (keyOf(t, first) == keyOf(t, write(t, w))) {
			t.Fatalf("%s and %s are equal: %t", meaning(v), meaning(w), equal)
		}
		n := rapid.Int64Range(-2000, 2000).Draw(t, "n")
		e := rapid.IntRange(-30, 30).Draw(t, "e")
		shift := rapid.IntRange(0, 20).Draw(t, "shift")
		a, b := fmt.Sprintf("%de%d", n, e), fmt.Sprintf("%d%se%d", n, strings.Repeat("0", shift), e-shift)
		if keyOf(t, a) != keyOf(t, b) {
			t.Fatalf("%s and %s have different keys", a, b)
		}
		c := fmt.Sprintf("%de%d", rapid.Int64Range(-2000, 2000).Draw(t, "m"), e+rapid.IntRange(-2, 2).Draw(t, "d"))
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(c)
		if (x.Cmp(y) == 0) != (keyOf(t, a) == keyOf(t, c)) {
			t.Fatalf("%s and %s: %s, %s", a, c, x, y)
		}
	})
}

func drawJSON(t *rapid.T, depth int) any {
	switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
	case kind == 0:
		return nil
	case kind == 1:
		return rapid.Bool().Draw(t, "bool")
	case kind == 2:
		return rapid.Int64Range(-3, 3).Draw(t, "int")
	case kind == 3 || depth == 0:
		return rapid.StringOfN(rapid.RuneFrom([]rune("ab/~\"\\é😀\n")), 0, 3, -1).Draw(t, "text")
	case kind == 4:
		list := make([]any, rapid.IntRange(0, 2).Draw(t, "items"))
		for i := range list {
			list[i] = drawJSON(t, depth-1)
		}
		return list
	default:
		object := map[string]any{}
		for range rapid.IntRange(0, 2).Draw(t, "members") {
			object[rapid.SampledFrom([]string{"a", "b", "c", ""}).Draw(t, "name")] = drawJSON(t, depth-1)
		}
		return object
	}
}

func meaning(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func write(t *rapid.T, v any) string {
	space := func() string { return rapid.SampledFrom([]string{"", " ", "\n\t"}).Draw(t, "space") }
	switch v := v.(type) {
	case int64:
		zeros := rapid.IntRange(0, 2).Draw(t, "zeros")
		if zeros == 0 {
			return fmt.Sprint(v)
		}
		return fmt.Sprintf("%d.%s", v, strings.Repeat("0", zeros))
	case string:
		text := meaning(v)
		if rapid.Bool().Draw(t, "escaped") {
			text = strings.ReplaceAll(strings.ReplaceAll(text, "a", `\u0061`), "😀", `\uD83D\uDE00`)
		}
		return text
	case []any:
		var items []string
		for _, item := range v {
			items = append(items, space()+write(t, item)+space())
		}
		return "[" + strings.Join(items, ",") + "]"
	case map[string]any:
		var members []string
		for name, member := range v {
			members = append(members, space()+write(t, name)+space()+":"+write(t, member))
		}
		slices.Sort(members)
		if rapid.Bool().Draw(t, "reverse") {
			slices.Reverse(members)
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	return meaning(v)
}

func TestUniqueResolved(t *testing.T) {
	t.Parallel()
	all := []string{"unsettled", "error", "complete", "resolved_manually"}
	for _, tt := range []struct{ rule, want task.Unique }{
		{task.Unique{}, task.Unique{By: []string{"all"}, While: all[:2], OnConflict: "return"}},
		{task.Unique{Period: time.Hour},
			task.Unique{By: []string{"all"}, Period: time.Hour, While: all, OnConflict: "return"}},
		{task.Unique{By: []string{"/b", "/a"}, Period: 1e9, While: []string{"complete", "unsettled"}, OnConflict: "replace"},
			task.Unique{By: []string{"/a", "/b"}, Period: 1e9, While: []string{"unsettled", "complete"},
				OnConflict: "replace"}},
	} {
		if got := tt.rule.Resolved(); fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%+v is %+v", tt.rule, got)
		}
		resolved := tt.rule.Resolved()
		if faults := resolved.Faults(""); len(faults) > 0 {
			t.Errorf("%+v: %v", resolved, faults)
		}
	}
	if !(*task.Unique)(nil).Off() || !(&task.Unique{By: []string{"none"}}).Off() || (&task.Unique{}).Off() ||
		(&task.Unique{By: []string{"/none"}}).Off() {
		t.Error("the wrong rules are off")
	}
}

func TestUniqueGuards(t *testing.T) {
	t.Parallel()
	live := (&task.Unique{}).Resolved().While
	for _, s := range task.States {
		if got, want := task.Guards(live, s), !s.Terminal(); got != want {
			t.Errorf("by default, %s guards: %t", s, got)
		}
		if got, want := task.Guards(task.UniquePhases, s), s != task.Cancelled; got != want {
			t.Errorf("in each phase, %s guards: %t", s, got)
		}
		if got, want := task.Guards(live[:1], s), !s.Settled(); got != want {
			t.Errorf("while unsettled, %s guards: %t", s, got)
		}
	}
	m := task.UniqueMark{While: live, Until: 10}
	if !m.Guards(task.Pending, 9) || m.Guards(task.Pending, 10) || m.Guards(task.Complete, 9) {
		t.Error("the period is not kept")
	}
	if m.Until = 0; !m.Guards(task.Pending, 1<<60) {
		t.Error("without a period, there is an end")
	}
}

func TestUniqueFaults(t *testing.T) {
	t.Parallel()
	many := func(n int) (by []string) {
		for i := range n {
			by = append(by, fmt.Sprint("/", i))
		}
		return by
	}
	for _, tt := range []struct {
		rule task.Unique
		want string
	}{
		{task.Unique{By: many(16)}, ""}, {task.Unique{By: many(17)}, "/u/by"},
		{task.Unique{By: []string{"/" + strings.Repeat("x", 254)}}, ""},
		{task.Unique{By: []string{"/a", "/" + strings.Repeat("x", 255)}}, "/u/by/1"},
		{task.Unique{By: []string{""}}, "/u/by/0"}, {task.Unique{By: []string{"all", "all"}}, "/u/by/0 /u/by/1"},
		{task.Unique{By: []string{"template", "/a"}}, "/u/by/0"}, {task.Unique{By: []string{"/a\x00"}}, "/u/by/0"},
		{task.Unique{By: []string{"/\xff"}}, "/u/by/0"},
		{task.Unique{By: []string{"/a~", "/~1~0", "/~2"}}, "/u/by/0 /u/by/2"},
		{task.Unique{By: []string{"/"}}, ""}, {task.Unique{By: []string{"none"}}, ""},
		{task.Unique{Period: time.Second}, ""}, {task.Unique{Period: time.Second - 1}, "/u/period"},
		{task.Unique{Period: 720 * time.Hour}, ""}, {task.Unique{Period: 720*time.Hour + 1}, "/u/period"},
		{task.Unique{Period: -1}, "/u/period"}, {task.Unique{OnConflict: "x"}, "/u/on_conflict"},
		{task.Unique{While: []string{"unsettled"}}, ""}, {task.Unique{While: []string{"error"}}, "/u/while"},
		{task.Unique{While: []string{"unsettled", "cancelled"}}, "/u/while/1"},
		{task.Unique{While: []string{"unsettled", "complete"}}, "/u/while"},
		{task.Unique{While: []string{"unsettled", "resolved_manually"}}, "/u/while"},
		{task.Unique{While: []string{"unsettled", "complete"}, Period: time.Hour}, ""},
		{task.Unique{While: []string{"unsettled", "error", "error"}}, "/u/while/2"},
		{task.Unique{While: []string{"1", "2", "3", "4", "5"}}, "/u/while"},
	} {
		var places []string
		for _, p := range tt.rule.Faults("/u") {
			places = append(places, p.Location)
		}
		if got := strings.Join(places, " "); got != tt.want {
			t.Errorf("%+v has faults at %q, want %q", tt.rule, got, tt.want)
		}
	}
}
