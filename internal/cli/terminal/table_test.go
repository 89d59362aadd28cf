package terminal_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/cli/terminal"
)

// Any table fits the terminal, keeps copied values whole, and names each hidden column.
func TestTablesFit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		header := []string{"ID", "NAME", "STATE", "ERROR", "OTHER", "AT"}
		columns := rapid.IntRange(40, 120).Draw(t, "columns")
		table := terminal.NewTable(columns, header...)
		table.Whole("ID", "OTHER")
		table.DropFirst(rapid.SliceOfN(rapid.SampledFrom([]string{"AT", "STATE", "OTHER"}), 0, 2).Draw(t, "drop")...)
		var ids []string
		for range rapid.IntRange(1, 4).Draw(t, "rows") {
			id := uuid.NewString()
			ids = append(ids, id)
			text := rapid.StringMatching(`([a-zé世]{0,60} ){0,6}`)
			table.Row(id, rapid.StringMatching(`[a-z_/]{0,90}`).Draw(t, "name"), "waiting",
				strings.TrimSpace(text.Draw(t, "error")), rapid.SampledFrom([]string{"", id}).Draw(t, "other"), "3m ago")
		}
		text, hidden := table.Render()
		for line := range strings.Lines(text) {
			if n := terminal.Width(strings.TrimSuffix(line, "\n")); n > max(columns, 36+len("OTHER  ")) {
				t.Errorf("%d of %d columns: %q", n, columns, line)
			}
		}
		for _, id := range ids {
			if !strings.Contains(text, id) {
				t.Errorf("%s is not whole in\n%s", id, text)
			}
		}
		for _, name := range header {
			if slices.Contains(hidden, name) == slices.Contains(strings.Fields(text), name) &&
				name != "OTHER" && name != "NAME" && name != "ERROR" {
				t.Errorf("column %s is neither shown nor named as left out:\n%s\n%v", name, text, hidden)
			}
		}
	})
}

func TestTableOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		columns int
		want    string
		hidden  string
	}{
		{"Unlimited", 0, "ID      NAME           ERROR\nab-1-2  order-process  the card was declined by the bank\n", ""},
		{"Wraps", 46, "ID      NAME           ERROR\n" +
			"ab-1-2  order-process  the card was declined\n" +
			"                       by the bank\n", ""},
		{"Drops", 30, "ID      ERROR\n" +
			"ab-1-2  the card was declined\n" +
			"        by the bank\n", "NAME"},
		{"Blocks", 20, "ID     ab-1-2\n" +
			"NAME   order-process\n" +
			"ERROR  the card was declined by the bank\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			table := terminal.NewTable(tt.columns, "ID", "NAME", "ERROR")
			table.Whole("ID")
			if tt.name == "Blocks" {
				table.Whole("ERROR", "NAME")
			}
			table.DropFirst("NAME")
			table.Row("ab-1-2", "order-process", "the card was declined by the bank")
			got, hidden := table.Render()
			if got != tt.want || strings.Join(hidden, " ") != tt.hidden {
				t.Errorf("%s\nhidden %v, want\n%s", got, hidden, tt.want)
			}
		})
	}
}

func TestReflow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"Blocks", "One two\nthree four.\n\n    a block that is long\n    stays\n    1  what it means\nEnd",
			"One two three\nfour.\n\n    a block\n    that is\n    long\n    stays\n    1  what it\n       means\nEnd"},
		{"ContinuedMeanings", "  1  one two three\n     four\n  2  five\n\n     six\nEnd\n  3  x",
			"  1  one two\n     three four\n  2  five\n\n     six\nEnd\n  3  x"},
		{"WiderThanWritten", "  1  one\n     two\n    three\n  2  x", "  1  one two\n    three\n  2  x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := terminal.Reflow(tt.text, 15); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestField(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, value string
		columns     int
		want        string
	}{
		{"Fits", "one two", 0, "  N: one two"},
		{"Wraps", "one two  three four", 12, "  N: one two\n     three\n    four"},
		{"LongWord", "abcdefghijkl m", 12, "  N: abcdefghijkl\n    m"},
		{"LongWordWithRoom", "abcdefgh", 12, "  N:\n    abcdefgh"},
		{"JSON", `{"a":"b, c","d":1,"e":[2,3]}`, 16, "  N: {\"a\":\"b, c\",\n    \"d\":1,\n    \"e\":[2,3]}"},
		{"Quotes", `["\"a,","b"]`, 12, "  N: [\"\\\"a,\",\n    \"b\"]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := terminal.Field("  N:", tt.value, 4, tt.columns); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestWrapCommands(t *testing.T) {
	t.Parallel()
	got := terminal.WrapCommands("  tasker rule add a --when 'x contains \"y z\"' --title 'A B'", 32)
	want := "  tasker rule add a \\\n    --when 'x contains \"y z\"' \\\n    --title 'A B'"
	if got != want {
		t.Errorf("%s", got)
	}
	for line := range strings.SplitSeq(got, "\n") {
		if len(line) > 32 {
			t.Errorf("%q is too long", line)
		}
	}
}
