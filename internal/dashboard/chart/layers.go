package chart

import (
	"cmp"
	"math"
	"slices"
)

// maxBends bounds the bends of all edges. Edges beyond it are straight, below the nodes.
const maxBends = 12_000

// layout is a graph in layers, from left to right. Its items are the nodes, and after them the bends of edges over
// several layers, so every link leads to the next layer. The edges that leave a node, or those that reach it, share
// bends: a wide fan-out does not become as many lines.
type layout struct {
	nodes     int
	layer     []int
	outs, ins [][]int // links between items
	rows      [][]int // items of each layer, from top to bottom
	y         []int   // middle of each item
	far       []Edge  // edges without bends

	bends map[bend]int
	// routes are the items of each edge, including both ends.
	routes map[Edge][]int
}

// bend is a place on the bundle of the edges that leave a node, or reach it.
type bend struct {
	node  int
	reach bool
	layer int
}

func arrange(g *digraph, height int) *layout {
	l := &layout{nodes: len(g.outs), layer: layers(g), bends: map[bend]int{}, routes: map[Edge][]int{}}
	l.outs, l.ins = make([][]int, l.nodes), make([][]int, l.nodes)
	for from, targets := range g.outs {
		for _, to := range targets {
			l.route(g, Edge{from, to})
		}
	}
	l.order()
	l.place(height)
	return l
}

// maxRows makes a drawing somewhat wider than high.
func maxRows(n int) int { return max(16, int(math.Ceil(math.Sqrt(3*float64(n))))) }

// layers puts each node after its last predecessor, or later if more than maxRows are ready. Nodes whose last
// predecessor was placed most recently go first, to keep branches together.
func layers(g *digraph) []int {
	n := len(g.outs)
	layer, waits, height := make([]int, n), make([]int, n), make([]int, n)
	var ready []int
	for _, node := range slices.Backward(g.order) {
		for _, to := range g.outs[node] {
			height[node] = max(height[node], height[to]+1)
		}
	}
	for node := range n {
		if waits[node] = len(g.ins[node]); waits[node] == 0 {
			ready = append(ready, node)
		}
	}
	after := make([]int, n)
	var counts []int
	for at := 0; len(ready) > 0; at++ {
		slices.SortFunc(ready, func(a, b int) int {
			return cmp.Or(cmp.Compare(after[b], after[a]), cmp.Compare(height[b], height[a]), cmp.Compare(a, b))
		})
		take := min(len(ready), maxRows(n))
		next := slices.Clone(ready[take:])
		for _, node := range ready[:take] {
			layer[node] = at
			for _, to := range g.outs[node] {
				if waits[to]--; waits[to] == 0 {
					after[to], next = at+1, append(next, to)
				}
			}
		}
		counts, ready = append(counts, take), next
	}
	pull(g, layer, counts)
	return layer
}

// pull moves nodes with more edges at the right to the right, and closes emptied layers.
func pull(g *digraph, layer, counts []int) {
	limit := maxRows(len(layer))
	for _, node := range slices.Backward(g.order) {
		if len(g.outs[node]) <= len(g.ins[node]) {
			continue
		}
		to := math.MaxInt
		for _, other := range g.outs[node] {
			to = min(to, layer[other]-1)
		}
		if to > layer[node] && counts[to] < limit {
			counts[layer[node]]--
			counts[to]++
			layer[node] = to
		}
	}
	shift := make([]int, len(counts))
	empty := 0
	for i, count := range counts {
		shift[i] = empty
		if count == 0 {
			empty++
		}
	}
	for node := range layer {
		layer[node] -= shift[layer[node]]
	}
}

// route links the ends of an edge, over bends on the bundle of the end that has more edges.
func (l *layout) route(g *digraph, e Edge) {
	first, last := l.layer[e.From]+1, l.layer[e.To]
	if len(l.bends)+last-first > maxBends {
		l.far = append(l.far, e)
		return
	}
	b := bend{node: e.From}
	if len(g.ins[e.To]) > len(g.outs[e.From]) {
		b = bend{node: e.To, reach: true}
	}
	route := []int{e.From}
	for b.layer = first; b.layer < last; b.layer++ {
		item, ok := l.bends[b]
		if !ok {
			item = len(l.layer)
			l.bends[b] = item
			l.layer = append(l.layer, b.layer)
			l.outs, l.ins = append(l.outs, nil), append(l.ins, nil)
		}
		route = append(route, item)
	}
	route = append(route, e.To)
	l.routes[e] = route
	for i, to := range route[1:] {
		if !slices.Contains(l.outs[route[i]], to) {
			l.outs[route[i]] = append(l.outs[route[i]], to)
			l.ins[to] = append(l.ins[to], route[i])
		}
	}
}
