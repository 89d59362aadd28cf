package chart

import (
	"cmp"
	"slices"
)

// maxSweeps bounds the attempts at a better order.
const maxSweeps = 10

// order puts each layer into an order with few crossings: every item goes to the middle of its neighbours in the layer
// before, then in the layer after; the best order of all sweeps remains.
func (l *layout) order() {
	l.fill()
	at := make([]int, len(l.layer))
	number(l.rows, at)
	best, fewest := copyRows(l.rows), l.crossings(at)
	worse := 0
	for sweep := 0; sweep < maxSweeps && fewest > 0 && worse < 4; sweep++ {
		if sweep%2 == 0 {
			for i := 1; i < len(l.rows); i++ {
				sortRow(l.rows[i], l.ins, at)
			}
		} else {
			for i := len(l.rows) - 2; i >= 0; i-- {
				sortRow(l.rows[i], l.outs, at)
			}
		}
		worse++
		if crossings := l.crossings(at); crossings < fewest {
			best, fewest, worse = copyRows(l.rows), crossings, 0
		}
	}
	l.rows = best
}

func (l *layout) fill() {
	count := 0
	for _, layer := range l.layer {
		count = max(count, layer+1)
	}
	l.rows = make([][]int, count)
	seen := make([]bool, len(l.layer))
	for start := range l.layer {
		if len(l.ins[start]) > 0 {
			continue
		}
		stack := []int{start}
		for len(stack) > 0 {
			item := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[item] {
				continue
			}
			seen[item] = true
			l.rows[l.layer[item]] = append(l.rows[l.layer[item]], item)
			for _, to := range slices.Backward(l.outs[item]) {
				stack = append(stack, to)
			}
		}
	}
}

func copyRows(rows [][]int) [][]int {
	out := make([][]int, len(rows))
	for i, row := range rows {
		out[i] = slices.Clone(row)
	}
	return out
}

func number(rows [][]int, at []int) {
	for _, row := range rows {
		for i, item := range row {
			at[item] = i
		}
	}
}

// sortRow sorts by the mean place of the neighbours. An item without neighbours keeps its place.
func sortRow(row []int, links [][]int, at []int) {
	type entry struct {
		item int
		mean float64
	}
	entries := make([]entry, len(row))
	for i, item := range row {
		entries[i] = entry{item, float64(i)}
		if len(links[item]) > 0 {
			sum := 0
			for _, other := range links[item] {
				sum += at[other]
			}
			entries[i].mean = float64(sum) / float64(len(links[item]))
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.mean, b.mean) })
	for i, e := range entries {
		row[i], at[e.item] = e.item, i
	}
}

func (l *layout) crossings(at []int) int {
	total := 0
	var ends []int
	for i := 0; i+1 < len(l.rows); i++ {
		ends = ends[:0]
		for _, item := range l.rows[i] {
			from := len(ends)
			for _, to := range l.outs[item] {
				ends = append(ends, at[to])
			}
			slices.Sort(ends[from:])
		}
		total += inversions(ends, len(l.rows[i+1]))
	}
	return total
}

// inversions counts the inverted pairs of values below limit, with a Fenwick tree.
func inversions(values []int, limit int) int {
	tree := make([]int, limit+1)
	total := 0
	for seen, v := range values {
		notAbove := 0
		for i := v + 1; i > 0; i -= i & -i {
			notAbove += tree[i]
		}
		total += seen - notAbove
		for i := v + 1; i <= limit; i += i & -i {
			tree[i]++
		}
	}
	return total
}
