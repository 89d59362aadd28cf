package deadletter

import (
	"maps"
	"slices"
)

// Tally collects what a transaction adds to the inbox: groups, and changes of their counts. The rows that it yields are
// only ever inserted, so transactions that count in the same group do not wait for each other; they are ordered by
// group, so that two transactions add the same groups in the same order. The zero value is empty. A Tally is not safe
// for concurrent use.
type Tally struct {
	groups map[GroupID]*Group
	deltas map[GroupID]*Delta
}

// Join adds a group unless the tally has it, and returns the one that it has.
func (t *Tally) Join(g *Group) *Group {
	if known := t.groups[g.ID]; known != nil {
		return known
	}
	if t.groups == nil {
		t.groups = map[GroupID]*Group{}
	}
	t.groups[g.ID] = g
	return g
}

// Of returns the change of a group's counts, to be changed by the caller.
func (t *Tally) Of(id GroupID) *Delta {
	if d := t.deltas[id]; d != nil {
		return d
	}
	if t.deltas == nil {
		t.deltas = map[GroupID]*Delta{}
	}
	d := &Delta{Group: id}
	t.deltas[id] = d
	return d
}

// Groups returns the groups that joined.
func (t *Tally) Groups() []*Group {
	list := make([]*Group, 0, len(t.groups))
	for _, id := range slices.Sorted(maps.Keys(t.groups)) {
		list = append(list, t.groups[id])
	}
	return list
}

// Deltas returns the changes of counts, without those that change nothing.
func (t *Tally) Deltas() []Delta {
	list := make([]Delta, 0, len(t.deltas))
	for _, id := range slices.Sorted(maps.Keys(t.deltas)) {
		if d := *t.deltas[id]; d.Failures != 0 || d.OpenLetters != 0 || d.OpenCases != 0 {
			list = append(list, d)
		}
	}
	return list
}
