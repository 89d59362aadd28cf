package check

import (
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/model/task"
)

func TestRefusalListsSomeProblems(t *testing.T) {
	got := Refusal("no", make([]task.Problem, MaxProblems+3))
	if n := len(got.Problems); n != MaxProblems+1 || got.Problems[n-1].Message != "and 3 more problems" {
		t.Errorf("%d problems, the last one says %q", n, got.Problems[n-1].Message)
	}
}

func TestBounds(t *testing.T) {
	for name, err := range map[string]error{
		"at least one item":                             Batch("/items", 0, 2),
		"3 items in one request; the limit is 2":        Batch("/items", 3, 2),
		"the limit of a page must be 1 to 9, not 0":     Page(0, 0, 9),
		"the limit of a page must be 1 to 9, not 10":    Page(10, 0, 9),
		"the offset of a page must be 0 to 1000000, no": Page(1, maxOffset+1, 9),
	} {
		var text string
		if e, ok := err.(*task.Error); ok {
			text = e.Message
			for _, p := range e.Problems {
				text += " " + p.Message
			}
		}
		if !strings.Contains(text, name) {
			t.Errorf("want %q, got %q", name, text)
		}
	}
	if err := Batch("/items", 2, 2); err != nil {
		t.Error(err)
	}
	if err := Page(9, maxOffset, 9); err != nil {
		t.Error(err)
	}
}
