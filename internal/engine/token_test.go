package engine_test

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

// Processes on one database share a key of tokens; other databases have others.
func TestTokenKey(t *testing.T) {
	t.Parallel()
	shared := memstore.New(nil)
	var nodes []*engine.Engine
	for _, s := range []engine.Database{shared, shared, memstore.New(nil)} {
		e, err := engine.New(t.Context(), s, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, e)
	}
	step := &task.Step{ID: task.MakeID(3, 4), Token: 1, WorkerNo: 5, AssignedAt: 6}
	token := nodes[0].Token(step)
	for i, want := range []int64{1, 1, 0} {
		if got := nodes[i].LeaseOf(step.ID, step.WorkerNo, token); got.Token != want {
			t.Errorf("node %d reads the token as %+v, want lease %d", i, got, want)
		}
	}
	for _, damaged := range []string{"short", "not base64!", strings.Repeat("A", 44)} {
		if err := shared.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
			return shared.NoteStore().Note(ctx, tx, "token_key", damaged)
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := engine.New(t.Context(), shared, engine.Options{}); err == nil ||
			!strings.Contains(err.Error(), "token_key") {
			t.Errorf("with the key %q the engine starts with %v", damaged, err)
		}
	}
}

// Another database brings its key along: nodes need no restart.
func TestTokenKeyOfAReplacedDatabase(t *testing.T) {
	t.Parallel()
	shared := memstore.New(nil)
	node := func() *engine.Engine {
		e, err := engine.New(t.Context(), shared, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	old := node()
	other := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))
	if err := shared.Write(t.Context(), func(ctx context.Context, tx engine.Tx) error {
		return shared.NoteStore().Note(ctx, tx, "token_key", other)
	}); err != nil {
		t.Fatal(err)
	}
	step := &task.Step{ID: task.MakeID(3, 4), Token: 1, WorkerNo: 5, AssignedAt: 6}
	before, token := old.Token(step), node().Token(step)
	if got := old.LeaseOf(step.ID, step.WorkerNo, token); got.Token != 0 {
		t.Fatalf("a token under another key is read as %+v", got)
	}
	old.Forget()
	if got := old.LeaseOf(step.ID, step.WorkerNo, token); got.Token != 1 {
		t.Errorf("the token of the database in force is read as %+v, want lease 1", got)
	}
	if got := old.LeaseOf(step.ID, step.WorkerNo, before); got.Token != 0 {
		t.Errorf("a token of the database from before is read as %+v", got)
	}
}
