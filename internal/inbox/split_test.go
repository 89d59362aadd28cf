package inbox_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/groups"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// counts of a group: failures, open letters, pending cases, and failures of its hours.
func (r *rig) counts(id deadletter.GroupID) string {
	r.t.Helper()
	g := r.group(id)
	hours := int64(0)
	for _, h := range g.Hours {
		hours += h.Failures
	}
	return fmt.Sprint(g.Group.Failures, g.Group.OpenLetters, g.Group.OpenCases, hours)
}

// A split moves members with their counts, and later failures follow; its reversal moves them back.
func TestSplit(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		var whole deadletter.GroupID
		for n := range 250 { // more than one batch
			whole = r.die(tenant(n, "Timeout", []string{"acme", "globex"}[n%2]))[0].Group
		}
		r.fail("Timeout") // a case, with the message Timeout
		r.pass(time.Second)
		late := r.one(tenant(500, "Timeout", "acme")).Group.ID // not folded yet
		r.want("one group", late, whole)
		before := r.counts(whole)

		rule, err := r.SplitGroup(t.Context(), whole, groups.SplitRequest{By: inbox.By{Actor: "ann"},
			When: `header("tenant") == "acme"`, Title: "Acme"})
		if err != nil {
			t.Fatal(err)
		}
		part := r.one(tenant(501, "Timeout", "acme"))
		r.want("what comes follows", part.Group.Title, "Acme")
		r.want("nothing is moved yet", r.counts(part.Group.ID), "1 1 0 1")
		for range 4 {
			r.pass(2 * time.Second)
		}
		r.want("the part", r.counts(part.Group.ID), "127 127 0 127")
		r.want("the rest", r.counts(whole)[:8], "125 125 ")
		r.want("why", r.group(part.Group.ID).Why[0].Value, rule.Name+" version 1")
		r.want("noted", r.group(whole).Notes[0].Kind, "split_group")
		r.want("another tenant", r.one(tenant(502, "Timeout", "globex")).Group.ID, whole)

		_, err = r.UnsplitGroup(t.Context(), whole, inbox.By{})
		r.refused(err, task.WrongState)
		r.refused(r.RemoveRule(t.Context(), "default", rule.Name, inbox.By{}), task.WrongState)
		back, err := r.UnsplitGroup(t.Context(), part.Group.ID, inbox.By{Reason: "one cause"})
		if err != nil {
			t.Fatal(err)
		}
		r.want("undone", back.ID, whole)
		for range 4 {
			r.pass(2 * time.Second)
		}
		r.want("the part is empty", r.counts(part.Group.ID), "0 0 0 0")
		r.want("before", before[:8], "251 251 ")
		r.want("the whole", r.counts(whole)[:8], "253 253 ")
		r.want("what comes", r.one(tenant(503, "Timeout", "acme")).Group.ID, whole)
		_, err = r.UnsplitGroup(t.Context(), part.Group.ID, inbox.By{})
		r.refused(err, task.WrongState)
	})
}

// A split by a fact makes a group for each value, also of cases; a split can be split.
func TestSplitByKeys(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		r.die(dead(7, "Timeout"), dead(8, "Timeout"))
		r.save("timeouts", `error_type == "Timeout"`) // letters and cases together
		whole := r.die(dead(9, "Timeout"))[0].Group
		r.fail("Timeout")
		r.pass(time.Second)
		r.want("together", r.counts(whole), "2 1 1 2")
		kinds := groups.SplitRequest{Name: "kinds", Keys: []string{"kind"}}
		if _, err := r.SplitGroup(t.Context(), whole, kinds); err != nil {
			t.Fatal(err)
		}
		r.pass(4 * time.Second)
		r.pass(2 * time.Second)
		r.want("nothing is left", r.counts(whole), "0 0 0 0")
		letters := r.one(dead(10, "Timeout")).Group
		r.want("letters", letters.Title+" "+r.counts(letters.ID), "kinds: letter 2 2 0 2")
		eleventh := groups.SplitRequest{When: `message contains "order 11"`}
		if _, err := r.SplitGroup(t.Context(), letters.ID, eleventh); err != nil {
			t.Fatal(err)
		}
		inner := r.one(dead(11, "Timeout")).Group
		r.want("a split of a split", inner.Print.Rule[:6], "split-")
		_, err := r.SplitGroup(t.Context(), letters.ID, groups.SplitRequest{When: `message contains "order 11"`})
		r.refused(err, task.Conflict) // the same request twice
		_, err = r.UnsplitGroup(t.Context(), letters.ID, inbox.By{})
		r.refused(err, task.WrongState) // the inner split goes first

		_, err = r.SplitGroup(t.Context(), whole, groups.SplitRequest{Name: "kinds", When: "true"})
		r.refused(err, task.Conflict)
		_, err = r.SplitGroup(t.Context(), whole, groups.SplitRequest{When: "tru"})
		r.refused(err, task.Invalid)
		_, err = r.SplitGroup(t.Context(), whole, groups.SplitRequest{})
		r.refused(err, task.Invalid)
		_, err = r.SplitGroup(t.Context(), 12345, groups.SplitRequest{When: "true"})
		r.refused(err, task.NotFound)
		_, err = r.SaveRule(t.Context(), &deadletter.Rule{Namespace: "default", Name: "kinds", When: "true"}, inbox.By{})
		r.refused(err, task.Conflict)

		for _, id := range []deadletter.GroupID{inner.ID, letters.ID} {
			if _, err := r.UnsplitGroup(t.Context(), id, inbox.By{}); err != nil {
				t.Fatal(err)
			}
			r.pass(4 * time.Second)
			r.pass(2 * time.Second)
		}
		r.want("the whole", r.counts(whole), "4 3 1 4")
	})
}
