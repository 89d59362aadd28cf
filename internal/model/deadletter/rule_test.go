package deadletter_test

import (
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/model/deadletter"
)

func TestRuleValidate(t *testing.T) {
	t.Parallel()
	good := deadletter.Rule{Namespace: "shop", Name: "r", When: "true", Keys: []string{"code"},
		Position: -deadletter.MaxRulePosition}
	expect(t, good.Validate(), "")
	for want, change := range map[string]func(r *deadletter.Rule){
		"/namespace: must not": func(r *deadletter.Rule) { r.Namespace = "" },
		"/name: must not":      func(r *deadletter.Rule) { r.Name = "" },
		"/position: must be":   func(r *deadletter.Rule) { r.Position = -deadletter.MaxRulePosition - 1 },
		"/when: must not":      func(r *deadletter.Rule) { r.When = " \t" },
		"/when: is":            func(r *deadletter.Rule) { r.When = strings.Repeat("x", deadletter.MaxRuleText+1) },
		"/group_by: has 9":     func(r *deadletter.Rule) { r.Keys = strings.Split("abcdefghi", "") },
		"/group_by/1: must":    func(r *deadletter.Rule) { r.Keys = []string{"a", " "} },
		"/title: is":           func(r *deadletter.Rule) { r.Title = strings.Repeat("x", 241) },
	} {
		r := good
		change(&r)
		expect(t, r.Validate(), want)
	}
}

// TestRuleFollow: a version with the same decisions keeps the groups; any other starts new ones.
func TestRuleFollow(t *testing.T) {
	t.Parallel()
	before := deadletter.Rule{When: "a", Keys: []string{"k"}, Within: 1, Version: 5, Since: 3}
	for name, c := range map[string]struct {
		change func(next, before *deadletter.Rule)
		since  int64
	}{
		"Title":   {func(next, _ *deadletter.Rule) { next.Title = "other" }, 3},
		"When":    {func(next, _ *deadletter.Rule) { next.When = "b" }, 6},
		"Keys":    {func(next, _ *deadletter.Rule) { next.Keys = nil }, 6},
		"Within":  {func(next, _ *deadletter.Rule) { next.Within = 2 }, 6},
		"Removed": {func(_, before *deadletter.Rule) { before.Removed = true }, 6},
	} {
		next, last := before, before
		c.change(&next, &last)
		next.Removed = true
		if next.Follow(&last); next.Version != 6 || next.Since != c.since || next.Removed {
			t.Errorf("%s: %+v", name, next)
		}
	}
	first := before
	if first.Follow(nil); first.Version != 1 || first.Since != 1 {
		t.Errorf("the first: %+v", first)
	}
}
