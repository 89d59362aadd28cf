package settings

import "slices"

// BackpressureScope is the set of submissions to which back-pressure applies.
type BackpressureScope string

// The scopes.
const (
	// QueueScope: submissions through the queue API, /api/v1.
	QueueScope BackpressureScope = "queue"
	// AllScope: every submission.
	AllScope BackpressureScope = "all"
)

// Backpressure sets when submissions are refused because of too much load. Steps that return automatically (a retry, a
// dependant) are never refused. Each process relies on its own counts.
type Backpressure struct {
	// Scope defaults to queue.
	Scope BackpressureScope
	// Soft is the number of ready steps from which only priorities above the default one (medium) are accepted,
	// HighOnly the number from which only high and above are, AllowListOnly the number from which only AllowList is.
	// Default to 10,000, 50,000 and 100,000; -1 is never.
	Soft, HighOnly, AllowListOnly int
	// AllowList names task types and templates that are accepted at any number of ready steps, as NAME or
	// NAMESPACE/NAME, where the first slash ends the namespace. Defaults to none.
	AllowList []string
	// UserBurst and UserSustained bound the tasks that a user submits within any minute and any hour. The user is the
	// task's user_id, else the API key. Default to 0, which is no bound.
	UserBurst, UserSustained int
	// NormalLoad is the number of tasks that this process may hold before they are stored; at twice that it is
	// overloaded. Defaults to 0: the measured number that it stores in a second, and at least 5,000. -1 is never
	// overloaded.
	NormalLoad int
}

func (b *Backpressure) setDefaults() {
	orDefault(&b.Scope, QueueScope)
	orDefault(&b.Soft, 10_000)
	orDefault(&b.HighOnly, 50_000)
	orDefault(&b.AllowListOnly, 100_000)
}

// MaxDepth bounds a tier: how far the queue is counted.
const MaxDepth = 10_000_000

func (b Backpressure) validate(bad func(ok bool, format string, args ...any)) {
	bad(b.Scope == QueueScope || b.Scope == AllScope, "backpressure.scope must be %s or %s, not %q", QueueScope, AllScope,
		b.Scope)
	last, lastName := 0, ""
	for _, t := range []struct {
		name  string
		depth int
	}{{"soft", b.Soft}, {"high_only", b.HighOnly}, {"allow_list_only", b.AllowListOnly}} {
		bad(t.depth == -1 || t.depth > 0 && t.depth <= MaxDepth, "backpressure.%s must be 1 to %d, or -1", t.name, MaxDepth)
		if t.depth == -1 {
			continue
		}
		bad(t.depth >= last, "backpressure.%s must not be less than backpressure.%s", t.name, lastName)
		last, lastName = t.depth, t.name
	}
	bad(!slices.Contains(b.AllowList, ""), "backpressure.allow_list: a name must not be empty")
	bad(b.UserBurst >= 0, "backpressure.user_burst must not be negative")
	bad(b.UserSustained >= 0, "backpressure.user_sustained must not be negative")
	bad(b.NormalLoad >= -1, "backpressure.normal_load must be a number of tasks, 0 or -1")
}
