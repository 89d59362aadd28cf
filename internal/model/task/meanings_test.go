package task

import (
	"fmt"
	"testing"
)

// TestMeanings is the table of the meanings of step states.
func TestMeanings(t *testing.T) {
	t.Parallel()
	const table = `
pending                    -        -         -    -
waiting                    -        -         -    -
enqueued                   -        -         -    -
assigned                   -        -         -    leased
in_progress                -        -         -    leased
enqueued_for_orchestration -        -         -    -
waiting_for_retry          -        -         -    -
complete                   terminal satisfies done -
skipped                    terminal satisfies -    -
error                      -        -         -    -
cancelled                  terminal -         -    -
resolved_manually          terminal satisfies done -
`
	got := "\n"
	word := func(is bool, s string) string {
		if is {
			return s
		}
		return "-"
	}
	for _, s := range StepStates {
		got += fmt.Sprintf("%-26s %-8s %-9s %-4s %s\n", s, word(s.Terminal(), "terminal"), word(s.Satisfies(), "satisfies"),
			word(s.Done(), "done"), word(s.Leased(), "leased"))
	}
	if got != table {
		t.Errorf("the states mean%swant%s", got, table)
	}
}
