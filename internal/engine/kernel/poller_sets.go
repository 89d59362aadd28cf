package kernel

import (
	"iter"
	"maps"
	"slices"
)

// pollerSets holds waiting pollers by route. A poller with few routes is in the set of each. Pollers with the same
// many routes share one set, so that time and memory do not grow with the routes. It is not safe for concurrent use.
type pollerSets struct {
	narrow  map[int64]map[*poller]struct{}
	sweepAt int                   // size of narrow at which empty sets are removed
	wide    map[*int64]*sharedSet // by the first element of their shared list of routes
}

type sharedSet struct {
	routes  []int64
	pollers map[*poller]struct{}
}

const (
	// A poller with more routes than maxNarrow is in a shared set.
	maxNarrow = 256
	// Empty sets count too: a poller usually returns soon.
	maxNarrowSets = 4096
)

func newPollerSets() pollerSets {
	return pollerSets{narrow: map[int64]map[*poller]struct{}{}, sweepAt: maxNarrowSets, wide: map[*int64]*sharedSet{}}
}

// noRoute is the route of a poller without routes, so that wakeAll finds it. Real keys begin at 1.
const noRoute = 0

func (p *poller) keys() []int64 {
	if len(p.routes) == 0 {
		return []int64{noRoute}
	}
	return p.routes
}

// The list of routes does not change while the poller waits.
func (p *poller) wide() bool { return len(p.routes) > maxNarrow }

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

func (s *pollerSets) sweep() {
	if len(s.narrow) < s.sweepAt {
		return
	}
	maps.DeleteFunc(s.narrow, func(_ int64, set map[*poller]struct{}) bool { return len(set) == 0 })
	s.sweepAt = max(maxNarrowSets, 2*len(s.narrow))
}

// Empty sets stay until the next sweep; see maxNarrowSets.
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

// on yields pollers with few routes first. The caller may remove them meanwhile.
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

func (s *pollerSets) first(route int64) *poller {
	for p := range s.on(route) {
		return p
	}
	return nil
}

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
