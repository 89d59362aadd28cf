package local_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/model/task"
)

func TestExplainGates(t *testing.T) {
	onEveryStore(t, func(t *testing.T, r *rig) {
		r.template(t, "name: pay\nversion: \"1\"\nsteps:\n"+
			"  - {name: charge, handler: h, concurrency: {key: \"{{customer}}\", limit: 1}}\n"+
			"  - {name: tell, handler: m, dependencies: [charge]}\n")
		r.template(t, "name: call\nversion: \"1\"\nrate_limit: {limit: 1, per: 10s}\nsteps:\n  - {name: a, handler: h}\n")
		submit := func(name string) uuid.UUID {
			t.Helper()
			id := r.submit(t, tasker.TaskRequest{Name: name, Context: json.RawMessage(`{"customer":"ann"}`)})
			for more := true; more; { // the commit starts it; wait for its end
				r.wait(t, 0)
				var err error
				if more, err = r.store.GateStore().Signalled(t.Context(), task.At(r.clock())); err != nil {
					t.Fatal(err)
				}
			}
			return id
		}
		says := func(id uuid.UUID, want string) {
			t.Helper()
			if x := r.explained(t, id); !strings.Contains(x, want) {
				t.Errorf("the explanation\n%s\ndoes not say %q", x, want)
			}
		}
		first, second, third := submit("pay"), submit("pay"), submit("pay")
		at := `waits at the limit concurrency of step pay/charge, key "customer=ann": 1 of 1 permit in use, by task ` +
			first.String()
		says(second, at+".")
		says(third, at+", with 1 step before it.")
		r.template(t, "name: quick\nversion: \"1\"\nrate_limit: {limit: 2, per: 20s}\n"+
			"steps:\n  - {name: a, handler: h}\n")
		submit("quick")
		submit("quick")
		says(submit("quick"), "waits at the limit rate of template quick (2/20s); 2 steps have passed and wait for a "+
			"worker, as many as its burst.")
		submit("call")
		says(submit("call"), "waits at the limit rate of template call (1/10s); 1 step has passed and waits for a worker, "+
			"as many as its burst. | It passes automatically when one of them has begun and the rate allows it.")
	})
}
