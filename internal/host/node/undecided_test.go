package node_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/testkit/sqlitetest"
)

// undecidedTemplates decide by a sensitive value after a second: by a condition, a wait's time or name, a list of
// items, a child's context.
var undecidedTemplates = map[string]string{
	"when":   `{name: ship, handler: ship, dependencies: [pause], when: 'context.card != ""'}`,
	"signal": `{name: ship, dependencies: [pause], wait: {signal: paid, key: "{{id}}"}}`,
	"until":  `{name: ship, dependencies: [pause], wait: {until: "{{at}}"}}`,
	"child":  `{name: ship, dependencies: [pause], task: {handler: ship}}`,
	"items":  `{name: ship, dependencies: [pause], for_each: {items: '[context.card]', handler: ship}}`,
	"state":  `{name: ship, handler: ship, dependencies: [pause], when: 'parents.pause.state == "complete"'}`,
}

// TestUndecidedWithoutKey: a node that cannot decrypt a deciding value leaves the step alone, without failures or
// compensation. A node with the key continues. Decisions without a key are made.
func TestUndecidedWithoutKey(t *testing.T) {
	t.Parallel()
	for name, step := range undecidedTemplates {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, at, now := keys{}, "sqlite:"+sqlitetest.File(t), time.Now()
			open := func(later time.Duration, use node.Encryption) sealedNode {
				t.Helper()
				b, err := node.Open(t.Context(), at, node.Options{Encryption: use,
					Now: func() time.Time { return now.Add(later) }})
				if err != nil {
					t.Fatal(err)
				}
				return sealedNode{b, t}
			}
			with := open(0, node.Encryption{Ring: k.ring(t, "a")})
			if _, err := with.RegisterTemplate(t.Context(), tasker.TemplateSource{YAML: `name: pay
version: "1"
sensitive: [/card]
steps:
  - {name: charge, handler: charge}
  - {name: pause, wait: {for: 1s}, dependencies: [charge]}
  - ` + step + `
on_failure:
  - {name: refund, handler: refund, dependencies: [charge]}
`}); err != nil {
				t.Fatal(err)
			}
			if _, err := with.SubmitTasks(t.Context(), tasker.SubmitRequest{Tasks: []tasker.TaskRequest{{Name: "pay",
				Context: json.RawMessage(`{"card":"4111","id":"7","at":"2020-01-02T03:04:05Z"}`)}}}); err != nil {
				t.Fatal(err)
			}
			if with.cards() == "" {
				t.Fatal("nothing was handed out")
			}
			if err := with.Close(); err != nil {
				t.Fatal(err)
			}
			without := open(2*time.Minute, node.Encryption{Lost: []string{"a"}})
			for range 3 {
				_ = without.RunOnce(t.Context()) // a step with children that is left alone is an error of its loop
			}
			state, ship := without.ship()
			if name == "state" {
				if ship.State != tasker.StepEnqueued {
					t.Errorf("the step is %s: %s", ship.State, ship.StatusMessage)
				}
				return
			}
			if waits := ship.State == tasker.StepPending || ship.State == tasker.StepWaiting; !waits || ship.Attempts > 1 ||
				state == tasker.TaskError {
				t.Errorf("the task is %s, the step %s: %s", state, ship.State, ship.StatusMessage)
			}
			if s := ship.StatusMessage; ship.State == tasker.StepPending && !strings.Contains(s, `the key "a"`) {
				t.Errorf("the step says %q", s)
			}
			if err := without.Close(); err != nil {
				t.Fatal(err)
			}
			with = open(4*time.Minute, node.Encryption{Ring: k.ring(t, "a")})
			defer with.Close()
			for range 3 {
				if err := with.RunOnce(t.Context()); err != nil {
					t.Error(err)
				}
			}
			_, ship = with.ship()
			if ship.State == tasker.StepPending || ship.State == tasker.StepError || ship.StatusMessage != "" {
				t.Errorf("with the key, the step is %s: %s", ship.State, ship.StatusMessage)
			}
		})
	}
}

func (b sealedNode) ship() (tasker.TaskState, tasker.Step) {
	b.t.Helper()
	page, err := b.Tasks(b.t.Context(), tasker.TaskFilter{Name: "pay"})
	if err != nil || len(page.Tasks) != 1 {
		b.t.Fatalf("%+v, %v", page, err)
	}
	steps, err := b.Steps(b.t.Context(), page.Tasks[0].TaskUUID)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, s := range steps {
		if s.Name == "ship" {
			return page.Tasks[0].State, s
		}
	}
	b.t.Fatalf("there is no step ship: %+v", steps)
	return "", tasker.Step{}
}
