package inbox_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/groups"
	"github.com/taskerhq/tasker/internal/inbox/letters"
	"github.com/taskerhq/tasker/internal/inbox/redrive"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
)

// pooledRig has PostgreSQL with few connections. A transaction that needs a second one waits forever if all others do
// too.
func pooledRig(t *testing.T, connections int) *rig {
	t.Helper()
	s, err := postgres.Open(t.Context(), postgres.WithPoolSize(postgrestest.DSN(t), connections),
		&postgres.Options{Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return newRig(t, s)
}

func TestManyNewSources(t *testing.T) {
	t.Parallel()
	r := pooledRig(t, 2)
	group, ctx := errgroup.WithContext(t.Context())
	for n := range 60 {
		group.Go(func() error {
			got, err := r.Report(ctx, "default", fmt.Sprintf("shop-%d", n), []inbox.Report{{MessageID: "m",
				Failure: failure.Report{Type: "Timeout"}, Content: deadletter.Content{Payload: []byte("{}")}}})
			if err == nil && got[0].Status != model.Captured {
				err = fmt.Errorf("the report under name %d is %s", n, got[0].Status)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	sources, err := r.Sources(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	r.want("sources", len(sources), 61) // with that of the rig
}

// TestOneConnection stores everything on a single connection.
func TestOneConnection(t *testing.T) {
	t.Parallel()
	r := pooledRig(t, 1)
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	by := inbox.By{Actor: "ann", Reason: "test"}
	got := r.die(dead(1, "Timeout"), dead(2, "Timeout"), dead(3, "Refused"), dead(4, "Gone"))
	timeout, refused := got[0].Group, got[2].Group
	_, err := r.PauseSource(ctx, "default", "orders", true, by)
	must(err)
	_, err = r.PauseSource(ctx, "default", "orders", false, by)
	must(err)
	must(r.Declare(ctx, []*deadletter.Source{{Namespace: "default", Name: "bills", Driver: deadletter.DriverHTTP}}))
	must(r.DropSource(ctx, "default", "bills", by))
	_, err = r.SaveRule(ctx, &deadletter.Rule{Namespace: "default", Name: "gone", When: `error_type == "Gone"`}, by)
	must(err)
	_, err = r.EditLetter(ctx, got[1].Letter, letters.LetterEdit{By: by,
		Edit: deadletter.Edit{Patch: []byte(`{"fixed":true}`)}})
	must(err)
	_, err = r.DiscardLetter(ctx, got[3].Letter, by)
	must(err)
	_, err = r.RestoreLetter(ctx, got[3].Letter, by)
	must(err)

	_, err = r.MergeGroups(ctx, timeout, []deadletter.GroupID{refused}, by)
	must(err)
	_, err = r.ChangeGroup(ctx, timeout, groups.GroupChange{By: by, State: model.GroupIgnored,
		Ignore: deadletter.Ignore{Count: 3, PerHour: 1000}})
	must(err)
	r.die(dead(5, "Refused"), dead(6, "Timeout"), dead(7, "Refused"))
	r.pass(time.Second)
	r.want("groups", joined(r.groups()), "Timeout open 6; Gone open 1")
	_, err = r.UnmergeGroup(ctx, refused, by)
	must(err)
	rule, err := r.SplitGroup(ctx, timeout, groups.SplitRequest{By: by, When: `origin == "orders"`})
	must(err)
	for range 3 {
		r.pass(5 * time.Second)
	}
	split := r.letter(got[0].Letter).Group
	if split == timeout || rule.Within != timeout {
		t.Fatalf("the letter is in the group %s after the split", split)
	}
	_, err = r.UnsplitGroup(ctx, split, by)
	must(err)

	for _, cause := range []string{"Down", "Lost"} {
		r.fail(cause)
	}
	made, err := r.CreateRedrive(ctx, redrive.Request{By: by, Operation: model.OpRedrive,
		Selection: deadletter.Selection{Namespace: "default"}})
	must(err)
	_, err = r.ActOnRedrive(ctx, made.ID, model.StartRedrive, by)
	must(err)
	for range 10 {
		r.pass(5 * time.Second)
	}
	done, err := r.Redrive(ctx, made.ID)
	must(err)
	r.want("the redrive", []any{done.State, made.Total}, []any{model.RedriveDone, 9})
	r.policy(deadletter.Policy{Strategy: model.Fixed, Base: time.Minute})
	r.die(dead(8, "Timeout"))
	r.pass(time.Hour)
	must(r.DropPolicy(ctx, "default", "orders", "", by))
	r.want("sent", len(r.broker.sent), 8)
}

// Due letters of equally named sources in two namespaces go through their own sources.
func TestPolicySendsWithinNamespace(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.source(deadletter.Source{Namespace: "other", Name: "orders", Driver: "memory", Queue: "orders.dlq"})
		for _, namespace := range []string{"default", "other"} {
			p := &deadletter.Policy{Namespace: namespace, Source: "orders", Strategy: model.Fixed, Base: time.Minute}
			if _, err := r.SavePolicy(t.Context(), p, inbox.By{}); err != nil {
				t.Fatal(err)
			}
			of := &deadletter.Source{Namespace: namespace, Name: "orders", Driver: "memory"}
			if _, err := r.Capture(t.Context(), of, []inbox.Arrival{dead(1, "Timeout")}); err != nil {
				t.Fatal(err)
			}
		}
		r.pass(time.Hour)
		slices.Sort(r.broker.to) // sources send concurrently
		r.want("sent", joined(r.broker.to), "default orders; other orders")
	})
}
