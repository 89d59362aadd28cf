package diff_test

import (
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/dashboard/diff"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, after, want string }{
		"Same":     {"a b c", "a b c", "a b c"},
		"Added":    {"a c", "a b c", "a +b c"},
		"Removed":  {"a b c", "a c", "a -b c"},
		"Replaced": {"a b c", "a x c", "a -b +x c"},
		"Moved":    {"a b c", "b c a", "-a b c +a"},
		"All":      {"a", "b", "-a +b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, l := range diff.Lines(strings.Fields(c.before), strings.Fields(c.after)) {
				got = append(got, map[string]string{"": "", "del": "-", "ins": "+"}[l.Kind]+l.Text)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("diff = %q, want %q", strings.Join(got, " "), c.want)
			}
		})
	}
	long := strings.Split(strings.Repeat("x ", 2100), " ")
	if got := diff.Lines(long, long); len(got) != 2*len(long) {
		t.Errorf("long texts are %d lines", len(got))
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	long := strings.Fields("1 2 3 4 5 6 7 8 9 10 11 12")
	changed := strings.Fields("1 2 3 4 5 x 7 8 9 10 11 12")
	var got []string
	for _, l := range diff.Fold(diff.Lines(long, changed), 1) {
		got = append(got, l.Kind+":"+l.Text)
	}
	want := "skip:4 lines that do not change,:5,del:6,ins:x,:7,skip:5 lines that do not change"
	if strings.Join(got, ",") != want {
		t.Errorf("folded = %q, want %q", strings.Join(got, ","), want)
	}
	if got := diff.Fold(diff.Lines(long, long), 3); got != nil {
		t.Errorf("without a change, folded = %v", got)
	}
}
