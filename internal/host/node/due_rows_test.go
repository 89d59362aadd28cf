package node_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/testkit/sqlitetest"
	"github.com/taskerhq/tasker/waits"
)

// withoutKey prepares a database with one key, and then returns a node with another.
func withoutKey(t *testing.T, prepare func(a *node.Node)) *node.Node {
	t.Helper()
	k, at := keys{}, "sqlite:"+sqlitetest.File(t)
	a, err := node.Open(t.Context(), at, node.Options{Encryption: node.Encryption{Ring: k.ring(t, "a")}})
	if err != nil {
		t.Fatal(err)
	}
	prepare(a)
	if err := a.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(2 * time.Minute)
	b, err := node.Open(t.Context(), at, node.Options{Now: func() time.Time { return later },
		Encryption: node.Encryption{Ring: k.ring(t, "b"), Lost: []string{"a"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func registerAll(t *testing.T, n *node.Node, templates ...string) {
	t.Helper()
	for _, yaml := range templates {
		if _, err := n.RegisterTemplate(t.Context(), tasker.TemplateSource{YAML: yaml}); err != nil {
			t.Fatal(err)
		}
	}
}

func submitOf(t *testing.T, n *node.Node, name, context string) {
	t.Helper()
	if _, err := n.SubmitTasks(t.Context(), tasker.SubmitRequest{Tasks: []tasker.TaskRequest{{Name: name,
		Context: json.RawMessage(context)}}}); err != nil {
		t.Fatal(err)
	}
}

// until repeats upkeep, because the effects of a commit are asynchronous.
func until(t *testing.T, n *node.Node, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !is() {
		if err := n.RunOnce(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

func countTasks(t *testing.T, n *node.Node, f tasker.TaskFilter) int {
	t.Helper()
	f.Limit = 1000
	list, err := n.Tasks(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return len(list.Tasks)
}

// TestPoisonedFanOuts: parents with undecryptable lists, more than a batch, do not delay others' children.
func TestPoisonedFanOuts(t *testing.T) {
	t.Parallel()
	const secret = `name: secret
version: "1"
sensitive: [/card]
steps:
  - {name: pause, wait: {for: 1s}}
  - {name: each, for_each: {items: context.items, handler: h}, dependencies: [pause]}
`
	const plain = `name: plain
version: "1"
steps:
  - {name: each, for_each: {items: context.items, handler: h}}
`
	for _, poisoned := range []int{1, 120} {
		b := withoutKey(t, func(a *node.Node) {
			registerAll(t, a, secret, plain)
			for range poisoned {
				submitOf(t, a, "secret", `{"card":"4111","items":[1,2]}`)
			}
		})
		for range 3 {
			if err := b.RunOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for range 60 {
			submitOf(t, b, "plain", `{"items":[1,2]}`)
		}
		until(t, b, func() bool { return countTasks(t, b, tasker.TaskFilter{Name: "h"}) == 120 })
	}
}

// TestPoisonedSignals: an undecryptable kept signal, and a step that waits for it, delay no other signal.
func TestPoisonedSignals(t *testing.T) {
	t.Parallel()
	const order = "name: order\nversion: \"1\"\nsteps:\n  - {name: paid, wait: {signal: paid, key: \"{{id}}\"}}\n"
	send := func(n *node.Node, key string) {
		if _, err := n.SendSignal(t.Context(), waits.SignalRequest{Name: "paid", Key: key,
			Payload: json.RawMessage(`{"amount":1}`)}); err != nil {
			t.Fatal(err)
		}
	}
	b := withoutKey(t, func(a *node.Node) {
		registerAll(t, a, order)
		for i := range 5 {
			send(a, fmt.Sprint("bad", i))
		}
	})
	for i := range 5 {
		submitOf(t, b, "order", fmt.Sprintf(`{"id":"bad%d"}`, i))
	}
	if err := b.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	send(b, "kept")
	submitOf(t, b, "order", `{"id":"kept"}`)
	submitOf(t, b, "order", `{"id":"new"}`)
	send(b, "new")
	until(t, b, func() bool { return countTasks(t, b, tasker.TaskFilter{States: []tasker.TaskState{"complete"}}) == 2 })
}
