package inbox_test

import (
	"testing"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/task"
)

// TestDeclaredSources: an entry of the configuration is saved when it is new or has changed, and a restart undoes
// nothing that an operator has done since.
func TestDeclaredSources(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		entry := &deadletter.Source{Namespace: "default", Name: "declared", Driver: inbox.HTTP, MaxOpen: 7}
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

// declared returns the source with this name, or nil.
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
