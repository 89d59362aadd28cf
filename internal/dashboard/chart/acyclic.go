package chart

import (
	"cmp"
	"slices"
	"time"
)

// Edge leads from a node to a later one, by their places in the list of nodes.
type Edge struct{ From, To int }

type digraph struct {
	outs, ins [][]int
	edges     int
	order     []int
}

// acyclic makes a graph of the edges, each once. It leaves out edges to missing nodes, loops and edges that close a
// cycle: the first in the order of nodes wins.
func acyclic(n int, edges []Edge) *digraph {
	edges = slices.Clone(edges)
	slices.SortFunc(edges, func(a, b Edge) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	outs := make([][]int, n)
	for _, e := range slices.Compact(edges) {
		if e.From >= 0 && e.From < n && e.To >= 0 && e.To < n && e.From != e.To {
			outs[e.From] = append(outs[e.From], e.To)
		}
	}
	g := &digraph{outs: make([][]int, n), ins: make([][]int, n), order: make([]int, 0, n)}
	seen := make([]byte, n)
	for node := range n {
		g.visit(node, outs, seen)
	}
	slices.Reverse(g.order)
	for from, targets := range g.outs {
		for _, to := range targets {
			g.ins[to] = append(g.ins[to], from)
		}
		g.edges += len(targets)
	}
	return g
}

const (
	unseen byte = iota
	open        // on the path from the first node
	closed
)

// visit follows the edges from a node, depth first, without recursion: a chain can be long.
func (g *digraph) visit(start int, outs [][]int, seen []byte) {
	if seen[start] != unseen {
		return
	}
	stack := []int{start}
	next := map[int]int{} // followed edges of an open node
	seen[start] = open
	for len(stack) > 0 {
		node := stack[len(stack)-1]
		if next[node] == len(outs[node]) {
			seen[node] = closed
			g.order = append(g.order, node)
			stack = stack[:len(stack)-1]
			continue
		}
		to := outs[node][next[node]]
		next[node]++
		if seen[to] == open {
			continue
		}
		g.outs[node] = append(g.outs[node], to)
		if seen[to] == unseen {
			seen[to] = open
			stack = append(stack, to)
		}
	}
}

// MarkCritical sets Critical on the nodes of the longest path by duration, and clears it on the others. durations are
// in the order of nodes; a missing or negative one counts as zero. Of equally long paths the one over earlier nodes is
// marked, and none if every duration is zero. It returns the length of the path.
func MarkCritical(nodes []Node, edges []Edge, durations []time.Duration) time.Duration {
	g := acyclic(len(nodes), edges)
	length, next := make([]time.Duration, len(nodes)), make([]int, len(nodes))
	var longest time.Duration
	for _, node := range slices.Backward(g.order) {
		next[node] = -1
		var rest time.Duration
		for _, to := range g.outs[node] {
			if next[node] < 0 || length[to] > rest {
				next[node], rest = to, length[to]
			}
		}
		length[node] = rest
		if node < len(durations) {
			length[node] += max(durations[node], 0)
		}
		longest = max(longest, length[node])
	}
	for i := range nodes {
		nodes[i].Critical = false
	}
	if longest == 0 {
		return 0
	}
	for node := slices.Index(length, longest); node >= 0 && length[node] > 0; node = next[node] {
		nodes[node].Critical = true
	}
	return longest
}
