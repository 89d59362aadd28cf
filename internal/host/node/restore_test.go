package node_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/worker/protocol"
)

// TestTokensAfterRestore: a restored database hands out a step again under the same number. The old token is
// invalid, even for the worker that returned under the same number; the new one is valid.
func TestTokensAfterRestore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "tasker.db"), filepath.Join(dir, "backup.db")
	var before protocol.Assignment
	open := func(use func(b *node.Node)) {
		t.Helper()
		b, err := node.Open(t.Context(), "sqlite:"+path, node.Options{})
		if err != nil {
			t.Fatal(err)
		}
		use(b)
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	move := func(from, to string) {
		t.Helper()
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	claim := func(b *node.Node) (protocol.RegisteredWorker, protocol.Assignment) {
		t.Helper()
		w, err := b.RegisterWorker(t.Context(), protocol.WorkerRegistration{Name: "w"})
		if err != nil {
			t.Fatal(err)
		}
		polled, err := b.Poll(t.Context(), protocol.PollRequest{WorkerID: w.WorkerID, Start: true})
		if err != nil || len(polled.Steps) != 1 {
			t.Fatalf("the poll brings %+v, %v", polled, err)
		}
		return *w, polled.Steps[0]
	}

	open(func(b *node.Node) {
		if _, err := b.SubmitTasks(t.Context(),
			tasker.SubmitRequest{Tasks: []tasker.TaskRequest{{TaskType: "h"}}}); err != nil {
			t.Fatal(err)
		}
	})
	move(path, backup)
	open(func(b *node.Node) { _, before = claim(b) })
	move(backup, path)
	open(func(b *node.Node) {
		w, now := claim(b)
		if now.StepUUID != before.StepUUID {
			t.Fatalf("step %s was handed out, then %s", before.StepUUID, now.StepUUID)
		}
		for _, c := range []struct {
			token string
			code  tasker.Code
		}{{before.Token, tasker.CodeStaleToken}, {now.Token, ""}} {
			settled, err := b.Settle(t.Context(), protocol.SettleRequest{WorkerID: w.WorkerID,
				Results: []protocol.StepResult{{StepUUID: now.StepUUID, Token: c.token, Status: protocol.ResultCompleted}}})
			if err != nil || (settled[0].Error == nil) != (c.code == "") || c.code != "" && settled[0].Error.Code != c.code {
				t.Errorf("the result under %s is answered %+v, %v; want the code %q", c.token, settled, err, c.code)
			}
		}
	})
}
