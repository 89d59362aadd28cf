package local_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/worker/protocol"
)

// TestHeldTasks: a worker's leases on tasks, and the number of its steps.
func TestHeldTasks(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		r.template(t, `
name: pair
version: "1"
steps:
  - {name: one, handler: h}
  - {name: two, handler: h}
`)
		pair := r.submit(t, tasker.TaskRequest{Name: "pair"})
		one, two := r.take(t, true), r.take(t, false)
		others := r.submit(t, tasker.TaskRequest{TaskType: "h"})
		worker := r.worker
		r.worker = r.join(t, protocol.WorkerRegistration{Name: "other"})
		r.take(t, true)
		r.worker = worker
		waits, gone := r.submit(t, tasker.TaskRequest{TaskType: "x"}), uuid.New()
		cancelled := r.submit(t, tasker.TaskRequest{TaskType: "y"})
		r.cancel(t, cancelled)
		got, err := r.b.HeldTasks(t.Context(), worker, []uuid.UUID{pair, others, gone, waits, cancelled, pair})
		if err != nil {
			t.Fatal(err)
		}
		held := &queueapi.HeldTask{Namespace: "default", State: tasker.TaskStepsInProcess,
			Leases: []protocol.LeaseRef{ref(one), ref(two)}}
		want := []*queueapi.HeldTask{held, {Namespace: "default", State: tasker.TaskStepsInProcess}, nil,
			{Namespace: "default", State: tasker.TaskStepsInProcess},
			{Namespace: "default", State: tasker.TaskCancelled}, held}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("held are (-want +got):\n%s", diff)
		}
		r.wantHeld(t, 2)
		r.report(t, one, completed(`1`))
		r.wantHeld(t, 1)
		_, err = r.b.HeldTasks(limited(t, "other"), worker, []uuid.UUID{pair}) // the worker serves all namespaces
		refusal(t, err, tasker.CodeNotFound)
		if none, err := r.b.HeldTasks(t.Context(), worker, nil); err != nil || len(none) != 0 {
			t.Errorf("of no tasks it holds %+v, %v", none, err)
		}
		_, err = r.b.HeldTasks(t.Context(), gone, []uuid.UUID{pair})
		refusal(t, err, tasker.CodeNotFound)
	})
}

func (r *rig) wantHeld(t *testing.T, n int) {
	t.Helper()
	w, err := protocol.Of(r.Client).Worker(t.Context(), r.worker)
	if err != nil || w.CurrentTasks == nil || *w.CurrentTasks != n {
		t.Errorf("the worker is %+v, %v; want %d steps held", w, err, n)
	}
	list, err := protocol.Of(r.Client).Workers(t.Context())
	if err != nil || len(list) == 0 || list[0].CurrentTasks != nil {
		t.Errorf("the list is %+v, %v", list, err)
	}
	if w, err := r.b.Registered(t.Context(), r.worker); err != nil || w.CurrentTasks != nil || w.WorkerID != r.worker {
		t.Errorf("as registered it is %+v, %v", w, err)
	}
}

func limited(t *testing.T, namespace string) context.Context {
	t.Helper()
	secret, hash := access.Generate()
	ring, err := access.New([]access.Key{{Name: "k", SHA256: hash, Permissions: []string{"work"},
		Namespaces: []string{namespace}}})
	if err != nil {
		t.Fatal(err)
	}
	return access.With(t.Context(), ring.Authenticate(secret))
}
