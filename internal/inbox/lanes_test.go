package inbox_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/redrive"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// The broker of one source does not answer. Letters of others are sent meanwhile, each source in order.
func TestSlowSource(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		names := []string{"slow", "orders"}
		r.source(deadletter.Source{Namespace: "default", Name: "slow", Driver: "memory", Queue: "slow.dlq"})
		// two letters of each source die, and are sent together
		var ids []string
		die := func(first int) {
			ids = nil
			for i := range 4 {
				of := &deadletter.Source{Namespace: "default", Name: names[i/2], Driver: "memory"}
				got, err := r.Capture(t.Context(), of, []inbox.Arrival{dead(first+i, "Timeout")})
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, got[0].Letter.String())
			}
		}
		send := func(what string, start func()) {
			t.Helper()
			others := make(chan struct{})
			r.broker.sent = nil
			r.broker.before = func(ctx context.Context, source string) {
				if source != "slow" {
					return
				}
				select { // it answers after the others
				case <-others:
				case <-ctx.Done():
					t.Errorf("%s: no other source was sent while one was slow", what)
				}
			}
			r.broker.after = func(source string) {
				if source == "orders" {
					close(others)
				}
			}
			start()
			r.pass(time.Hour)
			r.want(what, joined(r.broker.sent), joined(slices.Concat(ids[2:], ids[:2])))
		}
		send("a redrive", func() {
			die(1)
			if _, err := r.CreateRedrive(t.Context(), redrive.Request{Operation: model.OpRedrive, Start: true,
				Selection: deadletter.Selection{Namespace: "default"}}); err != nil {
				t.Fatal(err)
			}
		})
		send("a policy", func() {
			for _, source := range names {
				p := &deadletter.Policy{Namespace: "default", Source: source, Strategy: model.Fixed, Base: time.Minute}
				if _, err := r.SavePolicy(t.Context(), p, inbox.By{}); err != nil {
					t.Fatal(err)
				}
			}
			die(10)
		})
	})
}
