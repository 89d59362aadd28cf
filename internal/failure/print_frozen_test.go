package failure_test

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/failure"
)

// prints holds one failure a line, with the parts of the fingerprint that it has.
//
//go:embed testdata/prints.txt
var prints string

// Fingerprints are stored: were they to change under one version, the failures from before would not be counted with
// those from after.
func TestPrintsAreFrozen(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSpace(prints), "\n")
	if len(lines) < 500 {
		t.Fatalf("there are %d lines", len(lines))
	}
	for i, line := range lines {
		var r failure.Report
		var stack, where string
		want := failure.Print{Version: 1}
		if _, err := fmt.Sscanf(line, "%q %q %q %q %q => %q %q %q %q", &r.Type, &r.Code, &r.Message, &stack, &where,
			&want.Type, &want.Message, &want.Frame, &want.Where); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		if got := failure.PrintOf(r, stack, where); got != want {
			t.Errorf("line %d: %+v, want %+v", i+1, got, want)
		}
	}
}
