package redis_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/broker/redis"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
)

func inspect(t testing.TB, url string, list bool) *redis.Inspector {
	t.Helper()
	i, err := redis.NewInspector(url, list)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	})
	return i
}

// The documented permissions suffice, and each missing one is named.
func TestMissing(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for _, kind := range []struct {
		name, acl string
		list      bool
		urls      []string // one of them is enough
	}{
		{"List", listACL, true, []string{"head=left", "head=right"}},
		{"Stream", streamACL, false, []string{"acknowledged=removed"}},
	} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			missing := func(user string, rules ...string) []string {
				t.Helper()
				must(t, s, slices.Concat([]string{"ACL", "SETUSER", user, "reset"}, strings.Fields(kind.acl), rules)...)
				var out []string
				for _, parameters := range kind.urls {
					i := inspect(t, as(t, s, user, parameters), kind.list)
					some, err := i.Missing(t.Context(), "q:in", []string{"q:out"})
					if err != nil {
						t.Fatal(err)
					}
					out = append(out, some...)
				}
				return out
			}
			if got := missing("all" + kind.name); len(got) > 0 {
				t.Errorf("with the documented permissions: %q", got)
			}
			for i, word := range strings.Fields(kind.acl) {
				name, ok := strings.CutPrefix(word, "+")
				if !ok || slices.Contains([]string{"ping", "eval", "evalsha"}, name) { // without these nothing answers
					continue
				}
				got := missing(kind.name+string(rune('a'+i)), "-"+name)
				if len(got) == 0 || slices.ContainsFunc(got, func(m string) bool {
					command, _, _ := strings.Cut(m, " ")
					return !strings.EqualFold(command, name)
				}) {
					t.Errorf("without %s: %q", name, got)
				}
			}
			got := missing("keys"+kind.name, "resetkeys", "~q:in", "~tasker:{q:in}:*")
			if len(got) == 0 || slices.ContainsFunc(got, func(m string) bool { return !strings.Contains(m, "q:out") }) {
				t.Errorf("without the keys of the target: %q", got)
			}
		})
	}
}

// Messages of lost readers are found, those of living ones are not; looking changes nothing.
func TestHolders(t *testing.T) {
	t.Parallel()
	s := server(t)
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			queue := kind.queue(t, s)
			i := inspect(t, as(t, s, kind.user, ""), name == "List")
			look := func(want int64) {
				t.Helper()
				got, err := i.Holders(t.Context(), queue, time.Minute)
				if want == 0 && (err != nil || len(got) > 0) ||
					want > 0 && (err != nil || len(got) != 1 || got[0].Held != want || got[0].Silence < time.Minute) {
					t.Errorf("%+v, %v; want one that holds %d", got, err, want)
				}
			}
			look(0)
			d := open(t, kind.open, as(t, s, kind.user, "gone=30m"))
			send(t, d, queue, numbered(3)...)
			r := receiverOf(t, d, queue)
			receive(t, r, 2)
			look(0)
			kind.expire(t, s, queue)
			look(2)
			look(2)
		})
	}
}
