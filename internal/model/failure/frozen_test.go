package failure_test

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/model/failure"
)

// kinds holds one failure a line, with the class and the fingerprint that it has.
//
//go:embed testdata/kinds.txt
var kinds string

// Fingerprints and classes are stored: a change would count old and new failures apart.
func TestKindsAreFrozen(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSpace(kinds), "\n")
	if len(lines) < 500 {
		t.Fatalf("there are %d lines", len(lines))
	}
	for i, line := range lines {
		var r failure.Report
		var class failure.Class
		var print string
		if _, err := fmt.Sscanf(line, "%q %q %q %q %t => %q %q", &r.Type, &r.Code, &r.Message, &r.Class, &r.Retryable,
			&class, &print); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		if got := failure.ClassOf(r); got != class {
			t.Errorf("line %d: the class is %s, want %s", i+1, got, class)
		}
		if got := failure.Fingerprint(r); got != print {
			t.Errorf("line %d: the fingerprint is %q, want %q", i+1, got, print)
		}
	}
}
