package telemetry

// name identifies a series: a namespace, and a template or handler in it.
type name struct{ namespace, name string }

// Where there is no better name.
const (
	others  = "other"   // one of the many past the limit
	unknown = "unknown" // it could not be looked up
)

// Bounds of what is kept per label.
const (
	// maxNames bounds the names of templates, and of handlers, that get numbers of
	// their own.
	maxNames = 200
	// maxKeys bounds the keys remembered; many versions share a name.
	maxKeys = 10_000
)

// roster keeps one T per name, up to maxNames of them, and finds it by the
// engine's key.
type roster[T any] struct {
	create func(n name) *T
	lookup map[int64]*T
	byName map[name]*T
	list   []*T
}

func newRoster[T any](create func(n name) *T) *roster[T] {
	return &roster[T]{create: create, lookup: map[int64]*T{}, byName: map[name]*T{}}
}

// of returns the T for a key; resolve tells its name when the key is new, and
// false when it does not know.
func (r *roster[T]) of(key int64, resolve func(int64) (name, bool)) *T {
	if t, ok := r.lookup[key]; ok {
		return t
	}
	n, ok := resolve(key)
	if !ok {
		return r.named(name{unknown, unknown}) // it may be known the next time
	}
	if len(r.lookup) >= maxKeys {
		clear(r.lookup)
	}
	t := r.named(n)
	r.lookup[key] = t
	return t
}

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
