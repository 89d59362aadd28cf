package task_test

import (
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/model/task"
)

// The cases of RFC 7396, appendix A, and others.
func TestMergePatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ document, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{``, `{"a":1}`, `{"a":1}`},
		{`{"n":12345678901234567890.10,"s":"<&>"}`, `{"a": {"x" : 1e3}}`,
			`{"a":{"x":1e3},"n":12345678901234567890.10,"s":"<&>"}`},
	} {
		got, err := task.MergePatch([]byte(c.document), []byte(c.patch))
		if err != nil || string(got) != c.want {
			t.Errorf("MergePatch(%s, %s) = %s, %v; want %s", c.document, c.patch, got, err, c.want)
		}
	}
}

func TestMergePatchDeep(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, 200) + `1` + strings.Repeat(`}`, 200)
	got, err := task.MergePatch([]byte(`{"a":{"b":2}}`), []byte(deep))
	if err != nil || len(got) != len(deep)+len(`,"b":2`) {
		t.Errorf("MergePatch = %d bytes, %v; want %d", len(got), err, len(deep)+len(`,"b":2`))
	}
}
