package telemetry

// name identifies a series: a namespace, and a template or handler in it.
type name struct{ namespace, name string }

const (
	others  = "other"   // beyond the limit
	unknown = "unknown" // not resolved
)

const (
	// maxNames bounds the names of templates, and of handlers, with their own numbers.
	maxNames = 200
	// maxKeys bounds the cached keys; many versions share a name.
	maxKeys = 10_000
)

// roster keeps one T per name, at most maxNames, found by the engine's key, which is faster to look up than two
// texts. It is not safe for concurrent use.
type roster[T any] struct {
	create func(n name) *T
	lookup map[int64]*T
	byName map[name]*T
	list   []*T
}

func newRoster[T any](create func(n name) *T) *roster[T] {
	return &roster[T]{create: create, lookup: map[int64]*T{}, byName: map[name]*T{}}
}

// of returns the T of a key. resolve returns false for an unknown name; the key then counts as "unknown" until it
// resolves.
func (r *roster[T]) of(key int64, resolve func(int64) (name, bool)) *T {
	if t, ok := r.lookup[key]; ok {
		return t
	}
	n, ok := resolve(key)
	if !ok {
		return r.named(name{unknown, unknown}) // may be resolved later
	}
	if len(r.lookup) >= maxKeys {
		// Names stay; only their keys are resolved again.
		clear(r.lookup)
	}
	t := r.named(n)
	r.lookup[key] = t
	return t
}

// named returns the T of a name, beyond maxNames that of "other", because callers choose names.
func (r *roster[T]) named(n name) *T {
	if t, ok := r.byName[n]; ok {
		return t
	}
	if len(r.byName) >= maxNames && n.namespace != unknown {
		if n = (name{others, others}); r.byName[n] != nil {
			return r.byName[n]
		}
	}
	t := r.create(n)
	r.byName[n] = t
	r.list = append(r.list, t)
	return t
}
