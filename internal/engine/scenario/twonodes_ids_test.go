package scenario_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/model/template"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
)

// alike are two nodes whose IDs have the same sequences, as happens within a millisecond: their clock stands still.
type alike struct {
	*testing.T
	nodes []*engine.Engine
}

func newAlike(t *testing.T) *alike {
	n := &alike{T: t}
	dsn, now := postgrestest.DSN(t), time.Now()
	for range 2 {
		s, err := postgres.Open(t.Context(), dsn, nil)
		n.must(err)
		t.Cleanup(func() { closeStore(t, s) })
		e, err := engine.New(t.Context(), s, engine.Options{Now: func() time.Time { return now }})
		n.must(err)
		n.nodes = append(n.nodes, e)
	}
	return n
}

func (n *alike) must(err error) {
	n.Helper()
	if err != nil {
		n.Fatal(err)
	}
}

func (n *alike) register(source string) {
	n.Helper()
	tpl, err := template.Parse("alike.yaml", []byte(source), n.nodes[0].Level)
	n.must(err)
	_, _, err = n.nodes[0].RegisterTemplate(n.Context(), tpl, engine.Registration{})
	n.must(err)
}

func (n *alike) submit(node, count int, s engine.Submission) map[int64]task.ID {
	n.Helper()
	ids := map[int64]task.ID{}
	for range count {
		receipts, err := n.nodes[node].Submit(n.Context(), []engine.Submission{s}, false)
		n.must(err)
		ids[receipts[0].ID.Seq()] = receipts[0].ID
	}
	return ids
}

// settle completes every ready step in one call, with the name of its template, and returns the sequences of their
// tasks.
func (n *alike) settle(node int) []int64 {
	n.Helper()
	e := n.nodes[node]
	w, err := e.Register(n.Context(), task.Worker{Name: "w", Capacity: 100})
	n.must(err)
	leases, _, err := e.Poll(n.Context(), w.ID, 100, 0, true)
	n.must(err)
	var seqs []int64
	results := make([]engine.Result, len(leases))
	for i, l := range leases {
		seqs = append(seqs, l.Task.ID.Seq())
		results[i] = engine.Result{Step: l.Step.ID, Token: l.Step.Token, Status: engine.ResultCompleted,
			Result: fmt.Appendf(nil, "%q", l.Template.Name)}
	}
	answers, err := e.Settle(n.Context(), results)
	n.must(err)
	for _, a := range answers {
		n.must(a.Err)
	}
	return seqs
}

// TestChildOfAnotherNode: a node ends another node's child together with a task with the same sequence. Each keeps
// its result.
func TestChildOfAnotherNode(t *testing.T) {
	t.Parallel()
	n := newAlike(t)
	n.register("name: family\nversion: '1'\nsteps: [{name: each, for_each: {items: 'context.items', handler: job}}]")
	n.register("name: alone\nversion: '1'\nsteps: [{name: do, handler: job}]")
	parents := n.submit(0, 1, engine.Submission{Name: "family", Context: json.RawMessage(`{"items": [1, 2, 3]}`)})
	n.advance(0)
	own := n.submit(1, 10, engine.Submission{Name: "alone"})
	shared := 0
	seen := map[int64]int{}
	for _, seq := range n.settle(1) {
		if seen[seq]++; seen[seq] == 2 && !own[seq].IsZero() {
			shared++
		}
	}
	if shared != 3 {
		t.Fatalf("%d of 3 children have the sequence of another task: the test shows nothing", shared)
	}
	n.advance(1)
	for _, id := range parents {
		_, steps, err := n.nodes[0].Steps(t.Context(), id)
		n.must(err)
		if got, want := string(steps[0].Result), `["job","job","job"]`; got != want {
			t.Errorf("the step is %s with %s, want %s", steps[0].State, got, want)
		}
	}
}

func (n *alike) advance(node int) {
	n.Helper()
	_, err := n.nodes[node].FireTimers(n.Context(), 100)
	for more := true; more && err == nil; {
		_, more, err = n.nodes[node].AdvanceChildren(n.Context())
	}
	n.must(err)
}
