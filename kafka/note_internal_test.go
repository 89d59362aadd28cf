package kafka

import "testing"

// Stored notes are read again, and foreign texts are ignored.
func TestNote(t *testing.T) {
	t.Parallel()
	for text, n := range map[string]note{
		"":                                  {},
		"tasker stopped":                    {stopped: true},
		"tasker failures=2":                 {failures: 2},
		"tasker started":                    {started: true},
		"tasker among=50":                   {among: 50},
		"tasker failures=2 started":         {failures: 2, started: true},
		"tasker failures=1000 stopped":      {failures: 1000, stopped: true},
		"tasker failures=1 started stopped": {failures: 1, started: true, stopped: true},
	} {
		if got := n.String(); got != text {
			t.Errorf("%+v is stored as %q, want %q", n, got, text)
		}
		if got := parseNote(text); got != n {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
	for _, text := range []string{"started", "other failures=2 started", "tasker failures=x", "tasker failures=-1",
		"tasker failures=", "tasker later=1"} {
		if got := parseNote(text); got != (note{}) {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}
