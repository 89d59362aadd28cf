package inbox_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/groups"
	"github.com/taskerhq/tasker/internal/inbox/redrive"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// A list continues only with a cursor that a page returned.
func TestGroupCursor(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.die(dead(1, "Timeout"), dead(2, "Schema"))
		page, err := r.Groups(t.Context(), groups.GroupFilter{Limit: 1}, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err = r.Groups(t.Context(), groups.GroupFilter{Limit: 1}, page.Next); err != nil {
			t.Errorf("the cursor %s: %v", page.Next, err)
		}
		for _, cursor := range []string{page.Next + " ", page.Next + ".1", "1", "1.", ".1", "+1.1", "1.0x1",
			"99999999999999999999.1"} {
			_, err := r.Groups(t.Context(), groups.GroupFilter{Limit: 1}, cursor)
			r.refused(err, task.Invalid)
		}
	})
}

// Ignoring up to a number counts failures of merged groups, but a merge adds no new failures.
func TestIgnoreCountsMergedGroups(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		into := r.die(dead(1, "Timeout"))[0].Group
		var of deadletter.GroupID
		for n := range 20 {
			of = r.die(dead(100+n, "Schema"))[0].Group
		}
		r.pass(time.Second)
		if _, err := r.ChangeGroup(t.Context(), into, groups.GroupChange{State: model.GroupIgnored,
			Ignore: deadletter.Ignore{Count: 5}}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.MergeGroups(t.Context(), into, []deadletter.GroupID{of, of}, inbox.By{}); err != nil {
			t.Fatal(err)
		}
		state := func() model.GroupState {
			r.pass(time.Second)
			return r.group(into).Group.State
		}
		r.die(dead(200, "Schema"), dead(201, "Schema"), dead(202, "Timeout"), dead(203, "Schema"))
		r.want("after 4 failures", state(), model.GroupIgnored)
		if _, err := r.UnmergeGroup(t.Context(), of, inbox.By{}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.MergeGroups(t.Context(), into, []deadletter.GroupID{of}, inbox.By{}); err != nil {
			t.Fatal(err)
		}
		r.want("after another merge", state(), model.GroupIgnored)
		r.die(dead(204, "Schema"))
		r.want("after 5 failures", state(), model.GroupOpen)
	})
}

func TestSourceFormats(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		for name, s := range map[string]deadletter.Source{
			"unknown format": {Driver: "memory", Queue: "q", Format: "odd"},
			"format":         {Driver: deadletter.DriverHTTP, Format: "raw"},
			"url":            {Driver: deadletter.DriverHTTP, URL: "redis://localhost"},
			"queue":          {Driver: deadletter.DriverHTTP, Queue: "q"},
			"target":         {Driver: deadletter.DriverHTTP, Targets: []string{"javascript:x"}},
			"driver":         {Driver: "odd"},
		} {
			s.Namespace, s.Name = "default", "s"
			_, err := r.SaveSource(t.Context(), &s, inbox.By{})
			if task.CodeOf(err) != task.Invalid {
				t.Errorf("%s: %v", name, err)
			}
		}
		r.source(deadletter.Source{Namespace: "default", Name: "s", Driver: "memory", Queue: "q", Format: "raw"})
	})
}

// A missing object has no version: the ETag of a removed one must not recreate it.
func TestNewVersions(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		by := inbox.By{Version: 3}
		_, err := r.SaveSource(t.Context(), &deadletter.Source{Namespace: "default", Name: "new",
			Driver: deadletter.DriverHTTP}, by)
		r.refused(err, task.Conflict)
		_, err = r.SavePolicy(t.Context(), &deadletter.Policy{Namespace: "default", Source: "orders",
			Strategy: model.Immediate}, by)
		r.refused(err, task.Conflict)
		_, err = r.SaveRule(t.Context(), &deadletter.Rule{Namespace: "default", Name: "new", When: "true"}, by)
		r.refused(err, task.Conflict)
	})
}

// Only a group or a letter implies the namespace.
func TestNamespaceOfSelection(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		got := r.die(dead(1, "Timeout"))[0]
		total := func(s deadletter.Selection) string {
			p, err := r.PreviewRedrive(t.Context(), redrive.Request{Operation: model.OpRedrive, Selection: s})
			if err != nil {
				return string(task.CodeOf(err))
			}
			return fmt.Sprint(p.Total, p.Problems)
		}
		r.want("a group", total(deadletter.Selection{Groups: []deadletter.GroupID{got.Group}}), "1 []")
		r.want("a letter", total(deadletter.Selection{IDs: []task.ID{got.Letter}}), "1 []")
		r.want("an unknown group", total(deadletter.Selection{Groups: []deadletter.GroupID{12345}}), "not_found")
		r.want("an unknown letter", total(deadletter.Selection{IDs: []task.ID{{1}}}), "invalid")
		r.want("none", total(deadletter.Selection{Source: "orders"}), "invalid")
		r.want("selects nothing", total(deadletter.Selection{Namespace: "default", Source: "none"}),
			"0 [{/selection selects nothing}]")
	})
}

// A preview asks for a bounded number of places, and refuses more.
func TestManyDestinations(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		var batch []inbox.Arrival
		for n := range 201 {
			a := dead(n, "Timeout")
			a.Origin = fmt.Sprint("orders", n)
			r.broker.queues[a.Origin] = true
			batch = append(batch, a)
		}
		r.die(batch...)
		req := redrive.Request{Operation: model.OpRedrive, Selection: deadletter.Selection{Namespace: "default"}}
		p, err := r.PreviewRedrive(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		r.want("places and problems", fmt.Sprint(len(p.Destinations), len(p.Problems), p.Total), "200 1 201")
		req.Selection.Origin = "orders7"
		if p, err = r.PreviewRedrive(t.Context(), req); err != nil || len(p.Problems) > 0 {
			t.Errorf("a narrower selection: %v %v", p, err)
		}
	})
}
