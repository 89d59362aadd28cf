package inbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/groups"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

func refusedBy(n int, message string) inbox.Arrival {
	a := dead(n, "HTTPError")
	a.Failure.Message = message
	return a
}

// groupOfVersion1 stores the group that an older version made for a message.
func (r *rig) groupOfVersion1(message string) deadletter.GroupID {
	r.t.Helper()
	print := failure.Print{Version: 1, Type: "HTTPError", Message: failure.Normalise(message), Where: "ship"}
	g := deadletter.NewGroup("default", print, task.At(r.clock()))
	err := r.db.Write(r.t.Context(), func(ctx context.Context, tx engine.Tx) error {
		return r.db.(inbox.Database).Inbox().AddGroups(ctx, tx, []*deadletter.Group{g})
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return g.ID
}

// One cause of version 1 becomes two groups: silent if it was ignored, both regressions if it was resolved.
func TestGroupsOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		old := r.groupOfVersion1("HTTP 404")
		s := r.listen(tasker.EventFilter{})
		change := func(state model.GroupState) {
			t.Helper()
			if _, err := r.ChangeGroup(t.Context(), old, groups.GroupChange{State: state}); err != nil {
				t.Fatal(err)
			}
		}
		change(model.GroupIgnored)
		s.expect("group.state ignored")
		got := r.die(refusedBy(1, "HTTP 404"), refusedBy(2, "HTTP 500"), refusedBy(3, "HTTP 404"))
		if a, b, c := got[0].Group, got[1].Group, got[2].Group; a != c || a == b || a == old || b == old {
			t.Errorf("the groups are %s, %s and %s; the old one is %s", a, b, c, old)
		}
		r.pass(time.Second)
		for _, id := range []deadletter.GroupID{old, got[0].Group, got[1].Group} {
			g, err := r.Group(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			r.want("state", g.Group.State, model.GroupIgnored)
		}
		change(model.GroupOpen)
		change(model.GroupResolved)
		s.expect("group.state open", "group.state resolved") // and no group was new
		r.pass(time.Second)
		r.die(refusedBy(4, "HTTP 503"))
		r.pass(time.Second)
		r.want("regression", s.expect("group.regression open").Group.Title, "HTTPError: HTTP 503")
	})
}

// A split group stays split.
func TestSplitOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		rule, err := r.SplitGroup(t.Context(), r.groupOfVersion1("HTTP 404"), groups.SplitRequest{
			When: `message contains "404"`, Title: "missing", By: inbox.By{Reason: "noise"}})
		if err != nil {
			t.Fatal(err)
		}
		got := r.die(refusedBy(1, "HTTP 404"), refusedBy(2, "HTTP 500"))
		for i, want := range []string{"missing", "HTTPError: HTTP 500"} {
			g, err := r.Group(t.Context(), got[i].Group)
			if err != nil {
				t.Fatal(err)
			}
			r.want("title", g.Group.Title, want)
		}
		r.want("the rule", rule.Removed, false)
	})
}
