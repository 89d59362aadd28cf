package settings

import "slices"

// BackpressureScope selects the submissions under back-pressure.
type BackpressureScope string

// The scopes.
const (
	// QueueScope: submissions through the queue API, /api/v1.
	QueueScope BackpressureScope = "queue"
	AllScope   BackpressureScope = "all"
)

// Backpressure refuses submissions under load, never steps that return automatically (a retry, a dependant). Each
// process uses its own counts.
type Backpressure struct {
	Scope BackpressureScope
	// Above Soft ready steps only priorities above the default (medium) are accepted, above HighOnly only high and
	// above, above AllowListOnly only AllowList. -1 is never.
	Soft, HighOnly, AllowListOnly int
	// AllowList has task types and templates as NAME or NAMESPACE/NAME, where the first slash ends the namespace.
	AllowList []string
	// UserBurst and UserSustained bound the tasks of a user within any minute and any hour; 0 is no bound. The user
	// is the task's user_id, else the API key.
	UserBurst, UserSustained int
	// NormalLoad is the number of unstored tasks that this process may hold; at twice that it is overloaded. 0 is
	// the measured number stored in a second, at least 5,000; -1 is never overloaded.
	NormalLoad int
}

func (b *Backpressure) setDefaults() {
	orDefault(&b.Scope, QueueScope)
	orDefault(&b.Soft, 10_000)
	orDefault(&b.HighOnly, 50_000)
	orDefault(&b.AllowListOnly, 100_000)
}

// MaxDepth bounds a tier: the queue is counted up to it.
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
