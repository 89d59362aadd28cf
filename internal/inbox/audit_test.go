package inbox_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/groups"
	"github.com/taskerhq/tasker/internal/inbox/letters"
	"github.com/taskerhq/tasker/internal/inbox/redrive"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/operate"
)

func (r *rig) lastAct(kind string) (operate.AuditRecord, map[string]any) {
	r.t.Helper()
	acts, err := operate.Of(r.client).Audit(r.t.Context(), operate.AuditFilter{Kind: kind, Limit: 1})
	if err != nil || len(acts) != 1 {
		r.t.Fatalf("acts %s: %v, %v", kind, acts, err)
	}
	var data map[string]any
	if err := json.Unmarshal(acts[0].Data, &data); err != nil {
		r.t.Fatal(err)
	}
	return acts[0], data
}

func field(data map[string]any, side, name string) any {
	of, _ := data[side].(map[string]any)
	return of[name]
}

// An act says what it changed, and contains no secret.
func TestActsOfTheInboxHaveBeforeAndAfter(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		ctx, by := t.Context(), inbox.By{Actor: "ann", Reason: "why"}
		source := deadletter.Source{Namespace: "default", Name: "orders", Driver: "memory", Queue: "orders.dlq",
			URL: "amqp://ann:s3cret@broker:5672/?password=s3cret", MaxOpen: 7}
		if _, err := r.SaveSource(ctx, &source, by); err != nil {
			t.Fatal(err)
		}
		a, data := r.lastAct("change_source")
		r.want("before", field(data, "before", "max_open"), nil)
		r.want("after", field(data, "after", "max_open"), 7.0)
		r.want("broker", field(data, "after", "broker"), "amqp://broker:5672")
		if strings.Contains(string(a.Data), "s3cret") {
			t.Errorf("the act tells a secret: %s", a.Data)
		}
		if _, err := r.PauseSource(ctx, "default", "orders", true, by); err != nil {
			t.Fatal(err)
		}
		a, _ = r.lastAct("pause_source")
		r.want("states", a.Before+" "+a.After, "reading paused")
		if _, err := r.PauseSource(ctx, "default", "orders", false, by); err != nil {
			t.Fatal(err)
		}

		got := r.die(dead(1, "Timeout"))[0]
		if _, err := r.EditLetter(ctx, got.Letter, letters.LetterEdit{By: by,
			Edit: deadletter.Edit{Patch: []byte(`{"fixed":true}`)}}); err != nil {
			t.Fatal(err)
		}
		_, data = r.lastAct("edit_letter")
		if before, after := field(data, "before", "sha256"), field(data, "after", "sha256"); before == nil ||
			before == after {
			t.Errorf("the edit is %v", data)
		}
		owner := "bob"
		if _, err := r.ChangeGroup(ctx, got.Group, groups.GroupChange{By: by, Owner: &owner}); err != nil {
			t.Fatal(err)
		}
		_, data = r.lastAct("change_group")
		r.want("owner", field(data, "after", "owner"), "bob")
		if field(data, "before", "owner") != nil {
			t.Errorf("the change is %v", data)
		}

		if _, err := r.CreateRedrive(ctx, redrive.Request{By: by, Operation: model.OpRedrive,
			Selection: deadletter.Selection{Namespace: "default", Source: "orders"}, Plan: deadletter.Plan{Canary: 3},
			Edit: &deadletter.Edit{Patch: []byte(`{"pin":"s3cret"}`)}}); err != nil {
			t.Fatal(err)
		}
		a, data = r.lastAct("create_redrive")
		ordered, _ := data["input"].(map[string]any)
		r.want("selection", field(ordered, "selection", "source"), "orders")
		r.want("plan", field(ordered, "plan", "canary"), 3.0)
		r.want("default of the plan", field(ordered, "plan", "largest"), float64(deadletter.DefaultLargest))
		r.want("stop rule", field(ordered, "stop", "returned_share"), deadletter.DefaultReturnedShare)
		if field(ordered, "edit", "patch_sha256") == nil || strings.Contains(string(a.Data), "s3cret") {
			t.Errorf("the act of a redrive with an edit is %s", a.Data)
		}

		r.policy(deadletter.Policy{Strategy: model.Fixed, Base: time.Minute})
		_, data = r.lastAct("set_policy")
		r.want("before", data["before"], nil)
		r.want("strategy", field(data, "after", "Strategy"), "fixed")
		r.policy(deadletter.Policy{Strategy: model.Immediate})
		_, data = r.lastAct("set_policy")
		r.want("strategy", field(data, "before", "Strategy"), "fixed")
	})
}

func TestPoliciesLeaveActs(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.policy(deadletter.Policy{Strategy: model.Fixed, Base: time.Minute, MaxRetries: 1})
		got := r.die(dead(1, "Timeout"), dead(2, "Timeout"))
		a, data := r.lastAct("policy_schedule")
		r.want("who", a.Actor+" "+string(a.Authenticated), "system system")
		r.want("letters", field(data, "input", "letters"), 2.0)
		r.want("policy", data["object"], "orders")
		r.pass(time.Minute)
		r.die(back(r.letter(got[0].Letter), "Timeout"))
		a, data = r.lastAct("policy_discard")
		r.want("letters", field(data, "input", "letters"), 1.0)
		if first := field(data, "input", "first").([]any); first[0] != got[0].Letter.String() {
			t.Errorf("the act names %v, want %s", first, got[0].Letter)
		}
		if !strings.Contains(a.Reason, "it was sent back") {
			t.Errorf("the reason is %q", a.Reason)
		}
	})
}

func TestReportedSourceIsAnAct(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		if _, err := r.Report(t.Context(), "default", "web", []inbox.Report{{MessageID: "1",
			Failure: failure.Report{Type: "Timeout"}}}); err != nil {
			t.Fatal(err)
		}
		a, data := r.lastAct("add_source")
		r.want("who", a.Actor, "system")
		r.want("what", data["object"], "web")
		r.want("driver", field(data, "after", "driver"), "http")
	})
}
