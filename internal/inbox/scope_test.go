package inbox_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/redrive"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/worker/protocol"
)

func limited(t *testing.T, namespaces ...string) context.Context {
	t.Helper()
	secret, hash := access.Generate()
	ring, err := access.New([]access.Key{{Name: "k", SHA256: hash, Permissions: []string{"submit"},
		Namespaces: namespaces}})
	if err != nil {
		t.Fatal(err)
	}
	return access.With(t.Context(), ring.Authenticate(secret))
}

// An operation freezes only letters of the key's namespace.
func TestFreezeWithinNamespace(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.source(deadletter.Source{Namespace: "other", Name: "orders", Driver: "memory", Queue: "orders.dlq"})
		r.die(dead(1, "Timeout"), dead(2, "Timeout"))
		if _, err := r.Capture(t.Context(), &deadletter.Source{Namespace: "other", Name: "orders"},
			[]inbox.Arrival{dead(1, "Timeout")}); err != nil {
			t.Fatal(err)
		}
		discard := redrive.Request{By: inbox.By{Reason: "test"}, Operation: model.OpDiscard}
		made, err := r.CreateRedrive(limited(t, "other"), discard)
		if err != nil {
			t.Fatal(err)
		}
		r.want("frozen", []any{made.Namespace, made.Total}, []any{"other", 1})
		_, err = r.CreateRedrive(limited(t, "other", "third"), discard)
		r.refused(err, task.Invalid)
		_, err = r.Redrive(limited(t, "third"), made.ID)
		r.refused(err, task.NotFound)
		discard.Selection.Namespace = "default"
		_, err = r.CreateRedrive(limited(t, "other"), discard)
		r.refused(err, task.NotFound)
	})
}

func (r *rig) fail(cause string) {
	r.t.Helper()
	ctx, none := r.t.Context(), 0
	w, err := protocol.Of(r.client).RegisterWorker(ctx, protocol.WorkerRegistration{Name: "w",
		Namespaces: []string{protocol.AllNamespaces}})
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.client.Submit(ctx, tasker.TaskRequest{TaskType: "ship", MaxRetries: &none,
		Context: json.RawMessage(`{}`)}); err != nil {
		r.t.Fatal(err)
	}
	polled, err := protocol.Of(r.client).Poll(ctx, protocol.PollRequest{WorkerID: w.WorkerID, Capacity: 1, Start: true})
	if err != nil || len(polled.Steps) != 1 {
		r.t.Fatal(polled, err)
	}
	res := protocol.StepResult{StepUUID: polled.Steps[0].StepUUID, Token: polled.Steps[0].Token,
		Status: protocol.ResultFailed, Error: &tasker.Failure{Type: cause, Message: cause, Retryable: new(bool)}}
	if _, err := protocol.Of(r.client).Settle(ctx, protocol.SettleRequest{WorkerID: w.WorkerID,
		Results: []protocol.StepResult{res}}); err != nil {
		r.t.Fatal(err)
	}
}

// A restore takes no open letters and tasks; the freeze matches the preview.
func TestRestoreIsForDiscardedLetters(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		got := r.die(dead(1, "Timeout"), dead(2, "Timeout"))
		r.fail("Timeout")
		if _, err := r.DiscardLetter(t.Context(), got[0].Letter, inbox.By{Reason: "test"}); err != nil {
			t.Fatal(err)
		}
		r.pass(0)
		req := redrive.Request{By: inbox.By{Reason: "mistake"}, Operation: model.OpRestore,
			Selection: deadletter.Selection{Namespace: "default"}, Start: true}
		made, err := r.CreateRedrive(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		r.want("frozen", made.Total, 1)
		r.pass(0)
		r.pass(0)
		done, err := r.Redrive(t.Context(), made.ID)
		if err != nil {
			t.Fatal(err)
		}
		r.want("result", []any{done.State, done.Counts.Completed}, []any{model.RedriveDone, 1})
		r.want("restored", r.letter(got[0].Letter).State, model.LetterOpen)
		r.want("the task still counts", joined(r.groups()), "Timeout open 2; Timeout open 1")

		req.Selection.State = model.LetterOpen
		_, err = r.CreateRedrive(t.Context(), req)
		r.refused(err, task.Invalid)
		req.Selection.State, req.Selection.Kind = "", model.KindCase
		_, err = r.CreateRedrive(t.Context(), req)
		r.refused(err, task.Invalid)
	})
}
