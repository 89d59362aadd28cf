package engine

import (
	"iter"
	"maps"
	"slices"
)

// pollerSets holds the waiting pollers by route. A poller with few routes is in the set of each of them. One with many
// is in one set, shared with the others that serve the same routes: the time and memory for waiting must not grow with
// the number of routes. It is not safe for concurrent use.
type pollerSets struct {
	narrow  map[int64]map[*poller]struct{} // by route
	sweepAt int                            // number of sets in narrow at which the empty ones are removed
	wide    map[*int64]*sharedSet          // by the first element of the list of routes, which they share
}

// sharedSet are pollers that share a list of many routes.
type sharedSet struct {
	routes  []int64
	pollers map[*poller]struct{}
}

const (
	// maxNarrow is the number of routes up to which a poller is in the set of each.
	maxNarrow = 256
	// maxNarrowSets is how many sets of single routes are kept, including empty ones, because a poller usually comes
	// back in a moment.
	maxNarrowSets = 4096
)

// newPollerSets returns empty sets.
func newPollerSets() pollerSets {
	return pollerSets{narrow: map[int64]map[*poller]struct{}{}, sweepAt: maxNarrowSets, wide: map[*int64]*sharedSet{}}
}

// noRoute is the route of a waiting poller that can serve no route yet, so that wakeAll finds it when the first one is
// added. Keys of routes begin at 1.
const noRoute = 0

// keys are the routes under which a poller with few routes is found.
func (p *poller) keys() []int64 {
	if len(p.routes) == 0 {
		return []int64{noRoute}
	}
	return p.routes
}

// wide reports whether a poller is in a shared set. The list of routes does not change while
// the poller waits.
func (p *poller) wide() bool { return len(p.routes) > maxNarrow }

// add adds a poller that begins to wait.
func (s *pollerSets) add(p *poller) {
	if p.wide() {
		w := s.wide[&p.routes[0]]
		if w == nil {
			w = &sharedSet{routes: p.routes, pollers: map[*poller]struct{}{}}
			s.wide[&p.routes[0]] = w
		}
		w.pollers[p] = struct{}{}
		return
	}
	for _, r := range p.keys() {
		set := s.narrow[r]
		if set == nil {
			s.sweep()
			set = map[*poller]struct{}{}
			s.narrow[r] = set
		}
		set[p] = struct{}{}
	}
}

// sweep removes empty sets once there are many.
func (s *pollerSets) sweep() {
	if len(s.narrow) < s.sweepAt {
		return
	}
	maps.DeleteFunc(s.narrow, func(_ int64, set map[*poller]struct{}) bool { return len(set) == 0 })
	s.sweepAt = max(maxNarrowSets, 2*len(s.narrow))
}

// remove removes a poller. Emptied sets of single routes stay until the next sweep; see
// maxNarrowSets.
func (s *pollerSets) remove(p *poller) {
	if p.wide() {
		if w := s.wide[&p.routes[0]]; w != nil {
			delete(w.pollers, p)
			if len(w.pollers) == 0 {
				delete(s.wide, &p.routes[0])
			}
		}
		return
	}
	for _, r := range p.keys() {
		delete(s.narrow[r], p)
	}
}

// on returns the pollers that wait on a route, those with few routes first. The caller may remove them during the
// iteration.
func (s *pollerSets) on(route int64) iter.Seq[*poller] {
	return func(yield func(*poller) bool) {
		for p := range s.narrow[route] {
			if !yield(p) {
				return
			}
		}
		for _, w := range s.wide {
			if _, found := slices.BinarySearch(w.routes, route); !found {
				continue
			}
			for p := range w.pollers {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// first returns a poller that waits on a route, or nil.
func (s *pollerSets) first(route int64) *poller {
	for p := range s.on(route) {
		return p
	}
	return nil
}

// routes returns the routes that pollers wait on, sorted.
func (s *pollerSets) routes() []int64 {
	var routes []int64
	for r, set := range s.narrow {
		if r != noRoute && len(set) > 0 {
			routes = append(routes, r)
		}
	}
	for _, w := range s.wide {
		routes = append(routes, w.routes...)
	}
	slices.Sort(routes)
	return slices.Compact(routes)
}
