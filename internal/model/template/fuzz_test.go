package template_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/model/template"
)

// FuzzParse: Parse never panics; faults are inside the source, in order; an accepted template keeps the rules, and
// its fingerprint when parsed again.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/good/*", "testdata/bad/*.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			f.Fatal(pattern, err)
		}
		for _, path := range paths {
			src, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			if len(src) < 4096 {
				f.Add(src)
			}
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		template.Warnings("f.yaml", src) // never panics
		got, err := template.Parse("f.yaml", src, levels)
		if err != nil {
			checkProblems(t, src, err)
			return
		}
		if got.Name == "" || got.Version == "" || got.Namespace == "" || len(got.Steps) == 0 || len(got.Fingerprint) != 64 {
			t.Fatalf("accepted %+v", got)
		}
		for _, s := range got.Steps {
			if s.Name == "" || s.Handler == "" || len(s.Parents) != len(s.Dependencies) {
				t.Fatalf("accepted the step %+v", s)
			}
		}
		if got.InputSchema != nil {
			compile(t, string(got.InputSchema)).Check([]byte(`{"a":[1,"x",null]}`))
		}
		again, err := template.Parse("f.yaml", []byte(got.Source), levels)
		if err != nil || again.Fingerprint != got.Fingerprint {
			t.Fatalf("parsed again: %v, %v", again, err)
		}
	})
}

func checkProblems(t *testing.T, src []byte, err error) {
	t.Helper()
	var e *task.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is not a task.Error", err)
	}
	if e.Code == task.TooLarge {
		return
	}
	if e.Code != task.Invalid || len(e.Problems) == 0 {
		t.Fatalf("code %s with %d problems", e.Code, len(e.Problems))
	}
	lines := strings.Count(string(src), "\n") + strings.Count(string(src), "\r") + 1
	lastLine, lastColumn := 0, 0
	for _, p := range e.Problems {
		var line, column int
		if _, err := fmt.Sscanf(p.Location, "f.yaml:%d:%d", &line, &column); err != nil {
			t.Fatalf("location %q: %v", p.Location, err)
		}
		if line < 1 || line > lines || column < 1 {
			t.Fatalf("%s is outside the source of %d lines", p.Location, lines)
		}
		if line < lastLine || line == lastLine && column < lastColumn {
			t.Fatalf("%s comes after %d:%d", p.Location, lastLine, lastColumn)
		}
		if p.Message == "" {
			t.Fatalf("%s has no message", p.Location)
		}
		lastLine, lastColumn = line, column
	}
}
