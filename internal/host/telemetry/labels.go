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

// roster keeps one T per name, at most maxNames of them, and finds it by the engine's key. It
// is not safe for concurrent use.
// The key is shorter than the name, and looking it up needs no hash of two texts.
type roster[T any] struct {
	create func(n name) *T
	lookup map[int64]*T
	byName map[name]*T
	list   []*T
}

// newRoster returns an empty roster. create makes the T of a new name.
func newRoster[T any](create func(n name) *T) *roster[T] {
	return &roster[T]{create: create, lookup: map[int64]*T{}, byName: map[name]*T{}}
}

// of returns the T of a key. resolve finds the name of a new key and returns false if it
// cannot; such a key counts as "unknown" this time, and may be resolved the next.
func (r *roster[T]) of(key int64, resolve func(int64) (name, bool)) *T {
	if t, ok := r.lookup[key]; ok {
		return t
	}
	n, ok := resolve(key)
	if !ok {
		return r.named(name{unknown, unknown}) // it may be known the next time
	}
	if len(r.lookup) >= maxKeys {
		// Names stay: only the way to them is looked up again.
		clear(r.lookup)
	}
	t := r.named(n)
	r.lookup[key] = t
	return t
}

// named returns the T of a name. Beyond maxNames it returns the T of "other": the number of
// series must be bounded, whatever names callers choose.
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
