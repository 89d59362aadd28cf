package template_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/model/template"
)

func compensating(onFailure string) string {
	return "name: x\nversion: \"1\"\nsteps:\n  - {name: a, handler: h}\n  - {name: b, handler: h, dependencies: [a]}\n" +
		"on_failure: " + onFailure + "\n"
}

func TestParseCompensation(t *testing.T) {
	t.Parallel()
	got := parse(t, compensating(`[{name: undo_b, handler: u, dependencies: [b]},
  {name: undo_a, handler: u, dependencies: [a, undo_b], when: parents.b.state == "error"},
  {name: look, wait: {approval: "lost?"}, dependencies: [undo_a]}]`))
	if !got.Compensated || !got.Controlled || got.Steps[1].OnFailure || !got.Steps[2].OnFailure {
		t.Errorf("the marks are wrong: %+v", got.Steps)
	}
	undo := got.Steps[3]
	if !slices.Equal(undo.Undoes, []int{0}) || !slices.Equal(undo.Parents, []int{2}) ||
		!slices.Equal(undo.Reads(), []int{2, 0}) || !slices.Equal(got.Steps[0].Children, []int{1}) || !got.Steps[1].Sink() {
		t.Errorf("the links are wrong: %+v", got.Steps)
	}
	without := parse(t, compensating(`[]`))
	if without.Compensated || without.Controlled || without.Fingerprint == got.Fingerprint {
		t.Errorf("a template without compensation steps is %+v", without)
	}
}

func TestParseBadCompensation(t *testing.T) {
	t.Parallel()
	for yaml, want := range map[string]string{
		`undo`:                    "on_failure must be a list",
		`[{name: a, handler: u}]`: `the step name "a" is used twice`,
		`[{name: u, handler: u, on_failure: []}]`:                                              `a step has no key "on_failure"`,
		`[{name: u, handler: u, dependencies: [v]}, {name: v, handler: u, dependencies: [u]}]`: "form a cycle: u -> v -> u",
		`[{name: u, handler: u, when: parents.v.state == ""}, {name: v, handler: u}]`:          `which step "u" does not depend on`,
		`[{name: u, handler: u, when: parents.z.state == ""}]`:                                 `"z", which is not a step`,
		"[" + strings.Repeat("{name: u, handler: u}, ", task.MaxSteps-1) + "]":                 "at most 1000 steps, not 1001",
	} {
		if _, err := template.Parse("x.yaml", []byte(compensating(yaml)), nil); err == nil ||
			!strings.Contains(problems(err), want) {
			t.Errorf("%.80s: %v has no %q", yaml, err, want)
		}
	}
	above := strings.Replace(compensating(`[{name: u, handler: u}]`), "dependencies: [a]", "dependencies: [u]", 1)
	if _, err := template.Parse("x.yaml", []byte(above), nil); err == nil ||
		!strings.Contains(problems(err), `step "b" cannot depend on "u", which runs only after a failure`) {
		t.Errorf("a step behind a compensation step: %v", err)
	}
}
