package failure_test

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/model/failure"
)

// prints holds failures with the parts of their fingerprints; prints1 those of version 1.
var (
	//go:embed testdata/prints.txt
	prints string
	//go:embed testdata/prints1.txt
	prints1 string
)

// Fingerprints are stored: a change within a version would count old and new failures apart.
func TestPrintsAreFrozen(t *testing.T) {
	t.Parallel()
	now, before := frozen(t, prints), frozen(t, prints1)
	for i, f := range now {
		got := failure.PrintOf(f.report, f.stack, f.where)
		key := got.Before
		if key == "" {
			key = got.Key()
		}
		got.Before = ""
		if got != f.want {
			t.Errorf("line %d: %+v, want %+v", i+1, got, f.want)
		}
		if want := before[i].want.Key(); key != want {
			t.Errorf("line %d: by version 1 %s, want %s", i+1, key, want)
		}
	}
}

type frozenPrint struct {
	report       failure.Report
	stack, where string
	want         failure.Print
}

func frozen(t *testing.T, text string) []frozenPrint {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) < 500 {
		t.Fatalf("there are %d lines", len(lines))
	}
	list := make([]frozenPrint, len(lines))
	for i, line := range lines {
		f := &list[i]
		if _, err := fmt.Sscanf(line, "%q %q %q %q %q => %d %q %q %q %q", &f.report.Type, &f.report.Code, &f.report.Message,
			&f.stack, &f.where, &f.want.Version, &f.want.Type, &f.want.Message, &f.want.Frame, &f.want.Where); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
	}
	return list
}
