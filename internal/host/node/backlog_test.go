package node_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/testkit/sqlitetest"
)

// TestHeavyConditions: a result evaluates a bounded part of its task's conditions, and the timers the others in
// bounded transactions, so that other tasks' conditions do not wait for all of them.
func TestHeavyConditions(t *testing.T) {
	t.Parallel()
	const n = 6
	now := time.Now()
	b, err := node.Open(t.Context(), "sqlite:"+sqlitetest.File(t), node.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	when := strings.TrimSuffix(strings.Repeat("context.x in context.l||", 20), "||")
	var src strings.Builder
	src.WriteString("name: heavy\nversion: \"1\"\nsteps:\n  - {name: a, handler: first}\n")
	for i := range n {
		fmt.Fprintf(&src, "  - {name: s%d, handler: h, dependencies: [a], when: '!(%s)'}\n", i, when)
	}
	light := "name: light\nversion: \"1\"\nsteps:\n  - {name: a, handler: h, when: context.x == 2}\n"
	for _, text := range []string{src.String(), light} {
		if _, err := b.RegisterTemplate(t.Context(), tasker.TemplateSource{YAML: text}); err != nil {
			t.Fatal(err)
		}
	}
	submit := func(name, context string) {
		t.Helper()
		if _, err := b.SubmitTasks(t.Context(), tasker.SubmitRequest{Tasks: []tasker.TaskRequest{{Name: name,
			Context: json.RawMessage(context)}}}); err != nil {
			t.Fatal(err)
		}
	}
	ready := func(name string) (ready int) {
		t.Helper()
		page, err := b.Tasks(t.Context(), tasker.TaskFilter{Name: name})
		if err != nil || len(page.Tasks) != 1 {
			t.Fatalf("%+v, %v", page, err)
		}
		steps, err := b.Steps(t.Context(), page.Tasks[0].TaskUUID)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range steps {
			if s.State == tasker.StepEnqueued {
				ready++
			}
		}
		return ready
	}
	upkeep := func() {
		t.Helper()
		if err := b.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	submit("heavy", `{"x":2,"l":[`+strings.Repeat("1,", 60_000)+`[]]}`) // each search scans a list without an index
	(sealedNode{b, t}).cards()                                          // completes a
	if got := ready("heavy"); got != 1 {
		t.Errorf("the result made %d steps ready, want 1: their conditions are much work", got)
	}
	now = now.Add(time.Minute) // all are due, including this one
	submit("light", `{"x":2}`)
	for upkeep(); ready("light") == 0; upkeep() {
		if ready("heavy") > 3 {
			t.Fatal("the other task waits for the conditions of the first")
		}
	}
	for range n {
		now = now.Add(time.Minute)
		upkeep()
	}
	if got := ready("heavy"); got != n {
		t.Errorf("%d steps are ready in the end, want %d", got, n)
	}
}
