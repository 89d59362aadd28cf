package task_test

import (
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/task"
)

func TestPattern(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failure *task.Failure
		want    string
	}{
		"None":        {nil, ""},
		"Code":        {&task.Failure{Code: "DB_DOWN", Type: "ConnectionError", Message: "no"}, "DB_DOWN"},
		"Type":        {&task.Failure{Type: "ConnectionError", Message: "no"}, "ConnectionError"},
		"PlainError":  {&task.Failure{Type: "error", Message: "order 4711 of a9f3-22: no stock"}, "order # of #: no stock"},
		"UUID":        {&task.Failure{Message: "task 01a1fe28-4fcd-7000-a47a-b069f9c030a4 not found"}, "task # not found"},
		"OneLine":     {&task.Failure{Message: " first\nsecond 2"}, "first"},
		"Panic":       {&task.Failure{Type: "panic", Message: "index 5 out of range [3]"}, "panic: index # out of range [#]"},
		"Punctuation": {&task.Failure{Message: "10.0.0.1:5432 – refused"}, "#.#.#.#:# – refused"},
		"Unseen":      {&task.Failure{Code: "a\x00b\t"}, "a b"},
		"Empty":       {&task.Failure{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.failure.Pattern(); got != c.want {
				t.Errorf("the pattern is %q, want %q", got, c.want)
			}
		})
	}
	if got := (&task.Failure{Message: strings.Repeat("ä", 300)}).Pattern(); len(got) > 120 || !strings.Contains(got, "truncated") {
		t.Errorf("a long message became %d bytes: %q", len(got), got)
	}
}
