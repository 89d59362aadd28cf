package engine_test

import (
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/store/memstore"
	"github.com/taskerhq/tasker/internal/task"
)

// Processes on one database have one key of tokens, whoever makes it, and no other
// database has that one.
func TestTokenKey(t *testing.T) {
	t.Parallel()
	shared := memstore.New(nil)
	var nodes []*engine.Engine
	for _, s := range []engine.Store{shared, shared, memstore.New(nil)} {
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
		if err := shared.Write(t.Context(), func(tx engine.Tx) error { return tx.Note("token_key", damaged) }); err != nil {
			t.Fatal(err)
		}
		if _, err := engine.New(t.Context(), shared, engine.Options{}); err == nil || !strings.Contains(err.Error(), "token_key") {
			t.Errorf("with the key %q the engine starts with %v", damaged, err)
		}
	}
}
