package local_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/taskerhq/tasker"
	_ "github.com/taskerhq/tasker/embedded/redis"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
	"github.com/taskerhq/tasker/worker/protocol"
)

type redisNode struct {
	*tasker.Client
	t *testing.T
	b *node.Node
}

func redisNodes(t *testing.T, dsn string, n int) []*redisNode {
	t.Helper()
	url := redistest.Start(t).URL()
	nodes := make([]*redisNode, n)
	for i := range nodes {
		b, err := node.Open(t.Context(), dsn, node.Options{Dispatch: url})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- b.Run(ctx) }()
		t.Cleanup(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("the node ended with %v", err)
			}
			if err := b.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
		nodes[i] = &redisNode{tasker.NewClient(b), t, b}
	}
	for _, n := range nodes {
		n.dispatches()
	}
	return nodes
}

func (n *redisNode) dispatches() {
	n.t.Helper()
	for end := time.Now().Add(30 * time.Second); !n.b.DispatchState().Active; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			n.t.Fatalf("the node dispatches %+v", n.b.DispatchState())
		}
	}
}

func (n *redisNode) submit(req tasker.TaskRequest) uuid.UUID {
	n.t.Helper()
	r, err := n.b.SubmitTasks(n.t.Context(), tasker.SubmitRequest{Tasks: []tasker.TaskRequest{req}})
	if err != nil {
		n.t.Fatal(err)
	}
	return r[0].TaskUUID
}

func (n *redisNode) join() uuid.UUID {
	n.t.Helper()
	w, err := n.b.RegisterWorker(n.t.Context(), protocol.WorkerRegistration{Name: uuid.NewString()})
	if err != nil {
		n.t.Fatal(err)
	}
	return w.WorkerID
}

// poll returns what a worker is given within a while.
func (n *redisNode) poll(worker uuid.UUID, capacity int, wait time.Duration) []protocol.Assignment {
	n.t.Helper()
	p, err := n.b.Poll(n.t.Context(), protocol.PollRequest{WorkerID: worker, Capacity: capacity, Start: true,
		WaitMS: int(wait.Milliseconds())})
	if err != nil {
		n.t.Fatal(err)
	}
	return p.Steps
}

// After an edit through one node, workers get the new context through any node, even one with the old context in
// memory.
func TestEditedElsewhere(t *testing.T) {
	t.Parallel()
	nodes := redisNodes(t, postgrestest.DSN(t), 2)
	a, b := nodes[0], nodes[1]
	for name, to := range map[string]*redisNode{"TheSameNode": a, "TheOther": b} {
		id := a.submit(tasker.TaskRequest{TaskType: "h", Context: json.RawMessage(`{"v":1}`)})
		w := a.join()
		first := a.poll(w, 1, 20*time.Second)
		if len(first) != 1 || first[0].TaskUUID != id {
			t.Fatalf("%s: a poll got %+v", name, first)
		}
		final := false
		result := protocol.StepResult{StepUUID: first[0].StepUUID, Token: first[0].Token, Status: protocol.ResultFailed,
			Error: &tasker.Failure{Message: "no", Retryable: &final}}
		answers, err := protocol.Of(a.Client).Settle(t.Context(),
			protocol.SettleRequest{WorkerID: w, Results: []protocol.StepResult{result}})
		if err != nil || answers[0].Error != nil {
			t.Fatalf("%s: the report was answered %+v, %v", name, answers, err)
		}
		edit := tasker.EditContextRequest{Context: json.RawMessage(`{"v":2}`), Reason: "wrong", EditedBy: "ann"}
		if _, err := b.EditContext(t.Context(), id, edit); err != nil {
			t.Fatal(err)
		}
		second := to.poll(to.join(), 1, 20*time.Second)
		if len(second) != 1 || second[0].TaskUUID != id || string(second[0].Parameters) != `{"v":2}` {
			t.Errorf("%s: after the edit a poll got %+v", name, second)
		}
		a.dispatches()
		b.dispatches()
	}
}

// Steps with unusable rows do not block polls, and end in error.
func TestDamagedRowsInRedis(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.DSN(t)
	nodes := redisNodes(t, dsn, 2)
	a, b := nodes[0], nodes[1]
	ids := map[string]uuid.UUID{}
	for _, name := range []string{"template", "deep", "good", "ordinal", "last"} {
		ids[name] = a.submit(tasker.TaskRequest{TaskType: "h", CorrelationID: name, Context: json.RawMessage(`{"a":1}`)})
	}
	d, err := postgres.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config := d.Pool.ConnConfig.Copy()
	config.RuntimeParams["search_path"] = d.Schema
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	on := func(name, statement string) {
		of := "(SELECT id FROM tasker_tasks WHERE correlation_id = '" + name + "')"
		if _, err := conn.Exec(t.Context(), fmt.Sprintf(statement, of)); err != nil {
			t.Fatal(err)
		}
	}
	on("deep", `UPDATE tasker_tasks SET context = '`+deepJSON+`' WHERE id = %s`)
	on("template", `UPDATE tasker_workflow_steps SET def_id = 999999 WHERE task_id = %s`)
	on("template", `UPDATE tasker_tasks SET def_id = 999999 WHERE id = %s`)
	on("ordinal", `UPDATE tasker_workflow_steps SET ordinal = 7 WHERE task_id = %s`)

	got, w := map[uuid.UUID]bool{}, b.join() // the other node still has the original rows in memory
	for end := time.Now().Add(30 * time.Second); len(got) < 2 && time.Now().Before(end); {
		for _, s := range b.poll(w, 1, time.Second) {
			got[s.TaskUUID] = true
		}
	}
	if len(got) != 2 || !got[ids["good"]] || !got[ids["last"]] {
		t.Errorf("polls got %v of %v", got, ids)
	}
	b.poll(w, 5, 0)
	for _, name := range []string{"template", "deep", "ordinal"} {
		k, err := b.Task(t.Context(), ids[name], 0)
		if err != nil || k.State != tasker.TaskError {
			t.Errorf("the task %s is %+v, %v", name, k, err)
		}
	}
	a.dispatches()
	b.dispatches()
}
