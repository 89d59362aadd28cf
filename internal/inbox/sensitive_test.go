package inbox_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/groups"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

func may(t *testing.T, permissions ...string) context.Context {
	t.Helper()
	secret, hash := access.Generate()
	ring, err := access.New([]access.Key{{Name: "k", SHA256: hash, Permissions: permissions}})
	if err != nil {
		t.Fatal(err)
	}
	return access.With(t.Context(), ring.Authenticate(secret))
}

// Sensitive values are in no title or key of a group, and no condition finds them.
func TestRulesSeeMasks(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		whole := r.die(tenant(1, "Timeout", "acme"), tenant(2, "Timeout", "globex"))[0].Group
		r.source(deadletter.Source{Namespace: "default", Name: "orders", Driver: "memory", Queue: "orders.dlq",
			SensitiveHeaders: []string{"Tenant"}})
		clear := func(g *groups.GroupStory) {
			t.Helper()
			for _, text := range []string{g.Group.Title, g.Group.Print.Title(), fmt.Sprint(g.Why)} {
				if strings.Contains(text, "acme") || strings.Contains(text, "globex") {
					t.Errorf("a group tells %s", text)
				}
			}
		}
		asks := &deadletter.Rule{Namespace: "default", Name: "asks", When: `header("tenant") == "acme"`}
		trial, err := r.TestRule(t.Context(), groups.RuleTest{Rule: asks, Group: whole})
		if err != nil {
			t.Fatal(err)
		}
		r.want("a condition on the value", fmt.Sprint(trial.Tried, trial.Matched), "2 0")
		asks.When, asks.Keys = `header("tenant") != ""`, []string{`header("tenant")`}
		if trial, err = r.TestRule(t.Context(), groups.RuleTest{Rule: asks, Group: whole}); err != nil {
			t.Fatal(err)
		}
		r.want("a key of the value", []string{trial.Items[0].Print.Title(), trial.Items[1].Print.Title()},
			[]string{"asks: [masked]", "asks: [masked]"})

		if _, err := r.SplitGroup(t.Context(), whole, groups.SplitRequest{Name: "one", When: `header("tenant") == "acme"`,
			Keys: []string{"handler"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.SplitGroup(t.Context(), whole, groups.SplitRequest{Name: "all", When: `header("tenant") != ""`,
			Keys: []string{`header("tenant")`}}); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			r.pass(2 * time.Second)
		}
		r.want("what a split takes", r.counts(whole)[:4], "0 0 ")
		part := r.one(tenant(3, "Timeout", "acme"))
		r.want("the split", r.counts(part.Group.ID)[:4], "3 3 ")
		clear(part)
		r.save("by tenant", `error_type == "Schema"`, `header("tenant")`)
		first, second := r.one(tenant(4, "Schema", "acme")), r.one(tenant(5, "Schema", "globex"))
		r.want("groups by the value", first.Group.ID, second.Group.ID)
		clear(first)
	})
}

// A key without access to sensitive values cannot unmask them by a change of a source.
func TestUnmasking(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		blind, seeing := may(t, "sources:admin"), may(t, "sources:admin", "sensitive")
		source := deadletter.Source{Namespace: "default", Name: "orders", Driver: "memory", Queue: "orders.dlq",
			Sensitive: []string{"/card/number", "/lines/*/pin"}, SensitiveHeaders: []string{"Authorization"}}
		save := func(ctx context.Context, change func(s *deadletter.Source)) error {
			s := source
			change(&s)
			_, err := r.SaveSource(ctx, &s, inbox.By{})
			return err
		}
		r.want("adding", save(blind, func(*deadletter.Source) {}), nil)
		for what, change := range map[string]func(s *deadletter.Source){
			"none":    func(s *deadletter.Source) { s.Sensitive, s.SensitiveHeaders = nil, nil },
			"headers": func(s *deadletter.Source) { s.SensitiveHeaders = nil },
			"less":    func(s *deadletter.Source) { s.Sensitive = []string{"/card/number", "/lines/0/pin"} },
			"deeper":  func(s *deadletter.Source) { s.Sensitive = []string{"/card/number/last", "/lines"} },
			"a key of a header": func(s *deadletter.Source) {
				s.Intake = &deadletter.Intake{TaskType: "x", IdempotencyKey: "header:authorization"}
			},
			"a type of the payload": func(s *deadletter.Source) { s.Intake = &deadletter.Intake{TaskType: "/card/number"} },
		} {
			if err := save(blind, change); task.CodeOf(err) != task.Forbidden || !strings.Contains(hint(err), "sensitive") {
				t.Errorf("%s: %v", what, err)
			}
		}
		r.want("more", save(blind, func(s *deadletter.Source) {
			s.Sensitive, s.SensitiveHeaders = []string{"/card", "/lines"}, []string{"authorization", "cookie"}
		}), nil)
		taken := func(s *deadletter.Source) {
			s.Sensitive, s.SensitiveHeaders = []string{"/card", "/lines"}, []string{"authorization", "cookie"}
			s.Intake = &deadletter.Intake{TaskType: "x", IdempotencyKey: "header:authorization"}
		}
		r.want("an intake by the permission", save(seeing, taken), nil)
		r.want("more, and the same intake", save(blind, func(s *deadletter.Source) {
			taken(s)
			s.Sensitive = append(s.Sensitive, "/more")
		}), nil)
		r.refused(r.DropSource(blind, "default", "orders", inbox.By{}), task.Conflict)
		r.want("the permission", save(seeing, func(s *deadletter.Source) { s.Sensitive, s.SensitiveHeaders = nil, nil }), nil)
		r.want("no keys", save(t.Context(), func(*deadletter.Source) {}), nil)
		r.want("the configuration", r.Declare(t.Context(), []*deadletter.Source{{Namespace: "default", Name: "orders",
			Driver: "memory", Queue: "orders.dlq"}}), nil)
	})
}

func hint(err error) string {
	if e, ok := err.(*task.Error); ok {
		return e.Hint
	}
	return ""
}
