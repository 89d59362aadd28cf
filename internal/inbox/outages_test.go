package inbox_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/flow"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/worker/protocol"
)

func TestOutageEvents(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		s := r.listen(tasker.EventFilter{Types: []tasker.EventType{tasker.EventOutageOpened, tasker.EventOutageClosed}})
		r.courier()
		ctx := t.Context()
		w, err := protocol.Of(r.client).RegisterWorker(ctx,
			protocol.WorkerRegistration{Name: "w", Handlers: []string{"charge"}})
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if _, err := r.client.Submit(ctx, tasker.TaskRequest{TaskType: "charge"}); err != nil {
				t.Fatal(err)
			}
		}
		got, err := protocol.Of(r.client).Poll(ctx, protocol.PollRequest{WorkerID: w.WorkerID, Capacity: 5, Start: true})
		if err != nil {
			t.Fatal(err)
		}
		var results []protocol.StepResult
		for _, a := range got.Steps {
			results = append(results, protocol.StepResult{StepUUID: a.StepUUID, Token: a.Token, Status: protocol.ResultFailed,
				Error: &tasker.Failure{Type: "BankDown", Message: "refused", Retryable: new(bool)}})
		}
		if _, err := protocol.Of(r.client).Settle(ctx,
			protocol.SettleRequest{WorkerID: w.WorkerID, Results: results}); err != nil {
			t.Fatal(err)
		}
		r.pass(time.Second)
		e := s.next()
		r.want("the event", string(e.Type)+" "+e.Outage.Handler+" "+e.Outage.Title,
			"outage.opened charge BankDown: refused")
		r.want("failures", e.Outage.Failures, 5)
		page, err := flow.Of(r.client).Outages(ctx, flow.OutageFilter{State: flow.OutageOpen})
		if err != nil || len(page.Outages) != 1 {
			t.Fatalf("outages %+v, %v", page, err)
		}
		// The tasks that it cost have the same group.
		r.until("the group", func() bool { return len(r.groups()) == 1 })
		group, err := r.client.Tasks(ctx, tasker.TaskFilter{States: []tasker.TaskState{tasker.TaskError}})
		if err != nil || len(group.Tasks) != 5 {
			t.Fatalf("tasks in error: %+v, %v", group, err)
		}
		if !strings.HasPrefix(e.Outage.GroupID, page.Outages[0].GroupID) {
			t.Errorf("the group is %s, and %s in the event", page.Outages[0].GroupID, e.Outage.GroupID)
		}
		if _, err := flow.Of(r.client).CloseOutage(ctx, page.Outages[0].OutageUUID,
			flow.OutageCloseRequest{ClosedBy: "ann", Reason: "the bank is back"}); err != nil {
			t.Fatal(err)
		}
		e = s.next()
		r.want("the event", string(e.Type)+" "+e.Cause+" "+e.Outage.ClosedBy, "outage.closed the bank is back ann")
		told := map[string]int{}
		r.until("webhooks", func() bool {
			for _, d := range r.deliveries() {
				if strings.HasPrefix(d, "complete") {
					told[d]++
				}
			}
			return len(r.deliveries()) == 3 && len(told) == 3
		})
		r.want("deliveries", fmt.Sprint(len(r.deliveries())), "3") // and that of the group
		r.want("further events", len(s.events), 0)
	}, hooked(t), func(o *node.Options) {
		o.Engine.OutageBreaker = settings.OutageBreaker{Enabled: settings.On, Failures: 5}
	})
}
