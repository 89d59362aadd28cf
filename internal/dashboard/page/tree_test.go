package page_test

import (
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/dashboard/page"
)

func outline(b *page.Branch) string {
	if b == nil {
		return "none"
	}
	out := b.Kind
	if b.Key != "" {
		out = b.Key + ":" + out
	}
	if b.Kind == "object" || b.Kind == "array" {
		parts := make([]string, len(b.Children))
		for i, c := range b.Children {
			parts[i] = outline(c)
		}
		if b.More {
			parts = append(parts, "...")
		}
		return out + "(" + strings.Join(parts, " ") + ")"
	}
	return out + "=" + b.Text
}

func TestTree(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"b": 12345678901234567890, "a": [1.50, "x", null, true], "b": {}}`: "object(b:number=12345678901234567890 " +
			"a:array(0:number=1.50 1:string=x 2:null=null 3:true=true) b:object())",
		`[]`: "array()", `{}`: "object()",
		`"text"`: "none", `7`: "none", ``: "none", `{`: "none", `{"a":}`: "none", `{} {}`: "none", "{\"a\":\"\xff\"}": "none",
		`{"<script>": "</script>"}`: "object(<script>:string=</script>)",
	} {
		if got := outline(page.Tree([]byte(text))); got != want {
			t.Errorf("the tree of %q is %q, want %q", text, got, want)
		}
	}
	deep := page.Tree([]byte(strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)))
	if got := strings.Count(outline(deep), "object"); got != 65 {
		t.Errorf("a deep tree has %d levels", got)
	}
	wide := page.Tree([]byte("[" + strings.Repeat("1,", 100_000) + "1]"))
	if len(wide.Children) != 1999 || !wide.More || wide.Text != "more than 1\u202f999 elements" {
		t.Errorf("a wide tree has %d children, %q", len(wide.Children), wide.Text)
	}
	if long := page.Tree([]byte(`["` + strings.Repeat("é", 5000) + `"]`)).Children[0]; long.Chars != 5000 ||
		len(long.Text) > 5000 {
		t.Errorf("a long text has %d characters, %d bytes", long.Chars, len(long.Text))
	}
}

func TestFault(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{`{"a": 1}`: "", "{\n  \"a\": x}": "line 2, column 8", "": "line 1, column 1",
		`{"a": 1} x`: "line 1, column 10"} {
		if got := page.Fault(text); !strings.HasPrefix(got, want) || got != "" && want == "" {
			t.Errorf("the fault of %q is %q, want %q", text, got, want)
		}
	}
}
