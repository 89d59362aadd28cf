package inbox_test

import (
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// A changed entry is saved; a restart undoes no act of an operator.
func TestDeclaredSources(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		entry := &deadletter.Source{Namespace: "default", Name: "declared", Driver: deadletter.DriverHTTP, MaxOpen: 7}
		start := func() *deadletter.Source {
			t.Helper()
			if err := r.Declare(t.Context(), []*deadletter.Source{entry}); err != nil {
				t.Fatal(err)
			}
			return r.declared()
		}
		if s := start(); s == nil || s.MaxOpen != 7 || s.MaxReplays != deadletter.DefaultMaxReplays || s.Version != 1 {
			t.Fatalf("the first start saved %+v", s)
		}
		if _, err := r.PauseSource(t.Context(), "default", "declared", true, inbox.By{}); err != nil {
			t.Fatal(err)
		}
		if s := start(); !s.Paused || s.Version != 2 {
			t.Errorf("a restart made %+v of a paused source", s)
		}
		entry.MaxOpen = 9
		if s := start(); !s.Paused || s.MaxOpen != 9 || s.Version != 3 {
			t.Errorf("a changed entry made %+v", s)
		}
		if err := r.DropSource(t.Context(), "default", "declared", inbox.By{}); err != nil {
			t.Fatal(err)
		}
		if s := start(); s != nil {
			t.Errorf("a restart brought back %+v", s)
		}
		err := r.Declare(t.Context(), []*deadletter.Source{{Namespace: "default", Name: "x", Driver: "carrier-pigeon"}})
		r.refused(err, task.Invalid)
	})
}

// An entry of a policy is saved when it is new or changed; in between operators change and remove it.
func TestDeclaredPolicies(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		source := &deadletter.Source{Namespace: "default", Name: "declared", Driver: deadletter.DriverHTTP}
		if err := r.Declare(t.Context(), []*deadletter.Source{source}); err != nil {
			t.Fatal(err)
		}
		entry := deadletter.Policy{Namespace: "default", Source: "declared", Origin: "orders",
			Strategy: model.Fixed, Base: time.Second, SetFrom: model.SetByConfiguration,
			SetBy: "a.yaml"}.WithDefaults()
		start := func() *deadletter.Policy {
			t.Helper()
			if err := r.DeclarePolicies(t.Context(), []*deadletter.Policy{&entry}); err != nil {
				t.Fatal(err)
			}
			st, err := r.Source(t.Context(), "default", "declared")
			if err != nil {
				t.Fatal(err)
			}
			if last := st.Policies[len(st.Policies)-1]; last.Origin != "" || last.SetFrom != model.SetByDefault ||
				last.Strategy != model.Manual {
				t.Errorf("other origins have %+v", last)
			}
			if len(st.Policies) == 1 {
				return nil
			}
			return st.Policies[0]
		}
		if p := start(); p == nil || p.Base != time.Second || p.SetFrom != model.SetByConfiguration ||
			p.SetBy != "a.yaml" || p.SetAt == 0 || p.Version != 1 {
			t.Fatalf("the first start saved %+v", p)
		}
		operators := entry
		operators.Base, operators.SetFrom = time.Minute, ""
		if _, err := r.SavePolicy(t.Context(), &operators, inbox.By{Actor: "ann"}); err != nil {
			t.Fatal(err)
		}
		entry.SetBy = "b.yaml" // with the same settings
		if p := start(); p.Base != time.Minute || p.SetFrom != model.SetByOperator || p.SetBy != "ann" ||
			p.Version != 2 {
			t.Errorf("a restart made %+v of the policy of an operator", p)
		}
		entry.Base = time.Hour
		if p := start(); p.Base != time.Hour || p.SetBy != "b.yaml" || p.Version != 3 {
			t.Errorf("a changed entry made %+v", p)
		}
		if err := r.DropPolicy(t.Context(), "default", "declared", "orders", inbox.By{}); err != nil {
			t.Fatal(err)
		}
		if p := start(); p != nil {
			t.Errorf("a restart brought back %+v", p)
		}
		entry.Strategy = "hope"
		r.refused(r.DeclarePolicies(t.Context(), []*deadletter.Policy{&entry}), task.Invalid)
	})
}

func (r *rig) declared() *deadletter.Source {
	r.t.Helper()
	all, err := r.Sources(r.t.Context(), "default")
	if err != nil {
		r.t.Fatal(err)
	}
	for _, s := range all {
		if s.Source.Name == "declared" {
			return s.Source
		}
	}
	return nil
}
