package templates

import (
	"strings"
	"testing"
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
			for _, l := range diff(strings.Fields(c.before), strings.Fields(c.after)) {
				got = append(got, map[string]string{"": "", "del": "-", "ins": "+"}[l.Kind]+l.Text)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("diff = %q, want %q", strings.Join(got, " "), c.want)
			}
		})
	}
	long := strings.Split(strings.Repeat("x ", 2100), " ")
	if got := diff(long, long); len(got) != 2*len(long) {
		t.Errorf("long texts are %d lines", len(got))
	}
}
